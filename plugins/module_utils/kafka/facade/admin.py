"""A cluster's metadata, topics and settings, through confluent-kafka; no Ansible import."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.network import connect
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import client, ladder

ASK, WRITE = 10.0, 60.0
"""Seconds that a question and a write may take."""
FIRST = 4.0
"""Seconds until the first answer; after that the rungs are tried one by one."""
OF_CREATION = ["num.partitions", "default.replication.factor"]
OF_TOPICS = {
    "retention.ms": {"log.retention.ms": 1, "log.retention.minutes": 60_000, "log.retention.hours": 3_600_000},
    "retention.bytes": {"log.retention.bytes": 1},
    "cleanup.policy": {"log.cleanup.policy": 1},
    "min.insync.replicas": {"min.insync.replicas": 1},
}
"""What brokers call the defaults of topics, the first that is set, with the factor of its unit."""
BATCH = 100
"""Topics in one request that writes."""


class AdminError(Exception):
    """The cluster refused, or did not answer; the text names the rung, or carries the client's own words."""


@dataclass(frozen=True)
class Metadata:
    """What one broker says of the cluster."""

    cluster_id: str
    controller: int
    brokers: Mapping[int, tuple[str, int]]
    topics: Mapping[str, Sequence[tuple[int, ...]]]
    """Of each topic, the replicas of its partitions in the order of their numbers."""


@dataclass(frozen=True)
class Setting:
    """A value as DescribeConfigs has it."""

    value: str | None
    dynamic: bool
    """Set for this resource, and not a default of the broker or of Kafka."""


@dataclass(frozen=True)
class NewTopic:
    """A topic that is to be made, each partition with the ids of its brokers."""

    name: str
    replicas: Sequence[Sequence[int]]
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MorePartitions:
    """Partitions that a topic gets, `total` in the end; `replicas` are those of the new ones."""

    name: str
    total: int
    replicas: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Settings:
    """What is set for a topic, and what is no longer."""

    name: str
    sets: Mapping[str, str]
    removes: Sequence[str] = ()


def said(error: BaseException) -> str:
    """Return an error of the library in the broker's words."""
    from confluent_kafka import KafkaException

    if isinstance(error, KafkaException) and error.args:
        return f"{error.args[0].str()} ({error.args[0].name()})"
    return str(error) or "no answer in time"


def answer(future: Future[Any], timeout: float = ASK) -> Any:
    """Return what was answered. Raises AdminError."""
    from confluent_kafka import KafkaException

    try:
        return future.result(timeout + 1)
    except (KafkaException, TimeoutError) as error:
        raise AdminError(said(error)) from error


def failures(futures: Iterable[tuple[str, Future[Any]]], timeout: float) -> dict[str, str]:
    """Wait for all; return why some failed, by name."""
    found = {}
    for name, future in futures:
        try:
            answer(future, timeout)
        except AdminError as error:
            found[name] = str(error)
    return found


