"""How far copies are behind: read from both clusters, here without them."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import mirrors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, records
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    Admin,
    AdminError,
    Metadata,
    Partition,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.mirrors import mirrors as section

FLOW = {
    "source": "west",
    "target": "east",
    "client": {},
    "topics": ["orders"],
    "topics_exclude": [],
    "policy": "default",
    "interval": 5,
}
OFFSETS = "mm2-offsets.west.internal"
NOW = 1_795_900_000.0
NOBODY: Any = None


def metadata(cluster: str = "source", /, **partitions: int) -> Metadata:
    """Return the metadata of the cluster with the id `cluster`: topics with a number of partitions."""
    found = [Partition(name, one, 1, (1,), (1,)) for name, number in partitions.items() for one in range(number)]
    return Metadata(cluster, 1, {1: ("198.51.100.1", 9093)}, found)


def here() -> Metadata:
    """Return the metadata of a target with copies of three partitions."""
    return metadata("target", **{OFFSETS: 1, "west.orders": 3})


def position(topic: str, number: int, offset: int | None, cluster: str = "west") -> Any:
    """Return a record of the topic with positions, as MirrorMaker writes it."""
    key = json.dumps(["MirrorSourceConnector", {"cluster": cluster, "partition": number, "topic": topic}])
    value = None if offset is None else json.dumps({"offset": offset})
    return SimpleNamespace(key=key.encode, value=lambda: value and value.encode())


class Source(Admin):
    """A source cluster with the partitions of orders."""

    def __init__(self, known: Metadata | None) -> None:
        """`known` is its metadata, None if it does not answer."""
        self.cluster, self.closed = known, False

    def metadata(self) -> Metadata:
        """Return the metadata."""
        if self.cluster is None:
            raise AdminError("Failed to resolve")
        return self.cluster

    def close(self) -> None:
        """Close the connections."""
        self.closed = True


def fake(monkeypatch: pytest.MonkeyPatch, stored: Sequence[Any], first: Mapping[int, tuple[int, int]]) -> None:
    """Replace what reads clusters: `stored` are the positions, `first` {partition: (offset, ms)} of records left."""

    def read(_: Any, begin: Mapping[Any, int], _until: Any, wanted: Callable[[Any], bool], _limit: int) -> Any:
        if any(name == OFFSETS for name, _number in begin):
            return [record for record in stored if wanted(record)]
        for topic, number in begin:
            if topic == "orders" and number in first:
                wanted(Message(topic, number, *first[number]))
        return []

    def ends(_: Any, places: Sequence[Any], committed: bool = False) -> Ends:
        return Ends(dict.fromkeys(places, 0), {place: 10 for place in places})

    monkeypatch.setattr(records, "read", read)
    monkeypatch.setattr(groups, "ends", ends)
    monkeypatch.setattr(time, "time", lambda: NOW)


class Message:
    """A record of the library."""

    def __init__(self, topic: str, partition: int, offset: int, timestamp: int) -> None:
        """Store the place and the time in ms."""
        self.place, self.number, self.at = (topic, partition), offset, timestamp

    def topic(self) -> str:
        """Return the topic."""
        return self.place[0]

    def partition(self) -> int:
        """Return the number of the partition."""
        return self.place[1]

    def offset(self) -> int:
        """Return the offset."""
        return self.number

    def timestamp(self) -> tuple[int, int]:
        """Return the type and the time."""
        return 1, self.at


def test_a_flow_that_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last position counts, and none of another source; a marker at the end is no record."""
    stored = [
        position("orders", 0, 3),
        position("orders", 0, 6),
        position("orders", 1, 9),
        position("orders", 2, 1, "x"),
    ]
    fake(monkeypatch, stored, {0: (7, int(NOW * 1000) - 4000), 2: (0, int(NOW * 1000) - 90_000)})
    found = mirrors.progress(NOBODY, here(), FLOW, lambda _: Source(metadata(orders=3)))
    (topic,) = found.topics
    assert (topic.behind, topic.seconds, topic.copied_to) == (13, 90.0, 2)
    lines, problems = section({"flows": [found.as_dict()]})
    assert lines[2] == "  west  orders  13              90.0 s       -"
    assert problems == [
        "mirror from west is 90 s behind (13 records): look at mirror-maker.service on its hosts",
        "mirror from west: its workers have written no heartbeat",
    ]


