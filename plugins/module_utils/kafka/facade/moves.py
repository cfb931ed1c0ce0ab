"""Replicas that are being moved, through kafka-python, which alone of the two libraries can tell; no Ansible import."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.quotas import Quotas, bounded
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place


def moving(admin: Admin) -> set[str]:
    """Return the topics of which replicas are being moved. Raises AdminError, ImportError."""
    return {topic for topic, _ in partitions(admin)}


def partitions(admin: Admin) -> set[Place]:
    """Return the partitions of which replicas are being moved. Raises AdminError, ImportError."""
    other = Quotas(admin.properties)
    try:
        found = bounded(ASK, other.client.list_partition_reassignments)
    finally:
        other.close()
    return {(one.topic, one.partition) for one in found}
