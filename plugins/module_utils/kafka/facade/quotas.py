"""Reads and writes the client quotas of a cluster, with kafka-python: confluent-kafka has no such requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.quotas import Entity, Values

KINDS = {"user": "user", "client_id": "client-id"}
"""The parts of an entity, with our names and Kafka's."""


def found(admin: Admin) -> dict[Entity, Values]:
    """Return {entity: its quotas} of users and client ids; quotas of other entities, as IP addresses, are left out.

    Raises AdminError if the request is rejected or not answered, ImportError without kafka-python.
    """
    from kafka.protocol.admin import DescribeClientQuotasRequest

    response = kafka_python.of(admin).ask(DescribeClientQuotasRequest(components=[], strict=False), ASK)
    if response.error_code:
        raise refused(kafka_python.error_text(response))
    by_entity: dict[Entity, Values] = {}
    for entry in response.entries or []:
        names = {part.entity_type: part.entity_name or "" for part in entry.entity}
        if names.keys() <= set(KINDS.values()):
            by_entity[Entity(names.get("user"), names.get("client-id"))] = {v.key: v.value for v in entry.values}
    return by_entity


def write(
    admin: Admin, wanted: Sequence[tuple[Entity, Mapping[str, float | None]]], validate_only: bool = False
) -> dict[str, str]:
    """Set quotas, each (entity, {quota: value, or None to remove it}); return {text of a failed entity: reason}.

    With `validate_only`, brokers validate the quotas and write nothing.
    """
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
    response = kafka_python.of(admin).ask(asked, ASK if validate_only else admin.patience)
    # The broker answers entry by entry, in its own order; the library does not check their error codes.
    failed = {}
    for entry in response.entries:
        if entry.error_code:
            names = {part.entity_type: part.entity_name or "" for part in entry.entity}
            failed[str(Entity(names.get("user"), names.get("client-id")))] = kafka_python.error_text(entry)
    return failed