def test_a_flow_that_copied_all(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, [position("orders", 0, 9)], {})
    found = mirrors.progress(NOBODY, here(), FLOW, lambda _: Source(metadata(orders=1)))
    assert (found.topics[0].behind, found.topics[0].seconds) == (0, 0.0)
    assert section({"flows": [{**found.as_dict(), "heartbeat": 2.0}]})[1] == []


def test_a_source_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, [], {})
    source = Source(None)
    found = mirrors.progress(NOBODY, here(), FLOW, lambda _: source)
    assert section({"flows": [{**found.as_dict(), "heartbeat": 2.0}]})[1] == [
        "mirror from west: the source does not answer this host: Failed to resolve"
    ]
    assert source.closed


def test_a_source_that_copies_back(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, [], {})
    there = metadata(**{"orders": 1, "mm2-configs.east.internal": 1})
    assert mirrors.progress(NOBODY, here(), FLOW, lambda _: Source(there)).copies_from == ["east"]


def test_a_source_that_is_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under another address or name. Only a flow that keeps names is refused for it."""
    fake(monkeypatch, [], {})
    found = mirrors.progress(NOBODY, here(), FLOW, lambda _: Source(metadata("target", orders=1)))
    assert found.itself
    assert section({"flows": [{**found.as_dict(), "heartbeat": 2.0}]})[1] == []


def test_a_topic_that_was_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten records are there, and more were copied: those of the topic before it."""
    fake(monkeypatch, [position("orders", 0, 99)], {})
    found = mirrors.progress(NOBODY, here(), FLOW, lambda _: Source(metadata(orders=1)))
    assert section({"flows": [{**found.as_dict(), "heartbeat": 2.0}]})[1] == [
        "mirror from west: orders was deleted and created again at the source: its first records are not copied, "
        "because MirrorMaker continues at the old offsets; give the topic a new name"
    ]


def test_a_copy_that_was_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, [position("orders", 0, 9)], {})
    target = metadata("target", **{OFFSETS: 1})
    found = mirrors.progress(NOBODY, target, FLOW, lambda _: Source(metadata(orders=1)))
    assert found.problems == ["west.orders lacks partitions that were copied: it was deleted here, or created again"]


def test_heartbeats_of_this_flow_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The alias of another source begins alike, and the target's contains it."""
    keys = [b"\x00\x07west-us\x00\x04east", b"\x00\x04west\x00\x04east", b"\x00\x05north\x00\x04west"]
    seen = list[bytes]()

    def read(_: Any, _begin: Any, _until: Any, wanted: Callable[[Any], bool], _limit: int) -> list[dict[str, Any]]:
        seen.extend(key for key in keys if wanted(SimpleNamespace(key=lambda key=key: key)))
        return [{"timestamp": (NOW - 3) * 1000}]

    fake(monkeypatch, [], {})
    monkeypatch.setattr(records, "read", read)
    assert mirrors.heartbeat(NOBODY, metadata(heartbeats=1), "west", "east") == 3.0
    assert seen == [keys[1]]


def test_workers_that_died(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = {
        "source": "west",
        "topics": [],
        "heartbeat": 75.0,
        "interval": 5,
        "silent": "",
        "problems": [],
        "behind": 0,
        "seconds": 0.0,
    }
    assert section({"flows": [flow]})[1] == ["mirror from west: its workers have written no heartbeat for 75 s"]
    assert section({"flows": [{**flow, "interval": 30}]})[1] == [], "written twice a minute"


def test_a_target_that_does_not_answer() -> None:
    assert section({"msg": "no broker"})[1] == ["the progress of mirrors is not known: no broker"]
    assert section({}) == ([], [])
