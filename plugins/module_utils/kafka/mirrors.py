"""The progress of a flow of MirrorMaker 2: how far the copies of each topic are behind their source.

MirrorMaker's own metrics keep their last value when nothing is copied. So the progress is read from both clusters: the
ends of the source's partitions, and the offsets up to which MirrorMaker has copied them, which it stores in a topic of
the target.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, records
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

CONNECTOR = "MirrorSourceConnector"
HEARTBEATS = "heartbeats"
COPIED = "mm2-offsets.{source}.internal"
LOST = "MirrorMaker waits for the offsets of the old one; copy the records under a new name"
CONFIGS = "mm2-configs.{source}.internal"


@dataclass(frozen=True)
class TopicProgress:
    """How far the copy of a topic is behind: records that are not copied yet, and the age of the first of them."""

    topic: str
    partitions: int
    behind: int
    seconds: float
    copied_to: int
    """Number of partitions of which at least one record has been copied."""


@dataclass(frozen=True)
class Progress:
    """The progress of a flow. `heartbeat` is the age in seconds of the last sign of life of its workers, or None."""

    source: str
    topics: Sequence[TopicProgress]
    heartbeat: float | None
    problem: str = ""
    """Why the progress could not be read; '' if it was read."""
    returns: bool = False
    """Whether the source copies from the target, too."""

    def as_dict(self) -> dict[str, Any]:
        """Return the progress as a result of a module, with totals."""
        behind = sum(topic.behind for topic in self.topics)
        seconds = max((topic.seconds for topic in self.topics), default=0.0)
        return {**asdict(self), "topics": [asdict(one) for one in self.topics], "behind": behind, "seconds": seconds}


def copied(target: Admin, source: str, metadata: Metadata) -> dict[Place, int]:
    """Return {partition of the source: offset of the last record of it that was copied}, as MirrorMaker stored it.

    Raises AdminError if the topic with the offsets cannot be read.
    """
    name = COPIED.format(source=source)
    places = [(name, number) for number in range(len(metadata.topics.get(name, ())))]
    limits = groups.ends(target, places)
    found: dict[Place, tuple[int, int]] = {}
    for record in records.read(target, limits.earliest, limits.latest, lambda _: True, 10**9):
        key = json.loads(record["key"] or "[]")
        if len(key) != 2 or key[0] != CONNECTOR or key[1].get("cluster") != source:
            continue
        place = (str(key[1]["topic"]), int(key[1]["partition"]))
        value = json.loads(record["value"]) if record["value"] else None
        found[place] = (record["timestamp"], int(value["offset"]) if value else -1)
    return {place: offset for place, (_, offset) in found.items() if offset >= 0}


def selected(metadata: Metadata, topics: Iterable[str], left_out: Iterable[str]) -> list[str]:
    """Return the names of the source's topics that a flow carries; both arguments are regular expressions."""
    wanted, unwanted = [re.compile(text) for text in topics], [re.compile(text) for text in left_out]
    return [
        name
        for name in sorted(metadata.topics)
        if any(one.fullmatch(name) for one in wanted) and not any(one.fullmatch(name) for one in unwanted)
    ]


def progress(target: Admin, here: Metadata, flow: Mapping[str, Any], connect: Callable[..., Admin]) -> Progress:
    """Return the progress of a flow; if its source does not answer, with the reason in `problem`.

    `here` is the metadata of the target. `flow` has `source` and `target` (aliases), `client` (librdkafka's properties
    of the source), `topics` and `topics_exclude`. `connect` creates a client of the source. Raises AdminError if the
    target fails.
    """
    source = str(flow["source"])
    done, beat = copied(target, source, here), heartbeat(target, here, source)
    try:
        there = connect(flow["client"])
        try:
            known = there.metadata()
            returns = CONFIGS.format(source=flow["target"]) in known.topics
            names = selected(known, flow["topics"], flow["topics_exclude"])
            places = [(name, number) for name in names for number in range(len(known.topics[name]))]
            limits = groups.ends(there, places, committed=True)
            anew = sorted({place[0] for place in places if done.get(place, -1) >= limits.latest[place]})
            begin = {place: max(done.get(place, -1) + 1, limits.earliest[place]) for place in places}
            first = first_records(there, begin, limits.latest)
        finally:
            there.close()
    except AdminError as error:
        return Progress(source, [], beat, f"the source does not answer this host: {error}")
    found = [_of_topic(name, places, done, limits.latest, first) for name in names]
    problem = f"{', '.join(anew)} was deleted and created again at the source: {LOST}" if anew else ""
    return Progress(source, found, beat, problem, returns)


def first_records(there: Admin, begin: Mapping[Place, int], end: Mapping[Place, int]) -> dict[Place, tuple[int, int]]:
    """Return {partition: (offset, timestamp) of the first record from `begin` on}, of partitions that have one.

    Offsets before `end` may be markers of transactions, which are no records.
    """
    left = {place: offset for place, offset in begin.items() if offset < end[place]}
    found: dict[Place, tuple[int, int]] = {}

    def first(message: Any) -> bool:
        place = (message.topic(), message.partition())
        found.setdefault(place, (message.offset(), message.timestamp()[1]))
        return bool(found[place][0] == message.offset())

    records.read(there, left, end, first, len(left))
    return found


def _of_topic(
    name: str, places: Sequence[Place], done: Mapping[Place, int], end: Mapping[Place, int], first: Mapping[Place, Any]
) -> TopicProgress:
    own = [place for place in places if place[0] == name]
    waiting = [(place, first[place]) for place in own if place in first]
    behind = sum(end[place] - offset for place, (offset, _) in waiting)
    oldest = min((timestamp for _, (_, timestamp) in waiting), default=None)
    seconds = 0.0 if oldest is None else max(0.0, time.time() - oldest / 1000)
    return TopicProgress(name, len(own), behind, round(seconds, 1), sum(place in done for place in own))


def heartbeat(target: Admin, here: Metadata, source: str) -> float | None:
    """Return the age in seconds of the last heartbeat that the workers wrote for the flow; None without one."""
    places = [(HEARTBEATS, number) for number in range(len(here.topics.get(HEARTBEATS, ())))]
    limits = groups.ends(target, places)
    begin = {place: max(limits.earliest[place], limits.latest[place] - 50) for place in places}
    # The key is a struct whose first field is the alias of the source.
    beats = records.read(target, begin, limits.latest, lambda message: source.encode() in (message.key() or b""), 10**9)
    newest = max((record["timestamp"] for record in beats), default=None)
    return None if newest is None else round(max(0.0, time.time() - newest / 1000), 1)
