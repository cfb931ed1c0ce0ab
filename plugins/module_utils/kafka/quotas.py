"""Client quotas: what is wanted and what is found become changes. Pure; who reads and writes is the facade."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import entry_checks as entries
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import (
    Change,
    Plan,
    Verb,
    human,
    in_scope,
    too_many,
)

Values = Mapping[str, float]
"""{producer_byte_rate: 1048576.0, ...}"""


class Entity(NamedTuple):
    """Whose quota it is; None where it is not said, '' for the default."""

    user: str | None
    client_id: str | None

    def __str__(self) -> str:
        """Return it as a person says it: `user orders, default client id`."""
        words = [
            f"{kind} {name}" if name else f"default {kind}"
            for kind, name in (("user", self.user), ("client id", self.client_id))
            if name is not None
        ]
        return ", ".join(words)


def entity(quota: Mapping[str, Any]) -> Entity:
    """Return whose quota an entry is."""
    return Entity(quota.get("user"), quota.get("client_id"))


def each(wanted: Sequence[Mapping[str, Any]], found: Iterable[Entity]) -> list[Mapping[str, Any]]:
    """Return the entries, those of `every_client` as one for each that the cluster has and no other entry names."""
    said = [quota for quota in wanted if not quota.get("every_client")]
    named = {entity(quota) for quota in said}
    for user in [quota["user"] for quota in wanted if quota.get("every_client")]:
        there = {Entity(user, None), *(who for who in found if who.user == user)} - named
        said += [{**who._asdict(), "state": "absent"} for who in sorted(there, key=str)]
    return said


def faults(wanted: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is wrong with entries: each is of somebody, once, and its values are numbers above 0."""
    wrong, seen = [], set[Entity]()
    for quota in wanted:
        who = entity(quota)
        if who == (None, None):
            wrong.append("quota of nobody; name a user or a client_id, '' is the default of all")
            continue
        if "<default>" in who:
            wrong.append("quota of <default>: brokers keep the default of all under that name; say '' instead")
        if who in seen:
            wrong.append(f"quota of {who}: said twice; keep one of the two")
        seen.add(who)
        for key, value in (quota.get("values") or {}).items():
            amount = number(value)
            if amount is None:
                why = f"{key} {json.dumps(value)} is no number"
                wrong.append(f"quota of {who}: {why}; write one, of bytes, percent or partitions, without a unit")
            elif amount <= 0:
                why = f"{key} {amount:g} lets nobody do anything"
                wrong.append(f"quota of {who}: {why}; say more than 0, or leave it out")
    return wrong


def number(value: Any) -> float | None:
    """Return a value as a number, None for what is none."""
    try:
        found = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def diff(
    wanted: Sequence[Mapping[str, Any]], found: Mapping[Entity, Values], prune: Mapping[str, Any] | None = None
) -> Plan:
    """Return what is to be done that quotas are as wanted: of an entity all, the values that are not wanted go."""
    refusals = faults([quota for quota in wanted if not quota.get("every_client")]) + entries.scope(prune, "quotas")
    if any(quota.get("every_client") and not quota.get("user") for quota in wanted):
        refusals.append("quota of every client of nobody; name the user whose quotas are to go")
    if refusals:
        return Plan(refusals=refusals)
    changes, unchanged = [], []
    wanted = each(wanted, found)
    for quota in wanted:
        who = entity(quota)
        values = {} if quota.get("state") == "absent" else {k: float(v) for k, v in (quota.get("values") or {}).items()}
        there = found.get(who, {})
        if values == there:
            unchanged.append(str(who))
            continue
        verb: Verb = "create" if not there else "update" if values else "delete"
        work = (who, {key: values.get(key) for key in {*values, *there} if values.get(key) != there.get(key)})
        changes.append(Change("quota", str(who), verb, lines(there), lines(values), work))
    others = sorted(found.keys() - {entity(quota) for quota in wanted}, key=str)
    scope = (prune or {}).get("quotas") or []
    pruned = [who for who in others if who.user and in_scope(who.user, scope)]
    refusals = too_many("quotas", [str(who) for who in pruned], (prune or {}).get("max_deletes") or 0)
    for who in pruned:
        changes.append(Change("quota", str(who), "delete", lines(found[who]), (), (who, dict.fromkeys(found[who]))))
    return Plan(changes, unchanged, [str(who) for who in others if who not in pruned], refusals)


def lines(values: Values) -> tuple[str, ...]:
    """Return quotas as they are shown, bytes per second beside their MiB."""
    return tuple(human(key, value) for key, value in sorted(values.items()))
