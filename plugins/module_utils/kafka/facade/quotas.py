"""Client quotas of a cluster, through kafka-python, which alone of the two libraries can; no Ansible import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.quotas import Entity, Values

KINDS = {"user": "user", "client_id": "client-id"}
"""Ours and Kafka's words for what an entity is made of."""


def found(admin: Admin) -> dict[Entity, Values]:
    """Return the quotas of every entity of users and client ids. Raises AdminError, ImportError."""
    from kafka.protocol.admin import DescribeClientQuotasRequest

    said = kafka_python.of(admin).ask(DescribeClientQuotasRequest(components=[], strict=False), ASK)
    if said.error_code:
        raise refused(kafka_python.words(said))
    there: dict[Entity, Values] = {}
    for entry in said.entries or []:
        names = {part.entity_type: part.entity_name or "" for part in entry.entity}
        if names.keys() <= set(KINDS.values()):
            there[Entity(names.get("user"), names.get("client-id"))] = {v.key: v.value for v in entry.values}
    return there


def write(
    admin: Admin, wanted: Sequence[tuple[Entity, Mapping[str, float | None]]], validate_only: bool = False
) -> dict[str, str]:
    """Set quotas, and take away those that are None; return why some failed, by the entity in words."""
    from kafka.protocol.admin import AlterClientQuotasRequest as Request

    if not wanted:
        return {}
    entries = [
        Request.EntryData(
            entity=[
                Request.EntryData.EntityData(entity_type=KINDS[kind], entity_name=name or None)
                for kind, name in who._asdict().items()
                if name is not None
            ],
            ops=[
                Request.EntryData.OpData(key=key, value=value or 0.0, remove=value is None)
                for key, value in sorted(values.items())
            ],
        )
        for who, values in wanted
    ]
    asked = Request(entries=entries, validate_only=validate_only)
    said = kafka_python.of(admin).ask(asked, ASK if validate_only else admin.patience)
    # The broker answers entry by entry, in its own order; the library looks at none of their codes.
    failed = {}
    for entry in said.entries:
        if entry.error_code:
            names = {part.entity_type: part.entity_name or "" for part in entry.entity}
            failed[str(Entity(names.get("user"), names.get("client-id")))] = kafka_python.words(entry)
    return failed
