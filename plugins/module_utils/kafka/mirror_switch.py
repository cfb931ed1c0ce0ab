"""Moves consumer groups to the cluster to which MirrorMaker copies their topics.

While the source answers, a group's first unread record is found at the source, and its copy at the target by the
timestamp. Records before it with the same or a later timestamp are read again. MirrorMaker's own translation is used if
the source is lost, and where timestamps do not show the position. It is early by some seconds, and by much more for a
group that lags.

A group that returns has also read copies of this cluster's own topics at the source. Its offsets in those topics are
set forward to what it has read there, which MirrorMaker does not do. An offset at the source alone does not prove that
it has read them, for MirrorMaker writes offsets, too: so the operator names these groups.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import mirrors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import IDLE, Ends, Group, Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.mirrors import copy_of, selected
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused

Flow = Mapping[str, Any]
END, TIME, TRANSLATED, START = "end", "time", "translated", "start"
RECENT = 200
"""Offsets in which the last record that a group has read is looked for; the others are markers of transactions."""
SEARCHED = 5000
"""Number of offsets, from the first record that is not earlier than a time, in which one of that time is searched."""


@dataclass(frozen=True)
class Position:
    """Where a group continues at the target in one partition, and why there.

    `how` is `end` if the group has read everything, `start` if it has read nothing of the partition or the record is
    gone at the target, `time` if the position was found by the timestamp of the first unread record, and `translated`
    if it is the offset that MirrorMaker translated, or the first offset without one. `again` is the number of records
    that are read again at most, None if it is not known. `now` is the group's present offset at the target, None
    without one.
    """

    group: str
    topic: str
    partition: int
    offset: int
    how: str
    again: int | None
    now: int | None = None
    skipped: int = 0
    """Number of records that the group skips, because it had read them according to the operator."""


def idle(found: Mapping[str, Group], where: str, reads: Callable[[str], bool]) -> list[str]:
    """Return an error text for each group that has members and reads a topic of the flow; its offsets would move.

    `reads` tells whether a topic is one of the flow's, at the cluster `where`.
    """
    return [
        f"group {name} has {len(group.members)} members at {where}: stop its consumers there"
        for name, group in found.items()
        if group.state not in IDLE and any(reads(topic) for topic, _ in _places(group))
    ]


def _places(group: Group) -> set[Place]:
    """Return the partitions that a group has offsets of, or that its members read."""
    return {*group.offsets, *(place for member in group.members for place in member.get("assigned", ()))}


def planned(
    target: Admin,
    here: Metadata,
    flow: Flow,
    connect: Callable[..., Admin],
    settle: float,
    returned: Sequence[str] = (),
) -> list[Position]:
    """Return the positions of all groups of a flow whose source answers.

    `returned` are groups that have read copies of the target's own topics at the source. Raises Refused with all
    reasons if producers write to the source, records are not copied yet, or a group has members at one of the clusters.
    `settle` is for how many seconds the ends of the source have to stay the same.
    """
    source = connect(flow["client"])
    try:
        known = source.metadata()
        names = selected(known.topics, flow["topics"], flow["topics_exclude"])
        places = [(name, number) for name in names for number in range(len(known.topics[name]))]
        before = groups.ends(source, places).latest
        threading.Event().wait(settle)
        after = groups.ends(source, places).latest
        moving = sorted({place[0] for place in places if before[place] != after[place]})
        problems = _written(source, flow, after, moving)
        copied = mirrors.progress(target, here, flow, connect)
        problems += [*copied.problems]
        problems += [
            f"{one.behind} records of {one.topic} are not copied yet: wait, and run this again"
            for one in copied.topics
            if one.behind and one.topic not in moving
        ]
        there = groups.groups(source, selected(groups.names(source), flow["groups"], flow["groups_exclude"]))
        own = _own_copies(flow, here, {name: one for name, one in there.items() if name in returned})
        problems += _cannot_return(flow, known, there, own, returned)
        there = {
            name: one
            for name, one in there.items()
            if any(_carries(flow, topic) or (topic in own and name in returned) for topic, _ in _places(one))
        }
        found = groups.groups(target, list(there))
        problems += idle(there, flow["source"], lambda topic: _carries(flow, topic) or topic in own)
        problems += idle(found, flow["target"], lambda topic: _is_copy(flow, topic) or topic in own.values())
        if not problems and not there:
            problems.append(f"no group that the flow translates has read a topic of it at {flow['source']}")
        positions = [] if problems else _exact(source, target, flow, there, found)
        back = {name: one for name, one in there.items() if name in returned}
        positions += [] if problems else _returned(source, target, own, back, found)
        # A record that arrives meanwhile could be copied before a position is taken, and would be skipped.
        later = groups.ends(source, places).latest
        moving = sorted({place[0] for place in places if after[place] != later[place]} - {*moving})
        problems += [f"producers write to {name} at {flow['source']}: stop them" for name in moving]
        if problems:
            raise Refused("; ".join(problems))
        return positions
    finally:
        source.close()


def _written(source: Admin, flow: Flow, ends: Mapping[Place, int], moving: Sequence[str]) -> list[str]:
    """Return an error text for each topic at the source that producers write to (`moving`), or in a transaction."""
    committed = groups.ends(source, ends, committed=True).latest
    waiting = sorted({place[0] for place, end in ends.items() if committed[place] < end} - {*moving})
    return [
        *(f"producers write to {name} at {flow['source']}: stop them" for name in moving),
        *(f"a transaction is open in {name} at {flow['source']}: let its producer end it" for name in waiting),
    ]


def _exact(
    source: Admin, target: Admin, flow: Flow, there: Mapping[str, Group], found: Mapping[str, Group]
) -> list[Position]:
    """Return the position of each group in each partition, by the first record that it has not read at the source."""
    partitions, here = source.metadata().topics, target.metadata().topics
    positions = []
    for name, group in there.items():
        read = sorted({topic for topic, _ in group.offsets if _carries(flow, topic)})
        places = [(topic, number) for topic in read for number in range(len(partitions.get(topic, ())))]
        names = {place: (copy_of(flow, place[0]), place[1]) for place in places}
        names = {place: copy for place, copy in names.items() if copy[1] < len(here.get(copy[0], ()))}
        ends = groups.ends(source, names, committed=True)
        begin = {place: max(group.offsets.get(place, 0), ends.earliest[place]) for place in names}
        unread = mirrors.first_records(source, begin, ends.latest)
        copies = groups.ends(target, names.values(), committed=True)
        # MirrorMaker's own offset where times do not show the position: producers may already write to the copy, or
        # records that the group has not read are deleted at the source, and still there at the target.
        early = {place for place, offset in group.offsets.items() if place in names and offset < ends.earliest[place]}
        early |= {place for place in names if flow["policy"] == "identity"}
        unordered = _unordered(target, {topic for topic, _ in names.values()})
        early |= {place for place, copy in names.items() if copy[0] in unordered and place in unread}
        times = {place: time for place, (_, time) in unread.items() if time >= 0}
        first = groups.offsets_at(source, times)
        at = _at(target, {names[place]: time for place, time in times.items()}, copies)
        for place, copy in names.items():
            now, offset, how = _now(found, name, copy), copies.latest[copy], END
            if place not in group.offsets:
                offset, how = copies.earliest[copy], START
            elif place in early:
                latest = at.get(copy, copies.latest[copy])
                offset, how = copies.earliest[copy] if now is None else min(now, latest), TRANSLATED
            elif place in unread:
                offset, how = (at[copy], TIME) if copy in at else (copies.earliest[copy], START)
            if how == TIME:  # counted at the source: the markers of transactions take offsets of the copy
                again = max(0, unread[place][0] - max(first.get(place, 0), ends.earliest[place]))
            else:
                left = ends.latest[place] - unread[place][0] if place in unread else 0
                again = 0 if how == END else max(0, copies.latest[copy] - offset - left)
            positions.append(Position(name, *copy, offset, how, again, now))
    return positions


def _at(admin: Admin, times: Mapping[Place, int], ends: Ends) -> dict[Place, int]:
    """Return the offset of the first record at or after a time of each partition that has a record of that time.

    A broker may name the offset of an earlier marker of a transaction, for these have times of their own. Without a
    record of exactly that time, the one that is looked for was deleted, and later ones may have earlier times.
    """
    named = {place: offset for place, offset in groups.offsets_at(admin, times).items() if offset >= 0}
    found = mirrors.first_records(admin, named, ends.latest, lambda place, time: time >= times[place])
    begin = {place: offset for place, (offset, _) in found.items()}
    until = {place: min(offset + SEARCHED, ends.latest[place]) for place, offset in begin.items()}
    same = mirrors.first_records(admin, begin, until, lambda place, time: time == times[place])
    return {place: offset for place, offset in begin.items() if place in same}


def _own_copies(flow: Flow, here: Metadata, there: Mapping[str, Group]) -> dict[str, str]:
    """Return {copy at the source, such as east.orders: topic of the target, such as orders} that groups have read."""
    prefix = f"{flow['target']}."
    read = {topic for group in there.values() for topic in _topics(group) if topic.startswith(prefix)}
    names = {topic: topic.removeprefix(prefix) for topic in read if flow["policy"] == "default"}
    return {copy: name for copy, name in names.items() if name in here.topics}


def _topics(group: Group) -> set[str]:
    return {topic for topic, _ in _places(group)}


def _cannot_return(
    flow: Flow, known: Metadata, there: Mapping[str, Group], own: Mapping[str, str], returned: Sequence[str]
) -> list[str]:
    """Return an error text for each group in `returned` that has read no copy of the target's topics at the source."""
    source, target = flow["source"], flow["target"]
    if returned and target not in mirrors.copied_from(known):
        return [f"returned: {source} has no flow from {target}, so no group has read copies there"]
    return [
        f"returned: group {name} has no offset of a copy of {target} at {source}, or the flow does not select it "
        "(groups), or the flow's user cannot see it"
        for name in returned
        if name not in there or not _topics(there[name]) & own.keys()
    ]


