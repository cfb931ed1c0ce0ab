"""Replicas that are being moved, and what moves them: kafka-python alone of the two can; no Ansible import."""

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

ELECTED = f"nobody is elected yet. Where that lasts (zookeeper-shell.sh finds no znode /controller), {STANDS}"


@dataclass(frozen=True)
class Running:
    """One partition on the move."""

    replicas: tuple[int, ...]
    """All that it has by now, those that it gets and those that it loses among them."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """Return the replicas that it is to have in the end, in their order."""
        return tuple(one for one in self.replicas if one not in self.removing)


def moving(admin: Admin) -> set[str]:
    """Return the topics of which replicas are being moved. Raises AdminError, ImportError."""
    return {topic for topic, _ in running(admin)}


def running(admin: Admin) -> dict[Place, Running]:
    """Return the partitions of which replicas are being moved. Raises AdminError, ImportError."""
    ask = kafka_python.of(admin).client.list_partition_reassignments
    found = kafka_python.bounded(ASK, ask, "ListPartitionReassignmentsRequest")
    return {
        (one.topic, one.partition): Running(
            tuple(how["replicas"]), tuple(how["adding_replicas"]), tuple(how["removing_replicas"])
        )
        for one, how in found.items()
    }


def told_by(properties: Mapping[str, Any], place: str, controller: int) -> set[Place]:
    """Return the same partitions from the controller at its address, and ask nobody else.

    Raises AdminError, ImportError.
    """
    from kafka.errors import NotControllerError, for_code
    from kafka.protocol.admin import ListPartitionReassignmentsRequest

    with kafka_python.at(properties, place) as library:
        found = library.ask(ListPartitionReassignmentsRequest(timeout_ms=int(ASK * 1000), topics=None), ASK, controller)
    if found.error_code == NotControllerError.errno:
        raise Uncontrolled(f"broker {controller}, which all name as the controller, says that it is not: {ELECTED}")
    if found.error_code:
        raise refused(f"{found.error_message or ''} ({for_code(found.error_code).__name__})")
    return {(topic.name, one.partition_index) for topic in found.topics for one in topic.partitions}


def alter(admin: Admin, wanted: Mapping[Place, Sequence[int] | None]) -> dict[Place, str]:
    """Have partitions get these replicas, the preferred leader first; None calls off what is under way.

    Return why some do not, by partition; one that has nothing to call off is none of them. The controller has written
    the others down when it answers. Raises AdminError, ImportError.
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
        raise AdminError(str(kafka_python.words(found)))
    return {
        (topic.name, one.partition_index): kafka_python.words(one)
        for topic in found.responses
        for one in topic.partitions
        if one.error_code not in (0, NoReassignmentInProgressError.errno)
    }
