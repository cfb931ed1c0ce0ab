"""The state of a Kafka cluster, read through confluent-kafka on the admin host.

The only module that knows a Kafka library.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import admin


class ClusterError(Exception):
    """The cluster did not answer; the text carries the client's own words."""


@dataclass(frozen=True)
class Partition:
    """One partition as the controller sees it."""

    topic: str
    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]

    def __str__(self) -> str:
        """Return topic-number, as in the broker's own logs."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True)
class State:
    """One answer: brokers `{id: {rack, <listener>: host:port}}`, the controller's id (-1: none) and all partitions."""

    brokers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    controller: int = -1
    partitions: Sequence[Partition] = ()

    def offline(self) -> list[Partition]:
        """Return partitions without a live leader."""
        return [p for p in self.partitions if p.leader not in self.brokers]

    def under_replicated(self, sick: Collection[int] = ()) -> list[Partition]:
        """Return partitions with a replica out of sync, not counted those on brokers that are known to be `sick`."""
        return [p for p in self.partitions if set(p.replicas) - set(p.isr) - set(sick)]

    def led_by_another(self) -> list[Partition]:
        """Return partitions whose first replica, the preferred leader, is there, is in sync and does not lead."""
        there = [p for p in self.partitions if p.replicas and p.replicas[0] in self.brokers]
        return [p for p in there if p.leader != p.replicas[0] and p.replicas[0] in p.isr]

    def leaders(self) -> dict[int, int]:
        """Return the number of partitions that each registered broker leads."""
        counts = dict.fromkeys(self.brokers, 0)
        for partition in self.partitions:
            if partition.leader in counts:
                counts[partition.leader] += 1
        return counts

    def problems(self, expected: Sequence[int], sick: Collection[int] = ()) -> list[str]:
        """Return what keeps the cluster from being whole: every expected broker there, a controller, every ISR full.

        Not that brokers with a failed disk, the `sick`, are in fewer ISRs.
        """
        missing = sorted(set(expected) - set(self.brokers))
        found = [f"broker {broker} is not registered" for broker in missing]
        if self.controller < 0:
            found.append("no controller")
        for what, partitions in (("offline", self.offline()), ("under-replicated", self.under_replicated(sick))):
            if partitions:
                names = ", ".join(str(p) for p in partitions[:5])
                found.append(f"{len(partitions)} {what} partitions ({names}{', ...' if len(partitions) > 5 else ''})")
        return found


class Cluster:
    """A connection to one cluster through each of its listeners."""

    def __init__(self, listeners: Mapping[str, Mapping[str, Any]]) -> None:
        """`listeners` maps a listener's name to client properties (bootstrap.servers and what security needs).

        Raises ClientError, ImportError.
        """
        self.clients = {name: admin(properties) for name, properties in listeners.items()}

    def state(self, timeout: float = 5.0) -> State:
        """Ask once, without the racks. Raises ClusterError when a listener does not answer within `timeout` seconds.

        By metadata alone: librdkafka 2.16.0 ends the whole process (rd_assert in
        rd_kafka_admin_response_parse) where a broker that has just
        started, and knows no broker yet, answers DescribeCluster.
        """
        from confluent_kafka import KafkaError, KafkaException

        brokers: dict[int, dict[str, Any]] = {}
        controller, partitions, known = -1, [], set[int]()
        try:
            for number, (listener, client) in enumerate(self.clients.items()):
                metadata = client.list_topics(timeout=timeout)
                for node in metadata.brokers.values():
                    brokers.setdefault(node.id, {"rack": None})[listener] = f"{node.host}:{node.port}"
                if number == 0:
                    controller = metadata.controller_id
                    known = set(metadata.brokers)
                    for name, topic in metadata.topics.items():
                        # There is a leader, and it does not have this listener: what else would look offline is not.
                        for p in topic.partitions.values():
                            if p.error and p.error.code() == KafkaError.LISTENER_NOT_FOUND:
                                raise ClusterError(f"listener {listener}: the leader of {name}-{p.id} does not have it")
                        partitions += [
                            Partition(name, p.id, p.leader, tuple(p.replicas), tuple(p.isrs))
                            for p in topic.partitions.values()
                        ]
        except (KafkaException, TimeoutError) as error:
            raise ClusterError(f"listener {listener}: {error}") from error
        # A broker that has just started may not know the others yet, nor their partitions: what it says of those
        # proves nothing.
        return State({number: facts for number, facts in brokers.items() if number in known}, controller, partitions)

    def with_racks(self, state: State, timeout: float = 5.0) -> State:
        """Return the state with the rack of each broker, None where one does not answer within `timeout` seconds."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType

        client, racks = next(iter(self.clients.values())), dict[int, str | None]()
        asked = {number: ConfigResource(ResourceType.BROKER, str(number)) for number in state.brokers}
        answers = {
            number: client.describe_configs([one], request_timeout=timeout)[one] for number, one in asked.items()
        }
        for number, answer in answers.items():
            try:
                entry = answer.result(timeout + 1).get("broker.rack")
                racks[number] = entry.value if entry else None
            except (KafkaException, TimeoutError):
                racks[number] = None
        return replace(
            state, brokers={number: {**facts, "rack": racks[number]} for number, facts in state.brokers.items()}
        )

    def prefer(self, timeout: float) -> tuple[list[Partition], list[Partition]]:
        """Elect the preferred leaders, and wait until they lead.

        Return the partitions that others led, and those that others still lead.

        Raises ClusterError.
        """
        from confluent_kafka import ElectionType, KafkaException, TopicPartition

        before = still = self.state().led_by_another()
        deadline, tick = time.monotonic() + timeout, threading.Event()
        if before:
            client = next(iter(self.clients.values()))
            try:  # a timeout as a keyword is a SystemError in confluent-kafka 2.16.1
                client.elect_leaders(
                    ElectionType.PREFERRED, [TopicPartition(p.topic, p.number) for p in before]
                ).result(timeout)
            except (KafkaException, TimeoutError) as error:
                words = str(error) or f"no answer within {timeout:.0f} s"
                raise ClusterError(f"election of preferred leaders: {words}") from error
        while still and time.monotonic() < deadline:
            tick.wait(0.2)
            still = self.state().led_by_another()
        return before, still

    def wait(self, expected: Sequence[int], timeout: float, sick: Collection[int] = ()) -> tuple[State, list[str]]:
        """Ask until the cluster is whole, `timeout` seconds at most (0: once); `sick` as for State.problems.

        Return the last answer and what is wrong.
        """
        deadline, tick = time.monotonic() + timeout, threading.Event()
        while True:
            try:
                state = self.state()
                found = state.problems(expected, sick)
            except ClusterError as error:
                state, found = State(), [str(error)]
            if not found or time.monotonic() >= deadline:
                return self.with_racks(state), found
            tick.wait(0.2)
