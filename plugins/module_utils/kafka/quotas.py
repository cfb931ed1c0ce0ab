"""Client quotas: what is wanted and what is found become changes. Pure; who reads and writes is the facade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan, Verb, human

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


def diff(wanted: Sequence[Mapping[str, Any]], found: Mapping[Entity, Values]) -> Plan:
    """Return what is to be done that quotas are as wanted: of an entity all, the values that are not wanted go."""
    changes, unchanged, refusals = [], [], []
    wanted = each(wanted, found)
    for quota in wanted:
        who = entity(quota)
        if who == (None, None):
            refusals.append("quota of nobody; name a user or a client_id, '' is the default of all")
            continue
        values = {} if quota.get("state") == "absent" else {k: float(v) for k, v in (quota.get("values") or {}).items()}
        refusals += [
            f"quota of {who}: {key} {value:g} lets nobody do anything; say more than 0, or leave it out"
            for key, value in values.items()
            if value <= 0
        ]
        there = found.get(who, {})
        if values == there:
            unchanged.append(str(who))
            continue
        verb: Verb = "create" if not there else "update" if values else "delete"
        work = (who, {key: values.get(key) for key in {*values, *there} if values.get(key) != there.get(key)})
        changes.append(Change("quota", str(who), verb, lines(there), lines(values), work))
    declared = {entity(quota) for quota in wanted}
    return Plan(changes, unchanged, sorted(str(who) for who in found.keys() - declared), refusals)


def lines(values: Values) -> tuple[str, ...]:
    """Return quotas as they are shown, bytes per second beside their MiB."""
    return tuple(human(key, value) for key, value in sorted(values.items()))
