"""Consumer groups: computes their lag, and the changes that reset their offsets. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan

Place = tuple[str, int]
"""Topic and partition."""
IDLE = ("EMPTY", "DEAD")
"""States without members; DEAD is a group that does not exist."""
LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999."""
TARGETS = ("to", "timestamp", "shift", "offsets")


@dataclass(frozen=True)
class Group:
    """A consumer group of the cluster, with its state, its members and its committed offsets."""

    name: str
    state: str
    members: Sequence[Mapping[str, Any]] = ()
    """Each with client_id, host, and `assigned`: the partitions that the member reads."""
    offsets: Mapping[Place, int] = field(default_factory=dict)
    """The committed offsets."""


@dataclass(frozen=True)
class Ends:
    """The first offset of each partition, and the offset that its next record gets.

    `at` is the offset of the first record at or after a time, if a time was given.
    """

    earliest: Mapping[Place, int]
    latest: Mapping[Place, int]
    at: Mapping[Place, int] = field(default_factory=dict)
    """-1 if there is no record at or after that time."""


def milliseconds(text: Any) -> int:
    """Convert a time to milliseconds since 1970; `text` is that number, or a text as 2026-01-31T08:00:00Z.

    Raises ValueError for a text of another form or without a time zone, and for a time before 1970 or after 9999.
    """
    if str(text).isdecimal():
        number = int(text)
    else:
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        if time.tzinfo is None:
            raise ValueError("no time zone; add one, for example 2026-01-31T08:00:00Z")
        number = int(time.timestamp() * 1000)
    if not 0 <= number <= LATEST:  # negative numbers have other meanings in Kafka
        raise ValueError("not between 1970-01-01 and 9999-12-31")
    return number


def targets(group: Mapping[str, Any]) -> list[str]:
    """Return which of the keys `to`, `timestamp`, `shift` and `offsets` an entry of the module kafka_groups sets."""
    return [key for key in TARGETS if group.get(key) is not None]


def places(wanted: Mapping[str, Any], found: Group, partitions: Mapping[str, int]) -> list[Place]:
    """Return the partitions to reset: those in `offsets`, else those of `topics`, else all with a committed offset.

    `offsets` and `topics` are keys of `wanted`, an entry for the module kafka_groups. `found` is the group on the
    cluster, and `partitions` is {topic: number of partitions}.
    """
    if wanted.get("offsets"):
        return sorted((topic, int(one)) for topic, given in wanted["offsets"].items() for one in given)
    if wanted.get("topics"):
        return [(topic, one) for topic in sorted(wanted["topics"]) for one in range(partitions.get(topic, 0))]
    return sorted(found.offsets)


def target(wanted: Mapping[str, Any], place: Place, found: Group, ends: Ends) -> int:
    """Return the new offset of a group in the partition `place`, limited to the offsets that the partition has.

    `wanted` is an entry for the module kafka_groups with one of the keys offsets, timestamp, shift and to. If no record
    is at or after the timestamp, the new offset is the end of the partition.
    """
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
    """Return the mistakes in the option `offsets` of an entry, which has to be {topic: {partition: offset}}."""
    given = wanted.get("offsets")
    if given is None:
        return []
    mistakes = [] if given else ["is empty; write offsets: {orders: {0: 42}}, or remove it"]
    for topic, places in given.items():
        if not isinstance(places, Mapping) or not places:
            mistakes.append(f"topic {topic}: {places!r} has no offset of a partition; write {topic}: {{0: 42}}")
            continue
        for number, offset in places.items():
            if not (str(number).isdecimal() and str(offset).isdecimal()):
                mistakes.append(f"topic {topic}: {number}: {offset} are not two numbers; write numbers from 0 on")
    return mistakes


