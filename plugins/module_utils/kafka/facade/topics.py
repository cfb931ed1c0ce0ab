"""Reads, creates, changes and deletes the topics of a cluster, and reads settings, with confluent-kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    ASK,
    Admin,
    AdminError,
    NotAllowed,
    answer,
    failures,
)

OF_CREATION = ["num.partitions", "default.replication.factor"]
OF_TOPICS = {
    "retention.ms": {"log.retention.ms": 1, "log.retention.minutes": 60_000, "log.retention.hours": 3_600_000},
    "retention.bytes": {"log.retention.bytes": 1},
    "cleanup.policy": {"log.cleanup.policy": 1},
    "min.insync.replicas": {"min.insync.replicas": 1},
    "unclean.leader.election.enable": {"unclean.leader.election.enable": 1},
}
"""By setting of topics, the broker settings with its default, in order of precedence, with the factor of their unit."""
BATCH = 100
"""Number of topics in one write request."""


@dataclass(frozen=True)
class Setting:
    """The value of one setting of a topic or a broker, as DescribeConfigs reports it."""

    value: str | None
    dynamic: bool
    """Whether the value was set for this resource, and is not a default of the broker or of Kafka."""


@dataclass(frozen=True)
class NewTopic:
    """A topic to create; `replicas` has, for each partition, the ids of the brokers that get a replica."""

    name: str
    replicas: Sequence[Sequence[int]]
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MorePartitions:
    """Partitions to add to a topic, which has `total` partitions afterwards.

    `replicas` has, for each new partition, the ids of the brokers that get a replica.
    """

    name: str
    total: int
    replicas: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Settings:
    """Settings of a topic to set, {name: value}, and names of settings to remove."""

    name: str
    sets: Mapping[str, str]
    removes: Sequence[str] = ()


def asked_for(admin: Admin, kind: str, names: Iterable[str], timeout: float) -> dict[str, Future[Any]]:
    """Request the settings of resources of a kind (TOPIC or BROKER); return {name of a resource: future}.

    `timeout` is in seconds.
    """
    from confluent_kafka.admin import ConfigResource, ResourceType

    resources = [ConfigResource(ResourceType[kind], name) for name in names]
    if not resources:
        return {}
    found: dict[Any, Future[Any]] = {}
    if kind == "TOPIC":
        found = admin.client.describe_configs(resources, request_timeout=timeout, **admin.anybody())
    for resource in resources if kind == "BROKER" else []:  # the library accepts one broker per request
        found |= admin.client.describe_configs([resource], request_timeout=timeout)
    return {resource.name: future for resource, future in found.items()}


def describe(admin: Admin, kind: str, names: Iterable[str], timeout: float = ASK) -> dict[str, dict[str, Setting]]:
    """Return {name of a resource: {name of a setting: setting}}; `kind` is TOPIC or BROKER, for all `names`.

    `timeout` is in seconds. Raises AdminError if the request is rejected or not answered.
    """
    from confluent_kafka.admin import ConfigSource

    own = (ConfigSource.DYNAMIC_TOPIC_CONFIG if kind == "TOPIC" else ConfigSource.DYNAMIC_BROKER_CONFIG).value
    return {
        resource: {name: Setting(entry.value, entry.source == own) for name, entry in answer(future, timeout).items()}
        for resource, future in asked_for(admin, kind, names, timeout).items()
    }


def of_each(admin: Admin, asked: Mapping[int, str], name: str, timeout: float = ASK) -> list[str | None]:
    """Ask brokers in parallel for the setting `name` of a topic, and return the values that they report.

    `asked` is {broker: topic for which to ask this broker}. Raises AdminError if a broker rejects the request or does
    not answer.
    """
    from confluent_kafka.admin import ConfigResource, ResourceType

    futures: list[Future[Any]] = []
    for broker, topic in asked.items():
        resource = ConfigResource(ResourceType.TOPIC, topic)
        futures += admin.client.describe_configs([resource], request_timeout=timeout, broker=broker).values()
    entries = [answer(future, timeout).get(name) for future in futures]
    return [entry.value for entry in entries if entry]


def racks(admin: Admin, brokers: Iterable[int], timeout: float = ASK) -> dict[int, str | None]:
    """Return {broker: its rack, None if it has none}; brokers that do not answer are left out.

    Raises NotAllowed if the user has no right to read settings.
    """
    found: dict[int, str | None] = {}
    for name, future in asked_for(admin, "BROKER", [str(broker) for broker in brokers], timeout).items():
        try:
            entry = answer(future, timeout).get("broker.rack")
        except NotAllowed:
            raise
        except AdminError:
            continue
        found[int(name)] = entry.value or None if entry else None
    return found


def defaults(admin: Admin, brokers: Iterable[int]) -> dict[str, str]:
    """Return {setting: default of the brokers} for topics, with num.partitions and default.replication.factor.

    These are the values of one broker: the first that answers among the first two of `brokers`. Raises AdminError if
    neither answers.
    """
    error = AdminError("no broker to ask")
    for broker in list(brokers)[:2]:
        try:
            found = describe(admin, "BROKER", [str(broker)], ASK / 2)[str(broker)]
        except AdminError as unanswered:
            error = unanswered
            continue
        values = {name: setting.value for name, setting in found.items() if setting.value}
        by_name: dict[str, str] = {name: values[name] for name in OF_CREATION if name in values}
        for name, others in OF_TOPICS.items():
            for other, factor in others.items():
                if other in values:
                    by_name[name] = scaled(values[other], factor)
                    break
        return by_name
    raise error


def scaled(value: str, factor: int) -> str:
    """Return the number `value` multiplied by `factor`, as text; a negative number means no limit and gives -1."""
    if value.startswith("-"):
        return "-1"
    return value if factor == 1 else str(int(value) * factor)


def configure(admin: Admin, topics: Sequence[Settings], validate_only: bool = False) -> dict[str, str]:
    """Set and remove settings of topics, without changing their other settings; return {failed topic: reason}.

    With `validate_only`, brokers validate the settings and write nothing.
    """
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    asked = []
    for topic in topics:
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in topic.sets.items()
        ]
        entries += [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in topic.removes]
        asked.append(ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=entries))

    def send(batch: Sequence[Any]) -> Iterable[tuple[str, Future[Any]]]:
        futures = admin.client.incremental_alter_configs(
            batch, request_timeout=ASK if validate_only else admin.patience, validate_only=validate_only
        )
        return [(resource.name, future) for resource, future in futures.items()]

    return in_batches(admin, asked, send, validate_only)


def create(admin: Admin, topics: Sequence[NewTopic], validate_only: bool = False) -> dict[str, str]:
    """Create topics; return {failed topic: reason}. With `validate_only`, brokers only validate them."""
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
    return in_batches(
        admin,
        asked,
        lambda batch: admin.client.create_topics(
            batch, **times(admin, validate_only), validate_only=validate_only
        ).items(),
        validate_only,
    )


def grow(admin: Admin, topics: Sequence[MorePartitions], validate_only: bool = False) -> dict[str, str]:
    """Add partitions to topics; return {failed topic: reason}. With `validate_only`, brokers only validate them."""
    from confluent_kafka.admin import NewPartitions

    asked = [
        NewPartitions(topic.name, topic.total, [list(replicas) for replicas in topic.replicas]) for topic in topics
    ]
    return in_batches(
        admin,
        asked,
        lambda batch: admin.client.create_partitions(
            batch, **times(admin, validate_only), validate_only=validate_only
        ).items(),
        validate_only,
    )


def delete(admin: Admin, names: Sequence[str]) -> dict[str, str]:
    """Delete topics with their records; return {failed topic: reason}."""
    return in_batches(admin, names, lambda batch: admin.client.delete_topics(list(batch), **times(admin)).items())


def in_batches(
    admin: Admin,
    asked: Sequence[Any],
    send: Callable[[Sequence[Any]], Iterable[tuple[str, Future[Any]]]],
    validate_only: bool = False,
) -> dict[str, str]:
    """Split `asked` into batches of BATCH, send each with `send`, and wait; return {name of a failed resource: reason}.

    `send` sends one request, and returns (name, future) for each resource. With `validate_only`, raises Unanswered if a
    request gets no answer.
    """
    found: dict[str, str] = {}
    for start in range(0, len(asked), BATCH):
        found |= failures(send(asked[start : start + BATCH]), ASK if validate_only else admin.patience, validate_only)
    return found


def times(admin: Admin, validate_only: bool = False) -> dict[str, float]:
    """Return the two timeouts of a request in seconds: that of the client, and a shorter one for the broker."""
    timeout = ASK if validate_only else admin.patience
    return {"request_timeout": timeout, "operation_timeout": max(timeout - 5, timeout / 2)}
