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
from functools import lru_cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, records
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Place

FLOW: dict[str, Any] = {
    "source": {"type": "str", "required": True},
    "target": {"type": "str", "required": True},
    "client": {"type": "dict", "required": True},
    "topics": {"type": "list", "elements": "str", "required": True},
    "topics_exclude": {"type": "list", "elements": "str", "default": []},
    "policy": {"type": "str", "choices": ["default", "identity"], "default": "default"},
    "interval": {"type": "int", "default": 5},
}
"""The options of modules that describe a flow."""
CONNECTOR = "MirrorSourceConnector"
HEARTBEATS, BEATS = "heartbeats", 1000
COPIED = "mm2-offsets.{source}.internal"
LOST = "its first records are not copied, because MirrorMaker continues at the old offsets; give the topic a new name"
CONFIGS = re.compile(r"mm2-configs\.(.+)\.internal")
"""The topic in which the workers of a flow keep their configuration; the name has the alias of the flow's source."""


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
    silent: str = ""
    """Why the source did not answer; '' if it did."""
    problems: Sequence[str] = ()
    """Why records are not copied, and why the source did not answer."""
    copies_from: Sequence[str] = ()
    """Aliases of the clusters from which the source itself copies, sorted."""
    itself: bool = False
    """Whether the source is the target: both have the same cluster id."""
    interval: int = 5
    """Seconds between two heartbeats of the workers, as declared."""

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
    found: dict[Place, int] = {}

    def store(message: Any) -> bool:
        """Keep the newest offset alone: the topic has a record for each transaction until it is compacted."""
        try:
            connector, partition = json.loads(message.key() or b"null")
            if (connector, partition["cluster"]) == (CONNECTOR, source):
                value = json.loads(message.value() or b"{}")
                found[str(partition["topic"]), int(partition["partition"])] = int(value.get("offset", -1))
        except (ValueError, TypeError, KeyError, AttributeError):
            pass  # another program's record
        return False

    records.read(target, limits.earliest, limits.latest, store, 1)
    return {place: offset for place, offset in found.items() if offset >= 0}


def selected(names: Iterable[str], wanted: Iterable[Any], left_out: Iterable[Any]) -> list[str]:
    """Return those of the names of topics or groups that one of `wanted` matches, and none of `left_out`, sorted.

    Both are regular expressions of whole names; one that Python cannot read matches nothing.
    """
    patterns, others = [[one for text in texts if (one := compiled(text))] for texts in (wanted, left_out)]
    return [
        name
        for name in sorted(names)
        if any(one.fullmatch(name) for one in patterns) and not any(one.fullmatch(name) for one in others)
    ]


@lru_cache(maxsize=1024)
def compiled(text: Any) -> re.Pattern[str] | None:
    """Return a regular expression as a pattern; None if Python cannot read it."""
    try:
        return re.compile(str(text))
    except re.error:
        return None


def copy_of(flow: Mapping[str, Any], topic: str) -> str:
    """Return the name that the copy of a topic has at the target of a flow."""
    return topic if flow.get("policy") == "identity" else f"{flow['source']}.{topic}"


def copied_from(known: Metadata) -> list[str]:
    """Return the aliases of clusters from which workers copy to the cluster with this metadata, or once did, sorted."""
    return sorted(match[1] for name in known.topics if (match := CONFIGS.fullmatch(name)))


def progress(target: Admin, here: Metadata, flow: Mapping[str, Any], connect: Callable[..., Admin]) -> Progress:
    """Return the progress of a flow, with the reasons why records are not copied.

    `here` is the metadata of the target. `flow` has `source` and `target` (aliases), `client` (librdkafka's properties
    of the source), `topics`, `topics_exclude`, `policy` and `interval` (FLOW). `connect` creates a client of the
    source. Raises AdminError if the target fails.
    """
    source = str(flow["source"])
    done, beat = copied(target, source, here), heartbeat(target, here, source, str(flow["target"]))
    there = None
    try:
        there = connect(flow["client"])
        known = there.metadata()
        names = selected(known.topics, flow["topics"], flow["topics_exclude"])
        places = [(name, number) for name in names for number in range(len(known.topics[name]))]
        try:
            limits, written, first = _waiting(there, places, done)
        except records.DeletedError:  # the retention of the topic ended meanwhile
            limits, written, first = _waiting(there, places, done)
    except (AdminError, ClientError) as error:
        silent = f"the source does not answer this host: {error}"
        return Progress(source, [], beat, silent, [silent], interval=flow["interval"])
    finally:
        if there:
            there.close()
    anew = sorted({place[0] for place in places if done.get(place, -1) >= written[place]})
    itself = known.cluster_id == here.cluster_id
    problems = [f"{name} was deleted and created again at the source: {LOST}" for name in anew]
    for name in sorted({topic for topic, _ in done} & {*names}):
        copy = copy_of(flow, name)
        if len(here.topics.get(copy, ())) < len({place for place in done if place[0] == name}):
            problems.append(f"{copy} lacks partitions that were copied: it was deleted here, or created again")
    found = [_of_topic(name, places, done, limits.latest, first) for name in names]
    return Progress(source, found, beat, "", problems, copied_from(known), itself, flow["interval"])