def refusals(wanted: Mapping[str, Any], found: Group, partitions: Mapping[str, int]) -> list[str]:
    """Return why the offsets of a group cannot be reset, as messages; [] if they can.

    `wanted` is the entry for the module kafka_groups, and `partitions` is {topic: number of partitions}.
    """
    name, reasons = f"group {found.name}", [f"group {found.name}: offsets: {why}" for why in faults(wanted)]
    if reasons:
        return reasons
    if len(targets(wanted)) > 1:
        reasons.append(f"{name}: has {' and '.join(targets(wanted))}; keep one of them")
    if found.state not in IDLE:
        members = sorted({f"{member['client_id']} on {member['host']}" for member in found.members})
        who = ", ".join(members) or "its members"
        reasons.append(f"{name}: is {found.state}, and {who} would commit other offsets; stop the consumers first")
    if not found.offsets and not wanted.get("topics") and not wanted.get("offsets"):
        why = "does not exist; correct the name, or" if found.state == "DEAD" else "has no committed offsets;"
        reasons.append(f"{name}: {why} name the topics to start with")
    named = {*(wanted.get("topics") or []), *(wanted.get("offsets") or {})}
    reasons += [f"{name}: there is no topic {topic}" for topic in sorted(named - partitions.keys())]
    for topic, given in (wanted.get("offsets") or {}).items():
        beyond = sorted(int(number) for number in given if int(number) >= partitions.get(topic, 10**9))
        reasons += [f"{name}: topic {topic} has no partition {number}" for number in beyond]
    return reasons


def effect(number: int) -> str:
    """Return what a reset of an offset does; `number` is the new offset minus the old one.

    A positive number gives `N records are skipped`, a negative number gives `N records are read again`.
    """
    return f"{abs(number)} records {'are skipped' if number > 0 else 'are read again'}"


def change(wanted: Mapping[str, Any], found: Group, moved: Iterable[Place], ends: Ends) -> Change | None:
    """Return the change that sets the new offsets of one group in the partitions `moved`; None if nothing changes."""
    before, after, work = [], [], {}
    for place in moved:
        now, then = found.offsets.get(place), target(wanted, place, found, ends)
        if now == then:
            continue
        at = f"{place[0]}-{place[1]}"
        before.append(f"{at}: {'nothing committed' if now is None else now}")
        after.append(f"{at}: {then}" + (f" ({effect(then - now)})" if now is not None else ""))
        work[place] = then
    return Change("group", found.name, "update", tuple(before), tuple(after), work) if work else None


def diff(
    wanted: Sequence[Mapping[str, Any]],
    found: Mapping[str, Group],
    partitions: Mapping[str, int],
    ends: Mapping[str, Ends],
) -> Plan:
    """Return the plan that resets the offsets of groups; with a refusal, nothing is written.

    `wanted` are entries for the module kafka_groups. `partitions` is {topic: number of partitions}, and `ends` is
    {group: ends of its partitions}.
    """
    changes, unchanged, refused = [], [], []
    for group in wanted:
        name = group["name"]
        reasons = refusals(group, found[name], partitions)
        refused += reasons
        if not reasons:
            moved = [place for place in places(group, found[name], partitions) if place in ends[name].earliest]
            new = change(group, found[name], moved, ends[name])
            changes += [new] if new else []
            unchanged += [] if new else [name]
    return Plan(changes, unchanged, (), refused)


def shown(member: Mapping[str, Any]) -> dict[str, Any]:
    """Return a member of a group as the modules return it."""
    return {"client_id": member["client_id"], "host": member["host"]}


def described(found: Group, ends: Ends) -> dict[str, Any]:
    """Return a group as the modules return it, as a dict of name, state, members, partitions and lag.

    The lag is the number of records that the group has not read, for each partition and in total. It is None for a
    partition whose end is not known.
    """
    rows = [
        {
            "topic": topic,
            "partition": number,
            "offset": offset,
            "end": ends.latest.get((topic, number)),
            "lag": max(ends.latest[topic, number] - offset, 0) if (topic, number) in ends.latest else None,
        }
        for (topic, number), offset in sorted(found.offsets.items())
    ]
    members = [shown(member) for member in found.members]
    lag = sum(int(row["lag"] or 0) for row in rows)
    return {"name": found.name, "state": found.state, "members": members, "partitions": rows, "lag": lag}
