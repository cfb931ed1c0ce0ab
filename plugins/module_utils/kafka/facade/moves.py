"""Reads and changes reassignments of partitions, with kafka-python: confluent-kafka has no such requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    ASK,
    STANDS,
    Admin,
    AdminError,
    Uncontrolled,
    refused,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

ELECTED = f"no controller is elected yet. If that lasts (zookeeper-shell.sh finds no znode /controller), {STANDS}"


@dataclass(frozen=True)
class Running:
    """The running reassignment of one partition; all values are ids of brokers."""

    replicas: tuple[int, ...]
    """All current replicas, including those that are added and removed."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """Return the replicas that the partition has after the reassignment, the preferred leader first."""
        return tuple(one for one in self.replicas if one not in self.removing)


def moving(admin: Admin) -> set[str]:
    """Return the topics with a running reassignment.

    Raises AdminError if the request is rejected or not answered, ImportError without kafka-python.
    """
    return {topic for topic, _ in running(admin)}


def running(admin: Admin) -> dict[Place, Running]:
    """Return {(topic, partition): its running reassignment}.

    Raises AdminError if the request is rejected or not answered, ImportError without kafka-python.
    """
    ask = kafka_python.of(admin).client.list_partition_reassignments
    found = kafka_python.bounded(ASK, ask, "ListPartitionReassignmentsRequest")
    return {
        (one.topic, one.partition): Running(
            tuple(how["replicas"]), tuple(how["adding_replicas"]), tuple(how["removing_replicas"])
        )
        for one, how in found.items()
    }


def told_by(properties: Mapping[str, Any], place: str, controller: int) -> set[Place]:
    """Return the (topic, partition) pairs with a running reassignment, as the broker `controller` reports them.

    The request goes only to this broker, at its address `place` (host:port). Raises Uncontrolled if the broker is not
    the controller, AdminError if the request is rejected or not answered, ImportError without kafka-python.
    """
    from kafka.errors import NotControllerError, for_code
    from kafka.protocol.admin import ListPartitionReassignmentsRequest

    with kafka_python.at(properties, place) as library:
        found = library.ask(ListPartitionReassignmentsRequest(timeout_ms=int(ASK * 1000), topics=None), ASK, controller)
    if found.error_code == NotControllerError.errno:
        raise Uncontrolled(f"broker {controller}, which all name as the controller, is not the controller: {ELECTED}")
    if found.error_code:
        raise refused(f"{found.error_message or ''} ({for_code(found.error_code).__name__})")
    return {(topic.name, one.partition_index) for topic in found.topics for one in topic.partitions}


def alter(admin: Admin, wanted: Mapping[Place, Sequence[int] | None]) -> dict[Place, str]:
    """Reassign partitions to these replicas, the preferred leader first; None cancels a running reassignment.

    Return {partition whose reassignment was rejected: reason}; the controller has stored all others. Canceling without
    a running reassignment is no error. Raises AdminError if the whole request is rejected or not answered, ImportError
    without kafka-python.
    """
    from kafka.errors import NoReassignmentInProgressError
    from kafka.protocol.admin import AlterPartitionReassignmentsRequest as Request

    topics: dict[str, list[Any]] = {}
    for (topic, number), replicas in sorted(wanted.items()):
        one = Request.ReassignableTopic.ReassignablePartition(
            partition_index=number, replicas=None if replicas is None else list(replicas)
        )
        topics.setdefault(topic, []).append(one)
    named = [Request.ReassignableTopic(name=name, partitions=parts) for name, parts in topics.items()]
    admin.reach_controller()
    controller = admin.known.controller if admin.known else -1
    request = Request(timeout_ms=int(admin.patience * 1000), topics=named)
    found = kafka_python.of(admin).ask(request, admin.patience, controller)
    if found.error_code:
        raise AdminError(str(kafka_python.error_text(found)))
    return {
        (topic.name, one.partition_index): kafka_python.error_text(one)
        for topic in found.responses
        for one in topic.partitions
        if one.error_code not in (0, NoReassignmentInProgressError.errno)
    }
