"""A cluster as the words of an inventory. Pure; who reads is the facade."""

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
"""Of an entity's name, as kafka_quotas says it."""
Entry = dict[str, Any]


def number(text: Any) -> Any:
    """Return a text that is a whole number as one, and a float that is whole; anything else as it is."""
    if isinstance(text, float):
        return int(text) if text.is_integer() else text
    digits = str(text).removeprefix("-")
    return int(text) if digits.isdigit() and str(int(text)) == text else text


def arrived(
    replicas: Mapping[str, Sequence[Sequence[int]]], targets: Mapping[Place, Sequence[int]]
) -> dict[str, list[Sequence[int]]]:
    """Return the replicas of topics as they are when what moves has arrived: on the way a partition has more.

    `targets` are those that partitions on the move are to have.
    """
    return {
        name: [targets.get((name, number)) or has for number, has in enumerate(partitions)]
        for name, partitions in replicas.items()
    }


def topics(replicas: Mapping[str, Sequence[Sequence[int]]], set_here: Mapping[str, Mapping[str, str]]) -> list[Entry]:
    """Return entries of kafka_topics; topics whose partitions differ in replicas are said, and not managed.

    `replicas` of the partitions by topic, `set_here` what was set for each topic. Names that begin with _ are left out.
    """
    found = []
    for name in sorted(one for one in replicas if not one.startswith("_")):
        factors = {len(partition) for partition in replicas[name]}
        if len(factors) != 1:
            found.append({"name": name, "manage": False})
            continue
        entry: Entry = {"name": name, "partitions": len(replicas[name]), "replication_factor": factors.pop()}
        config = {key: number(value) for key, value in sorted(set_here.get(name, {}).items()) if key not in THROTTLES}
        found.append({**entry, **({"config": config} if config else {})})
    return found


def literal(text: str) -> str:
    """Return a text as an expression in a template; where characters could end it, as base64."""
    if re.fullmatch(r"[\w .,:;@=+*/-]*", text):
        return f"'{text}'"
    return f"'{base64.b64encode(text.encode()).decode()}' | b64decode"


def users(found: Mapping[str, Mapping[str, int]]) -> list[Entry]:
    """Return entries of kafka_users, one for each mechanism; passwords, which nobody can read, are named in the vault.

    `found`: {user: {mechanism: iterations}}.
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
    """Return entries of kafka_acls, operations on the same thing together, and the ACLs that cannot be declared."""
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
    """Return entries of kafka_quotas."""
    entries = []
    for who, values in sorted(found.items(), key=lambda item: str(item[0])):
        names = {kind: name or DEFAULT for kind, name in who._asdict().items() if name is not None}
        entries.append({**names, **{key: number(value) for key, value in sorted(values.items())}})
    return entries


def broker_config(found: broker_settings.Found) -> tuple[Entry, list[str]]:
    """Return kafka_dynamic_config, and as lines what was set for single brokers, secrets and throttles."""
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
