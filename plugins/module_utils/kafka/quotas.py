"""Compares the declared client quotas (kafka_quotas) with the cluster's, and returns changes. No I/O."""

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
"""The values of a quota, as {producer_byte_rate: 1048576.0, ...}."""


class Entity(NamedTuple):
    """The target of a quota: a user, a client id, or both. A part is None if unused, '' for the default of all."""

    user: str | None
    client_id: str | None

    def __str__(self) -> str:
        """Return the entity as messages name it: `user orders, default client id`."""
        parts = [
            f"{kind} {name}" if name else f"default {kind}"
            for kind, name in (("user", self.user), ("client id", self.client_id))
            if name is not None
        ]
        return ", ".join(parts)


def entity(quota: Mapping[str, Any]) -> Entity:
    """Return the entity of an entry of kafka_quotas."""
    return Entity(quota.get("user"), quota.get("client_id"))


def each(wanted: Sequence[Mapping[str, Any]], found: Iterable[Entity]) -> list[Mapping[str, Any]]:
    """Return the entries of kafka_quotas, with each entry that has `every_client` replaced by several entries.

    These delete (`state: absent`) the quotas of its user and of each client id of this user, except quotas that another
    entry declares. `found` are the entities that have quotas on the cluster.
    """
    entries_of = [quota for quota in wanted if not quota.get("every_client")]
    named = {entity(quota) for quota in entries_of}
    for user in [quota["user"] for quota in wanted if quota.get("every_client")]:
        existing = {Entity(user, None), *(who for who in found if who.user == user)} - named
        entries_of += [{**who._asdict(), "state": "absent"} for who in sorted(existing, key=str)]
    return entries_of


def faults(wanted: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return messages about mistakes in entries of kafka_quotas.

    Mistakes are an entry without an entity, an entity that is declared twice, and a value that is not above 0.
    """
    mistakes, seen = [], set[Entity]()
    for quota in wanted:
        who = entity(quota)
        if who == (None, None):
            mistakes.append("quota without an entity; set user or client_id, '' is the default of all")
            continue
        if "<default>" in who:
            mistakes.append("quota of <default>: that is the brokers' name of the default of all; write '' instead")
        if who in seen:
            mistakes.append(f"quota of {who}: declared twice; keep one of the two")
        seen.add(who)
        for key, value in (quota.get("values") or {}).items():
            amount = number(value)
            if amount is None:
                why = f"{key} {json.dumps(value)} is not a number"
                advice = "write a number of bytes, percent or partitions, without a unit"
                mistakes.append(f"quota of {who}: {why}; {advice}")
            elif amount <= 0:
                why = f"{key} {amount:g} would block all requests"
                mistakes.append(f"quota of {who}: {why}; set more than 0, or remove it")
    return mistakes


def number(value: Any) -> float | None:
    """Return a value as a float; None if it is not a finite number."""
    try:
        amount = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return amount if math.isfinite(amount) else None


def diff(
    wanted: Sequence[Mapping[str, Any]], found: Mapping[Entity, Values], prune: Mapping[str, Any] | None = None
) -> Plan:
    """Return the plan that makes the cluster's quotas (`found`) match the entries; with a refusal, nothing is written.

    The declared values of an entity replace all its values on the cluster. `prune` is kafka_prune.
    """
    refusals = faults([quota for quota in wanted if not quota.get("every_client")]) + entries.scope(prune, "quotas")
    if any(quota.get("every_client") and not quota.get("user") for quota in wanted):
        refusals.append("quota with every_client has no user; set the user whose quotas are to be deleted")
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
    """Return the values of a quota as sorted lines `key: value`; bytes per second also in KiB, MiB or GiB."""
    return tuple(human(key, value) for key, value in sorted(values.items()))
