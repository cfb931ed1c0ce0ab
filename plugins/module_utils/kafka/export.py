"""Converts what the facade reads of a cluster to variables of an inventory. No I/O."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import broker_config as broker_settings
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.acls import KINDS, Acl
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.quotas import Entity, Values
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import THROTTLES
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.users import ITERATIONS, MECHANISM

DEFAULT = "<default>"
"""The name of a default entity in kafka_quotas."""
Entry = dict[str, Any]


def number(text: Any) -> Any:
    """Convert a string that is an integer, or a float without a fraction, to an int; return other values unchanged."""
    if isinstance(text, float):
        return int(text) if text.is_integer() else text
    digits = str(text).removeprefix("-")
    return int(text) if digits.isdigit() and str(int(text)) == text else text


def arrived(
    replicas: Mapping[str, Sequence[Sequence[int]]], targets: Mapping[Place, Sequence[int]]
) -> dict[str, list[Sequence[int]]]:
    """Return {topic: replicas of each of its partitions} as they will be when running reassignments have ended.

    `replicas` has the replicas now: during a reassignment, a partition has both its old and its new replicas. `targets`
    is {(topic, partition): its new replicas}.
    """
    return {
        name: [targets.get((name, number)) or has for number, has in enumerate(partitions)]
        for name, partitions in replicas.items()
    }


def topics(replicas: Mapping[str, Sequence[Sequence[int]]], set_here: Mapping[str, Mapping[str, str]]) -> list[Entry]:
    """Return the entries of kafka_topics that describe the existing topics.

    `replicas` is {topic: replicas of each of its partitions}, `set_here` is {topic: settings of its own}. Topics whose
    name begins with _ are skipped. A topic whose partitions differ in their number of replicas gets `manage: false`.
    """
    entries = []
    for name in sorted(topic for topic in replicas if not topic.startswith("_")):
        factors = {len(partition) for partition in replicas[name]}
        if len(factors) != 1:
            entries.append({"name": name, "manage": False})
            continue
        entry: Entry = {"name": name, "partitions": len(replicas[name]), "replication_factor": factors.pop()}
        config = {key: number(value) for key, value in sorted(set_here.get(name, {}).items()) if key not in THROTTLES}
        entries.append({**entry, **({"config": config} if config else {})})
    return entries


def literal(text: str) -> str:
    """Return a string as a literal for a Jinja expression; in base64 if its characters could end the literal early."""
    if re.fullmatch(r"[\w .,:;@=+*/-]*", text):
        return f"'{text}'"
    return f"'{base64.b64encode(text.encode()).decode()}' | b64decode"


def users(found: Mapping[str, Mapping[str, int]]) -> list[Entry]:
    """Return entries of kafka_users, one entry for each user and mechanism.

    `found` is {user: {mechanism: iterations}}. Passwords cannot be read from Kafka, so each entry refers to
    `vault.passwords`.
    """
    entries = []
    for name, kept in sorted(found.items()):
        for mechanism, iterations in sorted(kept.items(), reverse=True):
            entry: Entry = {"name": name, "password": f"{{{{ vault.passwords[{literal(name)}] }}}}"}
            if mechanism != MECHANISM:
                entry["mechanism"] = mechanism
            if iterations != ITERATIONS:
                entry["iterations"] = iterations
            entries.append(entry)
    return entries


def acls(found: Iterable[Acl]) -> tuple[list[Entry], list[str]]:
    """Return (entries of kafka_acls, texts of the ACLs that kafka_acls cannot declare).

    ACLs that differ only in their operation become one entry.
    """
    known: dict[tuple[str, ...], list[str]] = {}
    others = []
    for one in sorted(found):
        if one.resource not in KINDS or one.pattern not in ("LITERAL", "PREFIXED"):
            others.append(str(one))
        else:
            place = (one.principal, one.resource, one.name, one.pattern, one.permission, one.host)
            known.setdefault(place, []).append(one.operation)
    entries = []
    for (principal, resource, name, pattern, permission, host), operations in known.items():
        entry: Entry = {"principal": principal, "operations": operations, "resource": resource.lower()}
        entry |= {"name": name} if resource != "CLUSTER" else {}
        entry |= {"pattern": "prefixed"} if pattern == "PREFIXED" else {}
        entry |= {"permission": "deny"} if permission == "DENY" else {}
        entry |= {"host": host} if host != "*" else {}
        entries.append(entry)
    return entries, others


def quotas(found: Mapping[Entity, Values]) -> list[Entry]:
    """Return the entries of kafka_quotas that describe the existing quotas, sorted by entity."""
    entries = []
    for who, values in sorted(found.items(), key=lambda item: str(item[0])):
        names = {kind: name or DEFAULT for kind, name in who._asdict().items() if name is not None}
        entries.append({**names, **{key: number(value) for key, value in sorted(values.items())}})
    return entries


def broker_config(found: broker_settings.Found) -> tuple[Entry, list[str]]:
    """Return (the value of kafka_dynamic_config, lines about the settings that it does not contain).

    Left out are settings of single brokers, secrets, and throttles of reassignments.
    """
    everywhere = {
        key: number(value)
        for key, value in sorted(found.settings.get(broker_settings.ALL, {}).items())
        if value is not None and not broker_settings.THROTTLES.fullmatch(key)
    }
    own = [
        f"{broker_settings.scope_name(scope)}: {key}" + ("" if value is None else f" = {value}")
        for scope, settings in found.settings.items()
        for key, value in sorted(settings.items())
        if scope or key not in everywhere
    ]
    return everywhere, own