class Admin:
    """One cluster, through one listener, as a super user."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        """`properties` are librdkafka's. Raises ClientError, ImportError."""
        self.properties = dict(properties)
        self.errors: list[Any] = []
        self.client = client.admin({**self.properties, "error_cb": self.errors.append})

    def metadata(self) -> Metadata:
        """Ask a broker for all topics. Raises AdminError, which names the rung that failed."""
        from confluent_kafka import KafkaException

        try:
            found = self.client.list_topics(timeout=FIRST)
        except KafkaException as error:
            self.client.poll(0)
            raise AdminError(ladder.climb(self.properties, [*self.errors, error.args[0]])) from error
        topics = {
            name: [tuple(topic.partitions[number].replicas) for number in sorted(topic.partitions)]
            for name, topic in found.topics.items()
        }
        brokers = {node.id: (node.host, node.port) for node in found.brokers.values()}
        return Metadata(found.cluster_id or "", found.controller_id, brokers, topics)

    def reach_controller(self, timeout: float = ASK) -> None:
        """Wait until there is a controller and it can be reached: topics and users are its to write.

        Raises AdminError, which says so.
        """
        deadline, tick = time.monotonic() + timeout, threading.Event()
        while True:
            found = self.metadata()
            place = found.brokers.get(found.controller)
            if place is None:
                why = f"no controller among the {len(found.brokers)} brokers that answer"
            else:
                reached = connect(place[0], place[1], 2.0)
                if reached == "open":
                    return
                why = f"no controller: broker {found.controller} was it last, and {place[0]}:{place[1]} says {reached}"
            if time.monotonic() > deadline:
                words = "look at ZooKeeper's quorum (playbooks/check.yml)"
                raise AdminError(f"{why}, after {timeout:.0f} s; nothing was written; {words}")
            tick.wait(0.5)

    def explain(self, error: AdminError) -> AdminError:
        """Return what is behind a question that was not answered: an advertised listener, the controller, or itself."""
        try:
            found = self.metadata()
            places = sorted(found.brokers.items())
            with ThreadPoolExecutor(max(1, len(places))) as pool:
                answers = list(pool.map(lambda place: connect(place[1][0], place[1][1], 2.0), places))
        except AdminError as other:
            return other
        silent = [
            f"broker {broker} is advertised as {host}:{port}: {said}"
            for (broker, (host, port)), said in zip(places, answers, strict=True)
            if said != "open"
        ]
        if found.controller not in dict(places):
            return AdminError(f"controller: no broker is it; {error}")
        return AdminError(f"advertised listener: {'; '.join(silent)}; {error}") if silent else error

    # Settings

    def describe(self, kind: str, names: Iterable[str], timeout: float = ASK) -> dict[str, dict[str, Setting]]:
        """Return the settings of resources of a kind (TOPIC, BROKER) by name. Raises AdminError."""
        from confluent_kafka.admin import ConfigResource, ConfigSource, ResourceType

        own = {ConfigSource.DYNAMIC_TOPIC_CONFIG.value, ConfigSource.DYNAMIC_BROKER_CONFIG.value}
        resources = [ConfigResource(ResourceType[kind], name) for name in names]
        asked: dict[Any, Future[Any]] = {}
        # librdkafka takes one broker in a request, which goes to that broker.
        for group in [resources] if kind == "TOPIC" else [[one] for one in resources]:
            asked |= self.client.describe_configs(group, request_timeout=timeout) if group else {}
        return {
            resource.name: {
                name: Setting(entry.value, entry.source in own) for name, entry in answer(future, timeout).items()
            }
            for resource, future in asked.items()
        }

    def defaults(self, brokers: Iterable[int]) -> dict[str, str]:
        """Return what holds for topics that do not say it, and num.partitions and default.replication.factor.

        Of the first broker that answers. Raises AdminError.
        """
        error = AdminError("no broker to ask")
        for broker in list(brokers)[:2]:
            try:
                found = self.describe("BROKER", [str(broker)], ASK / 2)[str(broker)]
            except AdminError as unanswered:
                error = unanswered
                continue
            values = {name: setting.value for name, setting in found.items() if setting.value}
            told: dict[str, str] = {name: values[name] for name in OF_CREATION if name in values}
            for name, others in OF_TOPICS.items():
                for other, factor in others.items():
                    if other in values:
                        told[name] = values[other] if factor == 1 else str(int(values[other]) * factor)
                        break
            return told
        raise error

    def racks(self, brokers: Iterable[int]) -> dict[int, str | None]:
        """Return each broker's rack, None where it says none. Raises AdminError where one does not answer."""
        settings = self.describe("BROKER", [str(broker) for broker in brokers])
        return {int(name): found["broker.rack"].value or None for name, found in settings.items()}

    def configure(self, topics: Sequence[Settings], validate_only: bool = False) -> dict[str, str]:
        """Set and unset settings of topics, and leave their others; return why some failed, by topic."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        asked = []
        for topic in topics:
            entries = [
                ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
                for key, value in topic.sets.items()
            ]
            entries += [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in topic.removes]
            asked.append(ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=entries))

        def send(batch: Sequence[Any]) -> Iterable[tuple[str, Future[Any]]]:
            futures = self.client.incremental_alter_configs(
                batch, request_timeout=ASK if validate_only else WRITE, validate_only=validate_only
            )
            return [(resource.name, future) for resource, future in futures.items()]

        return self.in_batches(asked, send, ASK if validate_only else WRITE)

    # Topics

    def create(self, topics: Sequence[NewTopic], validate_only: bool = False) -> dict[str, str]:
        """Make topics; return why some failed, by name."""
        from confluent_kafka.admin import NewTopic as Wanted

        asked = [
            Wanted(
                topic.name,
                num_partitions=len(topic.replicas),
                replica_assignment=[list(replicas) for replicas in topic.replicas],
                config=dict(topic.config),
            )
            for topic in topics
        ]
        return self.in_batches(
            asked,
            lambda batch: self.client.create_topics(batch, **times(validate_only), validate_only=validate_only).items(),
            ASK if validate_only else WRITE,
        )

    def grow(self, topics: Sequence[MorePartitions], validate_only: bool = False) -> dict[str, str]:
        """Add partitions; return why some failed, by topic."""
        from confluent_kafka.admin import NewPartitions

        asked = [
            NewPartitions(topic.name, topic.total, [list(replicas) for replicas in topic.replicas]) for topic in topics
        ]
        return self.in_batches(
            asked,
            lambda batch: self.client.create_partitions(
                batch, **times(validate_only), validate_only=validate_only
            ).items(),
            ASK if validate_only else WRITE,
        )

    def delete(self, names: Sequence[str]) -> dict[str, str]:
        """Delete topics with their records; return why some failed, by name."""
        return self.in_batches(
            names, lambda batch: self.client.delete_topics(list(batch), **times(False)).items(), WRITE
        )

    @staticmethod
    def in_batches(
        asked: Sequence[Any], send: Callable[[Sequence[Any]], Iterable[tuple[str, Future[Any]]]], timeout: float
    ) -> dict[str, str]:
        """Send one request for every BATCH resources."""
        found: dict[str, str] = {}
        for start in range(0, len(asked), BATCH):
            found |= failures(send(asked[start : start + BATCH]), timeout)
        return found


def times(validate_only: bool) -> dict[str, float]:
    """Return the timeouts of a request: the broker's own is a little shorter."""
    timeout = ASK if validate_only else WRITE
    return {"request_timeout": timeout, "operation_timeout": timeout - 5}
