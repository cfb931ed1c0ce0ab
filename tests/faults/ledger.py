"""The ledger: what was to be sent, what was acknowledged, what a full re-read finds.

Records are compared by key, never by the offset that an acknowledgement named: retries can make that one wrong.
"""

import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self, TextIO

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

_SHOWN = 5
_CLIENT = {"log_level": 0, "socket.connection.setup.timeout.ms": 3000, "reconnect.backoff.max.ms": 1000}


@dataclass(frozen=True)
class Ack:
    """One acknowledgement: the key, the partition it went to, and when (monotonic seconds)."""

    key: str
    partition: int
    at: float


@dataclass(frozen=True)
class Record:
    """One record as a reader found it."""

    key: str
    value: bytes
    partition: int
    offset: int


@dataclass(frozen=True)
class Report:
    """The difference between what was promised and what is there; each list holds keys, sorted."""

    missing: list[str] = field(default_factory=list)
    """Acknowledged, and not found."""
    double: list[str] = field(default_factory=list)
    """Found at more than one place."""
    foreign: list[str] = field(default_factory=list)
    """Found, and never to be sent."""
    corrupt: list[str] = field(default_factory=list)
    """Found with a payload that is not the one sent under this key."""
    unknown_present: list[str] = field(default_factory=list)
    """Found, though never acknowledged: allowed, as an unanswered send may have arrived."""
    acknowledged: int = 0
    read: int = 0

    @property
    def ok(self) -> bool:
        """Whether every promise was kept."""
        return not (self.missing or self.double or self.foreign or self.corrupt)

    def __str__(self) -> str:
        """Return one line: the totals, then each class that is not empty with its first keys."""
        text = f"{self.acknowledged} acknowledged, {self.read} read"
        for name in ("missing", "double", "foreign", "corrupt", "unknown_present"):
            keys: list[str] = getattr(self, name)
            if keys:
                more = ", ..." if len(keys) > _SHOWN else ""
                text += f"; {len(keys)} {name.replace('_', ' but ')} ({', '.join(keys[:_SHOWN])}{more})"
        return text


def compare(intents: Iterable[str], acks: Iterable[str], records: Iterable[Record]) -> Report:
    """Compare keys to be sent and keys acknowledged with the records found."""
    wanted, promised, found = set(intents), set(acks), list(records)
    times = Counter(record.key for record in found)
    return Report(
        missing=sorted(promised - times.keys()),
        double=sorted(key for key, number in times.items() if number > 1),
        foreign=sorted(times.keys() - wanted),
        corrupt=sorted({record.key for record in found if record.key in wanted and not intact(record)}),
        unknown_present=sorted((times.keys() & wanted) - promised),
        acknowledged=len(promised),
        read=len(found),
    )


def longest_gaps(acks: Iterable[Ack]) -> dict[int, float]:
    """Return {partition: longest time in seconds between two acknowledgements that follow each other}."""
    times: defaultdict[int, list[float]] = defaultdict(list)
    for ack in acks:
        times[ack.partition].append(ack.at)
    gaps: dict[int, float] = {}
    for partition, at in sorted(times.items()):
        at.sort()
        gaps[partition] = max((later - earlier for earlier, later in pairwise(at)), default=0.0)
    return gaps


def payload(key: str, size: int) -> bytes:
    """Return a value of about `size` bytes that names its key and carries a CRC-32 of itself."""
    body = f"{key} ".encode().ljust(size - 9, b"x")
    return b"%08x " % zlib.crc32(body) + body


def intact(record: Record) -> bool:
    """Tell whether the value is whole, and the one made for this key."""
    crc, _, body = record.value.partition(b" ")
    return crc == b"%08x" % zlib.crc32(body) and body.startswith(f"{record.key} ".encode())


@dataclass(frozen=True)
class Ledger:
    """What one directory says: keys to be sent, acknowledgements, and sends that ended in an error (outcome unknown)."""

    intents: Sequence[str] = ()
    acks: Sequence[Ack] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)

    def compare(self, records: Iterable[Record]) -> Report:
        """Compare with the records found."""
        return compare(self.intents, (ack.key for ack in self.acks), records)


def load(directory: Path) -> Ledger:
    """Read the ledger of every writer in `directory`."""

    def lines(kind: str) -> list[list[str]]:
        return [line.split("\t") for file in sorted(directory.glob(f"*.{kind}")) for line in file.read_text().splitlines()]

    return Ledger(
        intents=[key for (key,) in lines("intents")],
        acks=[Ack(key, int(partition), float(at)) for key, partition, at in lines("acks")],
        unknown={key: error for key, error in lines("unknown")},
    )


