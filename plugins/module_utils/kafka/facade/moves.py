"""Replicas that are being moved, through kafka-python, which alone of the two libraries can tell; no Ansible import."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place


def moving(admin: Admin) -> set[str]:
    """Return the topics of which replicas are being moved. Raises AdminError, ImportError."""
    return {topic for topic, _ in partitions(admin)}


def partitions(admin: Admin) -> set[Place]:
    """Return the partitions of which replicas are being moved. Raises AdminError, ImportError."""
    found = kafka_python.bounded(ASK, kafka_python.of(admin).client.list_partition_reassignments)
    return {(one.topic, one.partition) for one in found}
