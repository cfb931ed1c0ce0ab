"""Reads consumer groups and the first and last offsets of partitions, and resets offsets of groups.

Uses confluent-kafka; groups themselves are read with kafka-python (coordinators.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import coordinators
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    ASK,
    Admin,
    answer,
    failures,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group, Place


def names(admin: Admin) -> list[str]:
    """Return the names of all consumer groups, sorted. Raises AdminError if the request is rejected or not answered."""
    found = answer(admin.client.list_consumer_groups(request_timeout=ASK), ASK)
    return sorted(one.group_id for one in found.valid)


def groups(admin: Admin, wanted: Iterable[str]) -> dict[str, Group]:
    """Return {name: group with its members and committed offsets}; an unknown name gets a group in the state DEAD.

    Raises AdminError if a request is rejected or not answered, ImportError without kafka-python.
    """
    found, failed = coordinators.read(admin, wanted)
    for error in failed.values():
        raise error
    return found


def ends(admin: Admin, places: Iterable[Place], timestamp: int | None = None, *, committed: bool = False) -> Ends:
    """Return the first offset of each partition, and the offset that its next record gets.

    With `timestamp` (ms since 1970), also return the offset of the first record at or after that time. With
    `committed`, records of transactions that are open do not count. Raises AdminError if the request is rejected or not
    answered.
    """
    from confluent_kafka import IsolationLevel, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    wanted = [TopicPartition(topic, number) for topic, number in places]
    specs: Any = OffsetSpec
    levels: Any = IsolationLevel
    level = levels.READ_COMMITTED if committed else levels.READ_UNCOMMITTED

    def ask(spec: Any) -> dict[Place, int]:
        asked = {one: spec for one in wanted}
        futures = admin.client.list_offsets(asked, isolation_level=level, request_timeout=ASK) if wanted else {}
        return {(one.topic, one.partition): answer(future, ASK).offset for one, future in futures.items()}

    at = ask(specs.for_timestamp(timestamp)) if timestamp is not None else {}
    return Ends(ask(specs.earliest()), ask(specs.latest()), at)


def offsets_at(admin: Admin, times: Mapping[Place, int]) -> dict[Place, int]:
    """Return the offset of the first record at or after a time (ms since 1970) of each partition; -1 without one.

    Raises AdminError if the request is rejected or not answered.
    """
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    specs: Any = OffsetSpec
    wanted = {TopicPartition(topic, number): specs.for_timestamp(at) for (topic, number), at in times.items()}
    futures = admin.client.list_offsets(wanted, request_timeout=ASK) if wanted else {}
    return {(one.topic, one.partition): answer(future, ASK).offset for one, future in futures.items()}


def commit(admin: Admin, wanted: Mapping[str, Mapping[Place, int]]) -> dict[str, str]:
    """Set the offsets of groups without members; return {group whose offsets were not set: reason}.

    `wanted` is {group: {(topic, partition): offset}}. A request that was answered may still contain an error for each
    partition, as when the replicas of the group's offsets are out of sync.
    """
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    futures = []
    for name, offsets in wanted.items():
        places = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        asked = admin.client.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(name, places)], request_timeout=admin.patience
        )
        futures.append((name, asked[name]))
    failed = failures(futures, admin.patience)
    for name, future in futures:
        partitions = [] if name in failed else answer(future, admin.patience).topic_partitions
        if errors := {f"{one.error.str()} ({one.error.name()})" for one in partitions if one.error}:
            failed[name] = "; ".join(sorted(errors))
    return failed
