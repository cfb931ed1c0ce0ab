"""Replicas that are being moved, through kafka-python, which alone of the two libraries can tell; no Ansible import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place


def moving(admin: Admin) -> set[str]:
    """Return the topics of which replicas are being moved. Raises AdminError, ImportError."""
    return {topic for topic, _ in partitions(admin)}


def partitions(admin: Admin) -> set[Place]:
    """Return the partitions of which replicas are being moved. Raises AdminError, ImportError."""
    ask = kafka_python.of(admin).client.list_partition_reassignments
    found = kafka_python.bounded(ASK, ask, "ListPartitionReassignmentsRequest")
    return {(one.topic, one.partition) for one in found}


def told_by(properties: Mapping[str, Any], place: str, controller: int) -> set[Place]:
    """Return the same from the controller at its address, and ask nobody else. Raises AdminError, ImportError."""
    from kafka.errors import for_code
    from kafka.protocol.admin import ListPartitionReassignmentsRequest

    with kafka_python.at(properties, place) as library:
        found = library.ask(ListPartitionReassignmentsRequest(timeout_ms=int(ASK * 1000), topics=None), ASK, controller)
    if found.error_code:
        raise refused(f"{found.error_message or ''} ({for_code(found.error_code).__name__})")
    return {(topic.name, one.partition_index) for topic in found.topics for one in topic.partitions}
