"""The running lab: waiting with a deadline, topics, crashes, and the question whether all is whole again."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import ElectionType, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from .containers import podman, start
from .inventory import Inventory

UNITS = {"zookeeper": "zookeeper.service", "kafka": "kafka.service"}
# Between two questions. What costs much to answer, as a TLS handshake with every server, is asked less often: else
# waiting would take the CPU from what is waited for.
_SHORTEST, _LONGEST, _OF_THE_LAST = 0.1, 0.5, 3
_SHOWN = 20
T = TypeVar("T")


def until(what: str, ask: Callable[[], T], seconds: float, poll: float | None = None) -> T:
    """Ask until the answer is true, and return it; fail with `what` and the last answer after `seconds`.

    `poll`: the seconds between an answer and the next question, where they matter.
    """
    pause, deadline, asked = Event(), time.monotonic() + seconds, time.monotonic()
    while not (answer := ask()):
        now = time.monotonic()
        assert now < deadline, f"{what}: not within {seconds:.0f} s (last answer: {answer!r})"
        pause.wait(min(max(_OF_THE_LAST * (now - asked), _SHORTEST), _LONGEST) if poll is None else poll)
        asked = time.monotonic()
    return answer


def until_none(what: str, problems: Callable[[], Sequence[str]], seconds: float) -> None:
    """Ask until there is no problem left; fail with the last ones after `seconds`."""
    found: Sequence[str] = ()

    def none_left() -> bool:
        nonlocal found
        found = problems()
        return not found

    try:
        until(what, none_left, seconds)
    except AssertionError:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise AssertionError(f"{what}: not within {seconds:.0f} s: {'; '.join(found[:_SHOWN])}{more}") from None


class Partition(NamedTuple):
    """Broker ids of one partition; leader -1: none."""

    leader: int
    replicas: list[int]
    isr: list[int]


class Lab:
    """The ensemble and the brokers of one inventory."""

    def __init__(self, inventory: Inventory) -> None:
        """Connect; nothing is asked yet."""
        self.inventory = inventory
        self.admin = AdminClient(
            {"log_level": 0, "socket.connection.setup.timeout.ms": 3000, **inventory.kafka_properties}
        )

    # What is there

    def partitions(self, topic: str) -> dict[int, Partition]:
        """Return the partitions of a topic; who has not heard of it yet, or does not answer, is asked again."""

        def answered() -> dict[int, Any]:
            try:
                return self.admin.list_topics(topic, timeout=5).topics[topic].partitions
            except KafkaException:
                return {}

        found = until(f"partitions of {topic}", answered, 60)
        return {number: Partition(p.leader, p.replicas, p.isrs) for number, p in found.items()}

    def leader(self, topic: str, partition: int = 0) -> str:
        """Return the host that leads a partition; an election is waited out."""

        def led() -> list[int]:
            return [number for number in (self.partitions(topic)[partition].leader,) if number >= 0]

        return self.inventory.broker(until(f"{topic}-{partition} has a leader", led, 60)[0])

    def broker_problems(self) -> list[str]:
        """Return what keeps the brokers from being whole: all registered, each partition with leader and full ISR."""
        try:
            metadata = self.admin.list_topics(timeout=5)
        except KafkaException as error:
            return [str(error)]
        wanted = {self.inventory.broker_id(host) for host in self.inventory.hosts("kafka")}
        found = [f"broker {number} is not registered" for number in sorted(wanted - set(metadata.brokers))]
        for topic in metadata.topics.values():
            for partition in topic.partitions.values():
                if partition.leader not in wanted or len(partition.isrs) < len(partition.replicas):
                    found.append(
                        f"{topic.topic}-{partition.id}: leader {partition.leader}, "
                        f"ISR {partition.isrs} of {partition.replicas}"
                    )
        return found

    def zookeeper(self) -> dict[str, dict[str, str]]:
        """Return {host: what it says of itself (srvr): Mode, Zxid, ...}; empty for a server that does not serve."""
        return {host: self._srvr(host) for host in self.inventory.hosts("zookeeper")}

    def zookeeper_leader(self) -> str:
        """Return the host that leads the ensemble."""
        return next(host for host, said in self.zookeeper().items() if said.get("Mode") == "leader")

    def zookeeper_epoch(self) -> int:
        """Return the number of the reign: the upper half of the leader's zxid."""
        return int(self.zookeeper()[self.zookeeper_leader()]["Zxid"], 16) >> 32

    def zookeeper_problems(self) -> list[str]:
        """Return what keeps the ensemble from being whole: every server serving, exactly one of them leading."""
        modes = {host: said.get("Mode", "not serving") for host, said in self.zookeeper().items()}
        found = [f"{host}: {mode}" for host, mode in modes.items() if mode not in ("leader", "follower", "observer")]
        return found + ([] if list(modes.values()).count("leader") == 1 else [f"not one leader: {modes}"])

    def _srvr(self, host: str) -> dict[str, str]:
        return dict(re.findall(r"^([\w ]+): (.*)$", self.inventory.ask_zookeeper(host, "srvr"), re.MULTILINE))

    # What is done to it

    def create_topic(
        self, name: str, *, partitions: int = 6, replicas: Sequence[int] = (), config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic of RF 3 and min ISR 2; `replicas` names each partition's brokers instead, the leader first."""
        placement = {"replica_assignment": [list(replicas)] * partitions} if replicas else {"replication_factor": 3}
        new = NewTopic(name, partitions, config={"min.insync.replicas": "2", **(config or {})}, **placement)
        self._of_the_controller(
            f"{name} is made", lambda: self.admin.create_topics([new], operation_timeout=30)[name].result(40)
        )
        until(
            f"leaders of {name}", lambda: sum(p.leader >= 0 for p in self.partitions(name).values()) == partitions, 30
        )

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until it is gone."""
        self._of_the_controller(
            f"{name} is deleted", lambda: self.admin.delete_topics([name], operation_timeout=30)[name].result(40)
        )
        until(f"{name} is gone", lambda: name not in self.admin.list_topics(timeout=5).topics, 30)

    def _of_the_controller(self, what: str, call: Callable[[], object]) -> None:
        """Ask for what the controller alone does, and again while that is refused for a moment.

        That is where the client still takes another broker for it, and where it has not yet deleted a topic that no
        broker names any more.
        """

        def done() -> bool:
            try:
                call()
            except KafkaException as error:
                code, said = error.args[0].code(), error.args[0].str()
                deleting = code == KafkaError.TOPIC_ALREADY_EXISTS and "marked for deletion" in said
                if code != KafkaError.NOT_CONTROLLER and not deleting:
                    raise
                self.admin.list_topics(timeout=5)  # the client learns of another controller by nothing else
                return False
            return True

        until(what, done, 30)

    def pid(self, host: str, unit: str) -> int:
        """Return the process id of a unit's main process, 0 while it is down."""
        return int(self.inventory.run(host, f"systemctl show -p MainPID --value {unit}"))

    def mark(self, host: str, unit: str) -> str:
        """Return the end of a unit's journal, for `said`."""
        shown = self.inventory.run(host, f"journalctl -u {unit} -n 0 --show-cursor -o cat")
        return shown.partition("-- cursor: ")[2].strip()

    def said(self, host: str, unit: str, mark: str) -> str:
        """Return a unit's journal from a mark on."""
        return self.inventory.run(host, f"journalctl -u {unit} -o cat --after-cursor '{mark}'")

    def kill(self, host: str, unit: str) -> None:
        """Kill a unit's main process with signal 9; whoever restarts it, it is not this program."""
        self.inventory.run(host, f"kill -9 $(systemctl show -p MainPID --value {unit})")

    def kill_and_keep_down(self, host: str, unit: str) -> None:
        """Kill with signal 9, and call off the restart that systemd has planned."""
        self.inventory.run(host, f"kill -9 $(systemctl show -p MainPID --value {unit}) && systemctl stop {unit}")

    def on_all(self, hosts: Sequence[str], command: str) -> dict[str, str]:
        """Run a command on several hosts at once; return {host: what it printed}."""
        with ThreadPoolExecutor(8) as pool:
            return dict(zip(hosts, pool.map(lambda host: self.inventory.run(host, command), hosts), strict=True))

    def wait(self, seconds: float = 120) -> None:
        """Wait until brokers and ensemble are whole; the ensemble, which costs more, is asked when the brokers are."""
        until_none(
            "ensemble and brokers are whole", lambda: self.broker_problems() or self.zookeeper_problems(), seconds
        )

    def heal(self) -> None:
        """Start what a test left stopped (nothing, if it passed), and wait; leaders are where they were."""
        containers = {self.inventory.container(host): host for host in self.inventory.hosts("all")}
        for container in containers.keys() - set(podman("ps", "--format", "{{.Names}}")):
            self.inventory.disconnect(containers[container])
            start(container)
        for group, unit in UNITS.items():
            self.on_all(self.inventory.hosts(group), f"systemctl start {unit}")
        self.wait()
        self.elect_preferred_leaders()

    def elect_preferred_leaders(self) -> None:
        """Have Kafka do at once what it does every five minutes."""
        self.admin.elect_leaders(ElectionType.PREFERRED).result(60)