class Writer:
    """Sends records from a thread of its own and keeps the ledger of them in files below `directory`.

    Bounded: at most `limit` records, at most `rate` a second, each given up after `delivery_timeout` seconds.
    With acks=all the producer is idempotent. Use as a context manager: it ends when everything sent is answered.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        topic: str,
        directory: Path,
        *,
        run: str,
        name: str = "w1",
        acks: str = "all",
        limit: int = 100_000,
        rate: int = 500,
        size: int = 200,
        delivery_timeout: int = 90,
    ) -> None:
        """Make the files; nothing is sent before `start`."""
        self.topic, self.prefix, self.limit, self.rate, self.size = topic, f"{run}-{name}", limit, rate, size
        self.acked = 0
        self._delivery_timeout = delivery_timeout
        self._producer = Producer(
            {
                **_CLIENT,
                "request.timeout.ms": 5000,
                "linger.ms": 5,
                **properties,
                "acks": acks,
                "enable.idempotence": acks == "all",
                "message.timeout.ms": delivery_timeout * 1000,
            }
        )
        directory.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, TextIO] = {kind: (directory / f"{self.prefix}.{kind}").open("a") for kind in ("intents", "acks", "unknown")}
        self._stopping = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._guarded, name=self.prefix, daemon=True)

    def __enter__(self) -> Self:
        """Start sending."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop sending; raise what went wrong in the thread, unless something else is on its way already."""
        self._stopping.set()
        self.join()
        if error is None and self._error is not None:
            raise self._error

    def join(self) -> None:
        """Wait until `limit` records were sent (or the writer is stopped) and every one of them is answered."""
        self._thread.join(self.limit / self.rate + 2 * self._delivery_timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"writer {self.prefix} has not ended")

    def _guarded(self) -> None:
        try:
            self._send_all()
        except BaseException as error:
            self._error = error
        finally:
            for file in self._files.values():
                file.close()

    def _send_all(self) -> None:
        start = time.monotonic()
        for number in range(self.limit):
            pause = start + number / self.rate - time.monotonic()
            if self._stopping.wait(pause) if pause > 0 else self._stopping.is_set():
                break
            key = f"{self.prefix}-{number}"
            self._note("intents", key)
            self._produce(key)
        left = self._producer.flush(self._delivery_timeout + 10)
        if left:
            raise TimeoutError(f"{left} records of {self.prefix} were neither acknowledged nor given up")

    def _produce(self, key: str) -> None:
        value = payload(key, self.size)
        while True:
            try:
                self._producer.produce(self.topic, value, key, on_delivery=self._answered)
                self._producer.poll(0)
                return
            except BufferError:  # the queue is full: answers make room
                self._producer.poll(0.1)

    def _answered(self, error: KafkaError | None, message: Message) -> None:
        key = _text(message.key())
        if error is not None:
            self._note("unknown", key, error.name())
        else:
            self._note("acks", key, str(message.partition()), f"{time.monotonic():.6f}")
            self.acked += 1

    def _note(self, kind: str, *fields: str) -> None:
        self._files[kind].write("\t".join(fields) + "\n")
        self._files[kind].flush()


def read_all(properties: Mapping[str, str], topic: str, seconds: float = 60) -> list[Record]:
    """Read every partition from offset 0 to the end that it has now.

    Raises ValueError without such a topic, TimeoutError after `seconds`, KafkaException where a partition has no leader or lacks offset 0.
    """
    deadline = time.monotonic() + seconds
    own = {
        "group.id": "ledger",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "check.crcs": True,
    }
    consumer = Consumer({**_CLIENT, **properties, **own})
    try:
        ends = {number: high_watermark(consumer, TopicPartition(topic, number), deadline) for number in partitions(consumer, topic, deadline)}
        left = {number for number, end in ends.items() if end > 0}
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        found: list[Record] = []
        while left:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic}: partitions {sorted(left)} not read to their ends {ends} in {seconds} s")
            for message in consumer.consume(5000, timeout=0.5):
                error, number, offset = message.error(), _number(message.partition()), _number(message.offset())
                if error is None:
                    found.append(Record(_text(message.key()), message.value() or b"", number, offset))
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                if offset >= ends[number] - (error is None):
                    left.discard(number)
        return [record for record in found if record.offset < ends[record.partition]]
    finally:
        consumer.close()


def partitions(consumer: Consumer, topic: str, deadline: float) -> list[int]:
    """Return the numbers of a topic's partitions; a broker that has just started knows none yet, and the next answer may be another's."""
    pause = Event()
    while not (found := consumer.list_topics(topic, timeout=10).topics[topic].partitions):
        if time.monotonic() > deadline:
            raise ValueError(f"{topic}: no such topic")
        pause.wait(0.2)
    return sorted(found)


def high_watermark(consumer: Consumer, partition: TopicPartition, deadline: float) -> int:
    """Return the high watermark; ask again while a leader just elected does not know it yet (KIP-207), or has just moved."""
    pause = Event()
    while True:
        try:
            return int(consumer.get_watermark_offsets(partition, timeout=10)[1])
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            pause.wait(0.1)


def _text(key: bytes | str | None) -> str:
    return key.decode(errors="replace") if isinstance(key, bytes) else str(key)


def _number(value: int | None) -> int:
    return -1 if value is None else value