def _returned(
    source: Admin, target: Admin, own: Mapping[str, str], there: Mapping[str, Group], found: Mapping[str, Group]
) -> list[Position]:
    """Return the positions of groups in the target's own topics whose copies (`own`) they have read at the source.

    A position only moves forward, and only if the record at the present offset is one of the copies that are there, so
    that the group has read all between.
    """
    unordered = _unordered(source, {*own}) | _unordered(target, {*own.values()})
    here, positions = target.metadata().topics, []
    for name, group in there.items():
        names = {
            place: (own[place[0]], place[1])
            for place in group.offsets
            if place[0] in own and not unordered & {place[0], own[place[0]]} and place[1] < len(here[own[place[0]]])
        }
        names = {place: topic for place, topic in names.items() if _now(found, name, topic) is not None}
        copies, ends = groups.ends(source, names, committed=True), groups.ends(target, names.values(), committed=True)
        read = {place: min(group.offsets[place], copies.latest[place]) for place in names}
        names = {place: topic for place, topic in names.items() if read[place] > copies.earliest[place]}
        now = {topic: max(found[name].offsets[topic], ends.earliest[topic]) for topic in names.values()}
        next_here = mirrors.first_records(target, now, ends.latest)
        begin = {place: next_here[topic][1] for place, topic in names.items() if topic in next_here}
        joined = _at(source, begin, Ends(copies.earliest, read))

        unread = mirrors.first_records(source, {place: read[place] for place in joined}, copies.latest)
        recent = {place: max(read[place] - RECENT, copies.earliest[place]) for place in joined if place not in unread}
        last = mirrors.last_records(source, recent, read)
        times = {place: time for place, (_, time) in {**last, **unread}.items()}
        at = _at(target, {names[place]: time for place, time in times.items()}, ends)
        first = groups.offsets_at(source, times)
        for place, topic in names.items():
            offset, before = at.get(topic, -1), found[name].offsets[topic]
            if offset > before:
                again = max(0, read[place] - max(first.get(place, 0), copies.earliest[place]))
                positions.append(Position(name, *topic, offset, TIME, again, before, offset - before))
    return positions


