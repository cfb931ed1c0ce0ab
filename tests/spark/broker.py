"""One real Kafka broker on loopback, in KRaft mode, for the tests of a run: from the archives that roles install."""

import base64
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import TypeVar, cast

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from .built import ClassData, unpacked

# Short lives: one thread that collects garbage, no optimising compiler.
JAVA = ["java", "-Xms96m", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xlog:disable"]
_START_SECONDS = 300
_ANSWER_SECONDS = 60
_PORT_TAKEN = "Address already in use"
T = TypeVar("T")


@dataclass(frozen=True)
class Record:
    """What a topic holds of a record; a null key or value is None."""

    key: str | None
    value: str | None
    headers: Mapping[str, str]


@dataclass
class Broker:
    """A broker: its address, how it is started, and what tests do with topics."""

    servers: str
    admin: AdminClient
    command: Sequence[str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it, and return once it names itself; a broker that does not is killed."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=subprocess.STDOUT)
        pause, deadline = Event(), time.monotonic() + _START_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                if self.admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                pause.wait(0.05)
        self.kill()
        raise AssertionError(f"the broker does not answer:\n{self.log.read_text()[-3000:]}")

    def kill(self) -> None:
        """Kill it with signal 9; its data stay."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(_ANSWER_SECONDS)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Let it give no answer for some seconds: connections stay, and nothing comes."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def topic(self, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        """Make a topic of a new name."""
        name = f"t-{uuid.uuid4().hex[:8]}"
        self.make(name, partitions, config)
        return name

    def make(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Make a topic."""
        new = NewTopic(name, partitions, 1, config=dict(config or {}))
        _patiently(lambda: self.admin.create_topics([new])[name].result(_ANSWER_SECONDS))

    def delete(self, name: str) -> None:
        """Delete a topic, and return once it is gone."""
        self.admin.delete_topics([name])[name].result(_ANSWER_SECONDS)
        pause, deadline = Event(), time.monotonic() + _ANSWER_SECONDS
        while name in self.admin.list_topics(timeout=_ANSWER_SECONDS).topics:
            assert time.monotonic() < deadline, f"topic {name} is still there"
            pause.wait(0.05)

    def delete_before(self, topic: str, offset: int) -> None:
        """Let the records of partition 0 before `offset` vanish, as after their retention."""
        (future,) = self.admin.delete_records([TopicPartition(topic, 0, offset)]).values()
        future.result(_ANSWER_SECONDS)

    def send(self, topic: str, values: Sequence[str | None]) -> None:
        """Send values in their order, one a record, to partition 0."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5, "log_level": 0})
        for value in values:
            producer.produce(topic, value, partition=0)
        assert producer.flush(_ANSWER_SECONDS) == 0

    def send_records(
        self, topic: str, records: Sequence[tuple[str | None, bytes | None, Sequence[tuple[str, bytes]]]]
    ) -> None:
        """Send records: key, value, headers."""
        producer = Producer({"bootstrap.servers": self.servers, "message.max.bytes": 2_500_000, "log_level": 0})
        for key, value, headers in records:
            producer.produce(topic, value, key, headers=list(headers))
        assert producer.flush(_ANSWER_SECONDS) == 0

    def records(self, topic: str) -> list[Record]:
        """Everything that the topic holds now as text, partition by partition."""
        return [
            Record(_text(key), _text(value), {name: text.decode() for name, text in headers})
            for key, value, headers in self.raw(topic)
        ]

    def raw(self, topic: str) -> list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]]:
        """Everything that the topic holds now, partition by partition: key, value, headers."""
        consumer = Consumer(
            {"bootstrap.servers": self.servers, "group.id": "reads-all", "enable.auto.commit": False, "log_level": 0}
        )
        found: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]] = []
        for number in consumer.list_topics(topic, timeout=_ANSWER_SECONDS).topics[topic].partitions:
            first, end = _patiently(
                partial(consumer.get_watermark_offsets, TopicPartition(topic, number), timeout=_ANSWER_SECONDS)
            )
            consumer.assign([TopicPartition(topic, number, first)])
            while first < end:
                message = consumer.poll(_ANSWER_SECONDS)
                assert message is not None and message.error() is None, message
                first = (message.offset() or 0) + 1
                headers = cast(list[tuple[str, bytes]], message.headers() or [])
                found.append((message.key(), message.value(), headers))
        consumer.close()
        return found


@contextmanager
def running_broker(folder: Path, java: Sequence[str] = JAVA) -> Iterator[Broker]:
    """A broker that keeps its data in `folder`; ended by its own process id."""
    libs, data = unpacked("kafka_2.13-*.tgz") / "libs", folder / "data"
    data.mkdir()
    # What kafka-storage.sh would write, less a JVM.
    identity = [base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=") for _ in range(2)]
    (data / "meta.properties").write_text(
        f"version=1\nnode.id=1\ncluster.id={identity[0]}\ndirectory.id={identity[1]}\n"
    )
    log4j = libs.parent / "config" / "log4j.properties"
    main = [f"-Dlog4j.configuration=file:{log4j}", "-cp", f"{libs}/*", "kafka.Kafka", str(folder / "server.properties")]
    archive = ClassData("kafka", libs)
    broker = _started(folder, [*java, *archive.flags, *main])
    try:
        yield broker
    finally:
        if broker.process is not None:
            broker.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                broker.process.wait(_ANSWER_SECONDS)
                archive.keep()  # a killed JVM may have written a part of it
            broker.kill()


def _started(folder: Path, command: Sequence[str], more: int = 2) -> Broker:
    """Start a broker; where another process took one of its ports meanwhile, start it with others, twice at most."""
    client, controller = _free_ports(2)
    (folder / "server.properties").write_text(_properties(folder / "data", client, controller))
    servers = f"127.0.0.1:{client}"
    broker = Broker(servers, AdminClient({"bootstrap.servers": servers, "log_level": 0}), command, folder / "log")
    try:
        broker.start()
    except AssertionError:
        if not more or _PORT_TAKEN not in broker.log.read_text():
            raise
        return _started(folder, command, more - 1)
    return broker


def _properties(data: Path, client: int, controller: int) -> str:
    return (
        "process.roles=broker,controller\nnode.id=1\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller}\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=CLIENT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}\n"
        "inter.broker.listener.name=CLIENT\n"
        "listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        # Whoever asks for a topic by its name makes it.
        f"log.dirs={data}\nlog.cleaner.enable=false\nlog.retention.ms=-1\nauto.create.topics.enable=true\n"
        "offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
    )


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _patiently(ask: Callable[[], T]) -> T:
    """What `ask` gives: a broker that was silent may be without its partitions for a moment, its controller's doing."""
    pause, deadline = Event(), time.monotonic() + _ANSWER_SECONDS
    while True:
        try:
            return ask()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            pause.wait(0.1)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