def _waiting(
    there: Admin, places: Sequence[Place], done: Mapping[Place, int]
) -> tuple[Ends, Mapping[Place, int], dict[Place, tuple[int, int]]]:
    """Return the ends of partitions, also with open transactions, and the first records that are not copied yet."""
    limits = groups.ends(there, places, committed=True)
    written = groups.ends(there, places).latest  # with records of open transactions, which other flows copy
    begin = {place: max(done.get(place, -1) + 1, limits.earliest[place]) for place in places}
    return limits, written, first_records(there, begin, limits.latest)


def first_records(
    there: Admin,
    begin: Mapping[Place, int],
    end: Mapping[Place, int],
    accept: Callable[[Place, int], bool] = lambda _place, _time: True,
) -> dict[Place, tuple[int, int]]:
    """Return {partition: (offset, timestamp) of the first record from `begin` on}, of partitions that have one.

    `accept` takes a partition and a timestamp (ms since 1970), and tells whether a record counts. Offsets may be
    markers of transactions, which are no records.
    """
    left = {place: offset for place, offset in begin.items() if offset < end[place]}
    found: dict[Place, tuple[int, int]] = {}

    def first(message: Any) -> bool:
        place, time = (message.topic(), message.partition()), message.timestamp()[1]
        if accept(place, time):
            found.setdefault(place, (message.offset(), time))
        return bool(place in found and found[place][0] == message.offset())

    records.read(there, left, end, first, len(left))
    return found


def last_records(there: Admin, begin: Mapping[Place, int], end: Mapping[Place, int]) -> dict[Place, tuple[int, int]]:
    """Return {partition: (offset, timestamp) of the last record from `begin` to before `end`}, where there is one."""
    found: dict[Place, tuple[int, int]] = {}

    def last(message: Any) -> bool:
        found[message.topic(), message.partition()] = (message.offset(), message.timestamp()[1])
        return False

    records.read(there, begin, end, last, 1)
    return found


def _of_topic(
    name: str, places: Sequence[Place], done: Mapping[Place, int], end: Mapping[Place, int], first: Mapping[Place, Any]
) -> TopicProgress:
    own = [place for place in places if place[0] == name]
    waiting = [(place, first[place]) for place in own if place in first]
    behind = sum(end[place] - offset for place, (offset, _) in waiting)
    oldest = min((timestamp for _, (_, timestamp) in waiting if timestamp >= 0), default=None)
    seconds = 0.0 if oldest is None else max(0.0, time.time() - oldest / 1000)
    return TopicProgress(name, len(own), behind, round(seconds, 1), sum(place in done for place in own))


def heartbeat(target: Admin, here: Metadata, source: str, cluster: str) -> float | None:
    """Return the age in seconds of the last heartbeat that the workers wrote for the flow; None without one.

    `source` and `cluster` are the aliases of source and target. All flows write to one topic.
    """
    places = [(HEARTBEATS, number) for number in range(len(here.topics.get(HEARTBEATS, ())))]
    limits = groups.ends(target, places)
    begin = {place: max(limits.earliest[place], limits.latest[place] - BEATS) for place in places}
    key = b"".join(len(alias.encode()).to_bytes(2, "big") + alias.encode() for alias in (source, cluster))
    beats = records.read(target, begin, limits.latest, lambda message: message.key() == key, BEATS)
    newest = max((record["timestamp"] for record in beats), default=None)
    return None if newest is None else round(max(0.0, time.time() - newest / 1000), 1)