def _unordered(target: Admin, names: set[str]) -> set[str]:
    """Return those of the topics in which the copy of a record cannot be found by its time.

    Compaction may have removed it while a later one has an earlier time, or brokers stamp copies by another clock.
    """
    settings = topics.describe(target, "TOPIC", sorted(names)) if names else {}
    return {
        name
        for name, found in settings.items()
        if "compact" in str(found["cleanup.policy"].value) or found["message.timestamp.type"].value != "CreateTime"
    }


def _carries(flow: Flow, topic: str) -> bool:
    return bool(selected([topic], flow["topics"], flow["topics_exclude"]))


def _is_copy(flow: Flow, topic: str) -> bool:
    """Tell whether a topic of the target is the copy of a topic of the flow."""
    prefix = copy_of(flow, "")
    return topic.startswith(prefix) and _carries(flow, topic.removeprefix(prefix))


def _now(found: Mapping[str, Group], name: str, place: Place) -> int | None:
    return found[name].offsets.get(place) if name in found else None


def lost(target: Admin, here: Metadata, flow: Flow, since: int | None) -> list[Position]:
    """Return the positions of all groups of a flow whose source is lost, from MirrorMaker's translation.

    `since` is a time (ms since 1970) before which every group had read everything; groups whose offsets are earlier
    continue there, and skip what is between. Raises Refused with all reasons if a group has members, if no group has a
    translated offset, or if `since` is in the future.
    """
    if since is not None and since > time.time() * 1000:
        raise Refused("since is in the future: groups would skip all records; set the time of the loss or before")
    found = groups.groups(target, selected(groups.names(target), flow["groups"], flow["groups_exclude"]))
    problems = idle(found, flow["target"], lambda topic: _is_copy(flow, topic))
    positions = []
    for name, group in found.items():
        own = {place: offset for place, offset in group.offsets.items() if _is_copy(flow, place[0])}
        others = [(topic, number) for topic in {topic for topic, _ in own} for number in range(len(here.topics[topic]))]
        ends = groups.ends(target, others)
        positions += [
            Position(name, *place, ends.earliest[place], START, None) for place in sorted({*others} - own.keys())
        ]
        # Brokers that stamp copies use another clock than the operator, who knows the time of the source.
        sure = own.keys() - {place for place in own if place[0] in _unordered(target, {topic for topic, _ in own})}
        at = groups.offsets_at(target, dict.fromkeys(sure, since)) if since is not None else {}
        for place, offset in own.items():
            later = ends.latest[place] if at.get(place, 0) < 0 else at.get(place, 0)
            how = TIME if later > offset else TRANSLATED
            skipped = max(0, later - offset)
            positions.append(Position(name, *place, max(offset, later), how, None, offset, skipped))
    if not positions and not problems:
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
