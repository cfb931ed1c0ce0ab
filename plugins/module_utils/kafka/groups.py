"""Consumer groups: where they stand, and where they are to begin again. Pure; who reads and writes is the facade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan

Place = tuple[str, int]
"""Topic and partition."""
IDLE = ("EMPTY", "DEAD")
"""States in which nobody reads for a group; DEAD is one that is not there."""
LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999."""
TARGETS = ("to", "timestamp", "shift", "offsets")


@dataclass(frozen=True)
class Group:
    """A group as the cluster has it."""

    name: str
    state: str
    members: Sequence[Mapping[str, Any]] = ()
    offsets: Mapping[Place, int] = field(default_factory=dict)
    """What was committed."""


@dataclass(frozen=True)
class Ends:
    """The first and the next offset of each partition, and the first one at or after a time, where one was asked."""

    earliest: Mapping[Place, int]
    latest: Mapping[Place, int]
    at: Mapping[Place, int] = field(default_factory=dict)
    """-1 where no record is so late."""


def milliseconds(text: Any) -> int:
    """Return a time as Kafka counts it, of a number or of a text as 2026-01-31T08:00:00+01:00. Raises ValueError."""
    if str(text).isdecimal():
        found = int(text)
    else:
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        if time.tzinfo is None:
            raise ValueError("no time zone; write it with one, as 2026-01-31T08:00:00Z")
        found = int(time.timestamp() * 1000)
    if not 0 <= found <= LATEST:  # Kafka has other meanings for what is below 0
        raise ValueError("not from 1970-01-01 to 9999-12-31")
    return found


def asks(group: Mapping[str, Any]) -> list[str]:
    """Return how a group is to begin again, of TARGETS."""
    return [key for key in TARGETS if group.get(key) is not None]


def places(wanted: Mapping[str, Any], found: Group, partitions: Mapping[str, int]) -> list[Place]:
    """Return the partitions that are meant: of the topics that are named, else what the group has read.

    `partitions`: how many each topic has.
    """
    if wanted.get("offsets"):
        return sorted((topic, int(one)) for topic, given in wanted["offsets"].items() for one in given)
    if wanted.get("topics"):
        return [(topic, one) for topic in sorted(wanted["topics"]) for one in range(partitions.get(topic, 0))]
    return sorted(found.offsets)


def target(wanted: Mapping[str, Any], place: Place, found: Group, ends: Ends) -> int:
    """Return where a group is to go on in a partition, inside of what the partition has."""
    first, last = ends.earliest[place], ends.latest[place]
    if wanted.get("offsets"):
        goal = {int(one): int(offset) for one, offset in wanted["offsets"][place[0]].items()}[place[1]]
    elif wanted.get("timestamp") is not None:
        goal = ends.at.get(place, -1)
        goal = last if goal < 0 else goal
    elif wanted.get("shift") is not None:
        goal = found.offsets.get(place, last) + wanted["shift"]
    else:
        goal = {"earliest": first, "latest": last}[wanted["to"]]
    return int(min(max(goal, first), last))


def faults(wanted: Mapping[str, Any]) -> list[str]:
    """Return why the offsets that are named are none."""
    given = wanted.get("offsets")
    if given is None:
        return []
    wrong = [] if given else ["none is named; write offsets: {orders: {0: 42}}, or take it out"]
    for topic, places in given.items():
        if not isinstance(places, Mapping) or not places:
            wrong.append(f"of topic {topic}, {places!r} is no offset of a partition; write {topic}: {{0: 42}}")
            continue
        for one, offset in places.items():
            if not (str(one).isdecimal() and str(offset).isdecimal()):
                wrong.append(f"of topic {topic}, {one}: {offset}; both have to be numbers from 0 on")
    return wrong


def refusals(wanted: Mapping[str, Any], found: Group, partitions: Mapping[str, int]) -> list[str]:
    """Return why a group cannot begin anywhere else."""
    name, wrong = f"group {found.name}", [f"group {found.name}: offsets: {why}" for why in faults(wanted)]
    if wrong:
        return wrong
    if len(asks(wanted)) > 1:
        wrong.append(f"{name}: says {' and '.join(asks(wanted))}; keep one of them")
    if found.state not in IDLE:
        who = ", ".join(sorted({f"{one['client_id']} on {one['host']}" for one in found.members})) or "somebody"
        wrong.append(f"{name}: is {found.state}, and {who} would commit over it; stop the consumers first")
    if not found.offsets and not wanted.get("topics") and not wanted.get("offsets"):
        why = "there is no such group; correct the name, or" if found.state == "DEAD" else "has committed nothing;"
        wrong.append(f"{name}: {why} name the topics that it is to begin with")
    named = {*(wanted.get("topics") or []), *(wanted.get("offsets") or {})}
    wrong += [f"{name}: there is no topic {topic}" for topic in sorted(named - partitions.keys())]
    for topic, given in (wanted.get("offsets") or {}).items():
        beyond = sorted(int(one) for one in given if int(one) >= partitions.get(topic, 10**9))
        wrong += [f"{name}: topic {topic} has no partition {one}" for one in beyond]
    return wrong


def words(number: int) -> str:
    """Return what a move means."""
    return f"{abs(number)} records {'are skipped' if number > 0 else 'are read again'}"


def change(wanted: Mapping[str, Any], found: Group, moved: Iterable[Place], ends: Ends) -> Change | None:
    """Return the change of one group; None where it stands there already."""
    before, after, work = [], [], {}
    for place in moved:
        now, then = found.offsets.get(place), target(wanted, place, found, ends)
        if now == then:
            continue
        at = f"{place[0]}-{place[1]}"
        before.append(f"{at}: {'nothing committed' if now is None else now}")
        after.append(f"{at}: {then}" + (f" ({words(then - now)})" if now is not None else ""))
        work[place] = then
    return Change("group", found.name, "update", tuple(before), tuple(after), work) if work else None


def diff(
    wanted: Sequence[Mapping[str, Any]],
    found: Mapping[str, Group],
    partitions: Mapping[str, int],
    ends: Mapping[str, Ends],
) -> Plan:
    """Return what is to be done that groups go on where they are told to, and everything that is refused."""
    changes, unchanged, refused = [], [], []
    for group in wanted:
        name = group["name"]
        wrong = refusals(group, found[name], partitions)
        refused += wrong
        if not wrong:
            there = [one for one in places(group, found[name], partitions) if one in ends[name].earliest]
            one = change(group, found[name], there, ends[name])
            changes += [one] if one else []
            unchanged += [] if one else [name]
    return Plan(changes, unchanged, (), refused)


def described(found: Group, ends: Ends) -> dict[str, Any]:
    """Return a group as its module returns it; `lag` is how many records it has not read."""
    rows = [
        {
            "topic": topic,
            "partition": number,
            "offset": offset,
            "end": ends.latest.get((topic, number)),
            "lag": max(ends.latest.get((topic, number), offset) - offset, 0),
        }
        for (topic, number), offset in sorted(found.offsets.items())
    ]
    members = [dict(member) for member in found.members]
    lag = sum(int(row["lag"] or 0) for row in rows)
    return {"name": found.name, "state": found.state, "members": members, "partitions": rows, "lag": lag}
