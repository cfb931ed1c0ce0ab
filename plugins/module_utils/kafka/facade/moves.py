"""Replicas that are being moved, through kafka-python, which alone of the two libraries can tell; no Ansible import."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.quotas import Quotas, bounded


def moving(admin: Admin) -> set[str]:
    """Return the topics of which replicas are being moved. Raises AdminError, ImportError."""
    other = Quotas(admin.properties)
    try:
        found = bounded(ASK, other.client.list_partition_reassignments)
    finally:
        other.close()
    return {one.topic for one in found}
