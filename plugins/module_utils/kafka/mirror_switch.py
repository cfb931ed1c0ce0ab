"""Moves consumer groups to the cluster to which MirrorMaker copies their topics.

While the source answers, a group continues exactly: its first unread record is found at the source, and the same record
at the target by its timestamp. Records in between have the same timestamp or are out of order; they are read again.
MirrorMaker's own translation is only used if the source is lost: it is early by some seconds, and by much more for a
group that lags.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import mirrors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import IDLE, Group, Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused

Flow = Mapping[str, Any]
END, TIME, TRANSLATED = "end", "time", "translated"


@dataclass(frozen=True)
class Position:
    """Where a group continues at the target in one partition, and why there.

    `how` is `end` if the group has read everything, `time` if the position was found by the timestamp of the first
    unread record, and `translated` if it is the offset that MirrorMaker translated, or the first offset without one.
    `again` is the number of records that are read again at most, None if it is not known. `now` is the group's present
    offset at the target, None without one.
    """

    group: str
    topic: str
    partition: int
    offset: int
    how: str
    again: int | None
    now: int | None = None


def copy_of(flow: Flow, topic: str) -> str:
    """Return the name that the copy of a topic has at the target."""
    return topic if flow["policy"] == "identity" else f"{flow['source']}.{topic}"


def selected_groups(flow: Flow, names: list[str]) -> list[str]:
    """Return those of the groups `names` whose offsets the flow translates."""
    wanted, unwanted = [[re.compile(text) for text in flow[key]] for key in ("groups", "groups_exclude")]
    return [
        name
        for name in names
        if any(one.fullmatch(name) for one in wanted) and not any(one.fullmatch(name) for one in unwanted)
    ]


def idle(found: Mapping[str, Group], where: str) -> list[str]:
    """Return an error text for each group that has members; their offsets would move meanwhile."""
    return [
        f"group {name} has {len(group.members)} members at {where}: stop its consumers there"
        for name, group in found.items()
        if group.state not in IDLE
    ]


def planned(target: Admin, here: Metadata, flow: Flow, connect: Callable[..., Admin], settle: float) -> list[Position]:
    """Return the positions of all groups of a flow whose source answers.

    Raises Refused with all reasons if producers write to the source, records are not copied yet, or a group has members
    at one of the clusters. `settle` is for how many seconds the ends of the source have to stay the same.
    """
    source = connect(flow["client"])
    try:
        known = source.metadata()
        names = mirrors.selected(known, flow["topics"], flow["topics_exclude"])
        places = [(name, number) for name in names for number in range(len(known.topics[name]))]
        before = groups.ends(source, places).latest
        threading.Event().wait(settle)
        after = groups.ends(source, places).latest
        moving = sorted({place[0] for place in places if before[place] != after[place]})
        problems = [f"producers write to {name} at {flow['source']}: stop them" for name in moving]
        copied = mirrors.progress(target, here, flow, connect)
        problems += [copied.problem] if copied.problem else []
        problems += [
            f"{one.behind} records of {one.topic} are not copied yet: wait, and run this again"
            for one in copied.topics
            if one.behind and one.topic not in moving
        ]
        there = groups.groups(source, selected_groups(flow, groups.names(source)))
        found = groups.groups(target, list(there))
        problems += [*idle(there, flow["source"]), *idle(found, flow["target"])]
        if problems:
            raise Refused("; ".join(problems))
        return _exact(source, target, flow, there, found)
    finally:
        source.close()


def _exact(
    source: Admin, target: Admin, flow: Flow, there: Mapping[str, Group], found: Mapping[str, Group]
) -> list[Position]:
    """Return the position of each group in each partition, by the first record that it has not read at the source."""
    positions = []
    for name, group in there.items():
        names = {place: (copy_of(flow, place[0]), place[1]) for place in group.offsets if _carries(flow, place[0])}
        ends = groups.ends(source, names, committed=True)
        begin = {place: max(group.offsets[place], ends.earliest[place]) for place in names}
        unread = mirrors.first_records(source, begin, ends.latest)
        copies = groups.ends(target, names.values(), committed=True)
        compacted = _compacted(target, {topic for topic, _ in names.values()})
        at = groups.offsets_at(target, {names[place]: timestamp for place, (_, timestamp) in unread.items()})
        for place, copy in names.items():
            offset, how, again = copies.latest[copy], END, 0
            if place in unread:
                offset, how = at[copy], TIME
                if offset < 0:
                    raise Refused(f"{place[0]}-{place[1]}: its first record that {name} has not read is not copied yet")
                if copy[0] in compacted:
                    # The copy of the first unread record may be gone, and a later one may have an earlier time.
                    offset, how = min(offset, _now(found, name, copy) or copies.earliest[copy]), TRANSLATED
                again = max(0, copies.latest[copy] - offset - (ends.latest[place] - unread[place][0]))
            positions.append(Position(name, *copy, offset, how, again, _now(found, name, copy)))
    return positions


def _compacted(target: Admin, names: set[str]) -> set[str]:
    """Return those of the topics whose records may be removed by compaction."""
    settings = topics.describe(target, "TOPIC", sorted(names))
    return {name for name, found in settings.items() if "compact" in str(found["cleanup.policy"].value)}


def _carries(flow: Flow, topic: str) -> bool:
    return any(re.fullmatch(text, topic) for text in flow["topics"]) and not any(
        re.fullmatch(text, topic) for text in flow["topics_exclude"]
    )


def _now(found: Mapping[str, Group], name: str, place: Place) -> int | None:
    return found[name].offsets.get(place) if name in found else None


def lost(target: Admin, here: Metadata, flow: Flow, since: int | None) -> list[Position]:
    """Return the positions of all groups of a flow whose source is lost, from MirrorMaker's translation.

    `since` is a time (ms since 1970) before which every group had read everything; positions before it move there.
    Raises Refused with all reasons if a group has members, or if no group has a translated offset.
    """
    names = [copy_of(flow, ""), ""][flow["policy"] == "identity"]
    found = groups.groups(target, selected_groups(flow, groups.names(target)))
    problems = idle(found, flow["target"])
    positions = []
    for name, group in found.items():
        own = {place: offset for place, offset in group.offsets.items()
               if place[0].startswith(names) and _carries(flow, place[0].removeprefix(names))}  # fmt: skip
        ends = groups.ends(target, own)
        at = groups.offsets_at(target, dict.fromkeys(own, since)) if since is not None else {}
        for place, offset in own.items():
            later = ends.latest[place] if at.get(place, 0) < 0 else at.get(place, 0)
            how = TIME if later > offset else TRANSLATED
            positions.append(Position(name, *place, max(offset, later), how, None, offset))
    if not positions:
        problems.append(f"no group has an offset that was translated from {flow['source']}")
    if problems:
        raise Refused("; ".join(problems))
    return positions


def apply(target: Admin, positions: list[Position]) -> dict[str, str]:
    """Set the offsets of groups at the target that differ; return {group whose offsets were not set: reason}."""
    wanted: dict[str, dict[Place, int]] = {}
    for one in changes(positions):
        wanted.setdefault(one.group, {})[one.topic, one.partition] = one.offset
    return groups.commit(target, wanted) if wanted else {}


def changes(positions: list[Position]) -> list[Position]:
    """Return the positions that differ from the present offset of their group."""
    return [one for one in positions if one.offset != one.now]


def as_dicts(positions: list[Position]) -> list[dict[str, Any]]:
    """Return the positions as the result of a module, sorted."""
    return [asdict(one) for one in sorted(positions, key=lambda one: (one.group, one.topic, one.partition))]
