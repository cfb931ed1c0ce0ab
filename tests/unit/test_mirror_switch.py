"""Where groups continue at the other cluster, of two clusters that are in memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import mirror_switch, mirrors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, records, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.mirrors import Progress, TopicProgress
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused

FLOW: dict[str, Any] = {
    "source": "west",
    "target": "east",
    "client": {},
    "topics": ["orders"],
    "topics_exclude": [],
    "groups": [".*"],
    "groups_exclude": ["connect-.*"],
    "policy": "default",
    "interval": 5,
}
Place = tuple[str, int]


class Cluster(Admin):
    """A cluster in memory: the times of its records by offset, and its groups."""

    def __init__(self, times: Mapping[Place, Sequence[int]], **members: Group) -> None:
        """`times` has one time in ms for each record; offset and index are equal."""
        self.times, self.members = dict(times), members
        self.growing, self.compacted, self.stamps = 0, False, False
        self.open = 0
        self.committed: dict[str, Mapping[Place, int]] = {}
        self.markers: set[int] = set()
        """Offsets that are no records, but have times."""
        self.first: dict[Place, int] = {}
        """Offsets of the first records that are still there."""

    def metadata(self) -> Metadata:
        """Return the metadata of all topics."""
        return Metadata("id", 1, {1: ("a", 1)}, [Partition(name, one, 1, (1,), (1,)) for name, one in self.times])

    def close(self) -> None:
        """Close no connection."""


class Record:
    """A record of the library."""

    def __init__(self, place: Place, offset: int, time: int) -> None:
        """Store where it is and when it was written."""
        self.topic, self.partition = lambda: place[0], lambda: place[1]
        self.offset, self.timestamp = lambda: offset, lambda: (1, time)


@pytest.fixture(autouse=True)
def facade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer requests from memory."""

    def ends(cluster: Any, places: Iterable[Place], _: Any = None, *, committed: bool = False) -> Ends:
        found = {place: len(cluster.times[place]) + cluster.growing for place in places}
        cluster.growing *= 2
        stable = {place: end - cluster.open if committed else end for place, end in found.items()}
        return Ends({place: cluster.first.get(place, 0) for place in found}, stable)

    def read(
        cluster: Any, begin: Mapping[Place, int], until: Any, wanted: Callable[[Any], bool], _limit: int
    ) -> list[Any]:
        for place, offset in begin.items():
            assert offset >= cluster.first.get(place, 0)
            for number in range(offset, min(until[place], len(cluster.times[place]))):
                if number not in cluster.markers and wanted(Record(place, number, cluster.times[place][number])):
                    break
        return []

    def offsets_at(cluster: Any, times: Mapping[Place, int]) -> dict[Place, int]:
        return {
            place: next(
                (
                    offset
                    for offset, time in enumerate(cluster.times[place])
                    if time >= at and offset >= cluster.first.get(place, 0)
                ),
                -1,
            )
            for place, at in times.items()
        }

    def of(cluster: Any, names: Iterable[str]) -> dict[str, Group]:
        return {name: cluster.members.get(name, Group(name, "DEAD")) for name in names}

    def commit(cluster: Any, wanted: Mapping[str, Mapping[Place, int]]) -> dict[str, str]:
        cluster.committed = dict(wanted)
        return {}

    for name, fake in (("ends", ends), ("offsets_at", offsets_at), ("groups", of), ("commit", commit)):
        monkeypatch.setattr(groups, name, fake)
    monkeypatch.setattr(groups, "names", lambda cluster: sorted(cluster.members))

    def describe(cluster: Any, _: str, names: Sequence[str]) -> dict[str, Any]:
        policy = SimpleNamespace(value="compact" if cluster.compacted else "delete")
        kind = SimpleNamespace(value="LogAppendTime" if cluster.stamps else "CreateTime")
        return {name: {"cleanup.policy": policy, "message.timestamp.type": kind} for name in names}

    monkeypatch.setattr(topics, "describe", describe)
    monkeypatch.setattr(records, "read", read)
    monkeypatch.setattr(mirrors, "progress", lambda *_: Progress("west", [], None))


def switched(source: Cluster, target: Cluster) -> dict[tuple[str, int], tuple[int, str, int | None]]:
    """Return {(group, partition): (offset at the target, how it was found, records read again)}."""
    found = mirror_switch.planned(target, target.metadata(), FLOW, lambda _: source, 0)
    assert {one.topic for one in found} <= {"west.orders"}
    assert mirror_switch.apply(target, found) == {}
    return {(one.group, one.partition): (one.offset, one.how, one.again) for one in found}


def test_a_group_continues_exactly() -> None:
    """Offsets differ at the target: markers of transactions are between its records; they have the next one's time."""
    times = {("orders", 0): [10, 20, 20, 30, 40], ("orders", 1): [5, 6]}
    copies = {("west.orders", 0): [10, 20, 20, 20, 30, 40, 40], ("west.orders", 1): [5, 6]}
    billing = Group("billing", "EMPTY", (), {("orders", 0): 3, ("orders", 1): 2, ("other", 0): 1})
    target = Cluster(copies)
    assert switched(Cluster(times, billing=billing), target) == {
        ("billing", 0): (4, "time", 0),
        ("billing", 1): (2, "end", 0),
    }
    assert target.committed == {"billing": {("west.orders", 0): 4, ("west.orders", 1): 2}}


def test_a_marker_with_a_later_time() -> None:
    """It stands before the first unread record, and is no record."""
    source = Cluster({("orders", 0): [10, 20, 30]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 2}))
    target = Cluster({("west.orders", 0): [10, 35, 20, 30, 36]})
    target.markers = {1, 4}
    assert switched(source, target) == {("billing", 0): (3, "time", 0)}


def returning(here: Sequence[int], copies: Sequence[int], read: int, now: int | None, **more: Any) -> dict[Place, int]:
    """Return the offsets that are set of a group that returns, and of its own topic `orders`.

    `here` are the times of orders at east, `copies` those of east.orders at west; there the group has read up to
    `read`. `more`: first offsets that are there (`first_here`, `first_copy`), markers, groups that return.
    """
    billing = Group("billing", "EMPTY", (), {("east.orders", 0): read, ("orders", 0): 1})
    times: dict[Place, Sequence[int]] = {("orders", 0): [5], ("east.orders", 0): copies}
    source = Cluster({**times, ("mm2-configs.east.internal", 0): []}, billing=billing)
    source.markers = set(more.get("markers", ()))
    source.first = {("east.orders", 0): more.get("first_copy", 0)}
    before = {("west.orders", 0): 1} | ({} if now is None else {("orders", 0): now})
    target = Cluster({("west.orders", 0): [5], ("orders", 0): here}, billing=Group("billing", "EMPTY", (), before))
    target.first = {("orders", 0): more.get("first_here", 0)}
    groups_back = more.get("returned", ["billing"])
    found = mirror_switch.planned(target, target.metadata(), FLOW, lambda _: source, 0, groups_back)
    mirror_switch.apply(target, found)
    return dict(target.committed.get("billing", {}))


RECORDS = [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("read", "now", "moved"),
    [
        (3, 1, {("orders", 0): 2}),  # up to the last record that was read
        (2, 1, {("orders", 0): 2}),  # to the first one that was not
        (1, 3, {}),                  # never back
        (3, None, {}),               # it had read nothing here
    ],
)  # fmt: skip
def test_a_group_that_returns(read: int, now: int | None, moved: dict[Place, int]) -> None:
    """It has read copies of the target's own topic at the source; a marker is the last offset there."""
    assert returning(RECORDS, [10, 20, 30, 99], read, now, markers=[3]) == moved


@pytest.mark.parametrize(
    ("why", "more"),
    [
        ("nobody says that it has consumed there: MirrorMaker writes offsets, too", {"returned": []}),
        ("copies of its next records were deleted before it read them", {"first_copy": 2}),
    ],
)
def test_a_group_that_may_not_have_read_copies(why: str, more: dict[str, Any]) -> None:
    assert returning(RECORDS, RECORDS, 4, 1, **more) == {}, why


def test_a_topic_that_was_created_again() -> None:
    """Its records are not those of the copies."""
    assert returning([61, 62, 63], [10, 20, 63], 3, 0) == {}


def test_a_record_that_was_deleted_here_among_others_out_of_order() -> None:
    """The copy lags, and the record that was read last is gone here: later ones have earlier times."""
    assert returning([10, 20, 100, 50, 60, 120], [10, 20, 100], 3, 3, first_here=3) == {}


@pytest.mark.parametrize(
    ("name", "configs", "why"),
    [
        ("audit", "mm2-configs.east.internal", "group audit has no offset of a copy of east at west"),
        ("billing", "other", "west has no flow from east, so no group has read copies there"),
    ],
)
def test_groups_that_cannot_return(name: str, configs: str, why: str) -> None:
    billing = Group("billing", "EMPTY", (), {("east.orders", 0): 1, ("orders", 0): 1})
    source = Cluster({("orders", 0): [5], ("east.orders", 0): [7], (configs, 0): []}, billing=billing)
    target = Cluster({("west.orders", 0): [5], ("orders", 0): [7]})
    with pytest.raises(Refused, match=why):
        mirror_switch.planned(target, target.metadata(), FLOW, lambda _: source, 0, [name])


def test_records_that_the_source_deleted_first() -> None:
    """Its retention ends earlier: they are still unread at the target, where MirrorMaker's offset is."""
    source = Cluster({("orders", 0): [10, 20, 30]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1}))
    source.first = {("orders", 0): 3}
    target = Cluster({("west.orders", 0): [10, 20, 30]}, billing=Group("billing", "EMPTY", (), {("west.orders", 0): 1}))
    found = mirror_switch.planned(target, target.metadata(), FLOW, lambda _: source, 0)
    assert [(one.offset, one.how) for one in found] == [(1, "translated")]


def test_a_record_that_the_target_deleted_among_others_out_of_order() -> None:
    source = Cluster(
        {("orders", 0): [10, 20, 100, 50, 60, 120]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 2})
    )
    target = Cluster({("west.orders", 0): [10, 20, 100, 50, 60, 120]})
    target.first = {("west.orders", 0): 3}
    assert switched(source, target)["billing", 0][:2] == (3, "start")


def test_a_record_of_a_producer_before_the_copy() -> None:
    """With names kept, producers at the target may write while MirrorMaker still copies."""
    source = Cluster({("orders", 0): [10, 100]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1}))
    target = Cluster({("orders", 0): [10, 60, 100]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1}))
    (found,) = mirror_switch.planned(target, target.metadata(), {**FLOW, "policy": "identity"}, lambda _: source, 0)
    assert (found.offset, found.how) == (1, "translated")


def test_records_of_one_time_are_read_again() -> None:
    source = Cluster({("orders", 0): [7, 7, 7, 9]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 2}))
    assert switched(source, Cluster({("west.orders", 0): [7, 7, 7, 9]})) == {("billing", 0): (0, "time", 2)}


@pytest.mark.parametrize(("now", "offset"), [({}, 0), ({("west.orders", 0): 1}, 1)])
def test_a_compacted_topic(now: Mapping[Place, int], offset: int) -> None:
    """The copy of the first unread record (20) is gone, and one after it is older: by its time, 15 would be lost."""
    source = Cluster({("orders", 0): [10, 12, 20, 15, 30]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 2}))
    target = Cluster({("west.orders", 0): [10, 12, 15, 30]}, billing=Group("billing", "EMPTY", (), now))
    target.compacted = True
    assert switched(source, target)["billing", 0][0] == offset


def test_a_compacted_topic_that_was_read_completely() -> None:
    """Nothing is written and everything is copied, so its end is the group's position."""
    source = Cluster({("orders", 0): [10, 20]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 2}))
    target = Cluster({("west.orders", 0): [10, 20]}, billing=Group("billing", "EMPTY", (), {}))
    target.compacted = True
    assert switched(source, target)["billing", 0][:2] == (2, "end")


def test_a_group_that_is_there_already_is_not_written() -> None:
    there = Group("billing", "EMPTY", (), {("west.orders", 0): 1})
    source = Cluster({("orders", 0): [7]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1}))
    target = Cluster({("west.orders", 0): [7]}, billing=there)
    switched(source, target)
    assert target.committed == {}


def test_groups_that_are_left_out() -> None:
    """One by its name; one that reads other topics may go on."""
    others = {
        "connect-a": Group("connect-a", "STABLE", ({"client_id": "a"},), {("orders", 0): 0}),
        "other": Group("other", "STABLE", ({"client_id": "b"},), {("returns", 0): 0}),
        "billing": Group("billing", "EMPTY", (), {("orders", 0): 1}),
    }
    target = Cluster({("west.orders", 0): [7]}, other=Group("other", "STABLE", ({"client_id": "b"},), {("mine", 0): 0}))
    assert switched(Cluster({("orders", 0): [7]}, **others), target) == {("billing", 0): (1, "end", 0)}


def test_partitions_without_an_offset() -> None:
    """A consumer commits only where it read; at the target it could start at the end and skip their records."""
    source = Cluster(
        {("orders", 0): [7], ("orders", 1): [8]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1})
    )
    target = Cluster({("west.orders", 0): [7], ("west.orders", 1): [8]})
    assert switched(source, target) == {("billing", 0): (1, "end", 0), ("billing", 1): (0, "start", 0)}


def test_brokers_that_stamp_copies() -> None:
    """Their clock may be behind that of the source: a position by time could skip records."""
    source = Cluster({("orders", 0): [10, 20, 30]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1}))
    target = Cluster({("west.orders", 0): [5, 15, 25]}, billing=Group("billing", "EMPTY", (), {("west.orders", 0): 1}))
    target.stamps = True
    assert switched(source, target)["billing", 0][:2] == (1, "translated")


@pytest.mark.parametrize("times", [[-1, -1], [90, 95]])
def test_a_record_that_cannot_be_found(times: list[int]) -> None:
    """It has no time, or is gone at the target with all later ones: everything that is left there is read."""
    source = Cluster({("orders", 0): times}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1}))
    assert switched(source, Cluster({("west.orders", 0): [-1, 50]}))["billing", 0][:2] == (0, "start")


@pytest.mark.parametrize(("now", "offset"), [({("orders", 0): 1}, 1), ({}, 0)])
def test_a_copy_that_producers_write_to_already(now: Mapping[Place, int], offset: int) -> None:
    """With names kept, what they wrote is after the copies, and was not read."""
    source = Cluster({("orders", 0): [7]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1}))
    target = Cluster({("orders", 0): [7, 8, 9]}, billing=Group("billing", "EMPTY", (), now))
    flow = {**FLOW, "policy": "identity"}
    (found,) = mirror_switch.planned(target, target.metadata(), flow, lambda _: source, 0)
    assert found.offset == offset


def test_a_record_that_arrives_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """It could be copied before the end of the copy is read."""
    source = Cluster({("orders", 0): [7]}, billing=Group("billing", "EMPTY", (), {("orders", 0): 1}))
    target = Cluster({("west.orders", 0): [7]})
    real = groups.offsets_at

    def late(cluster: Any, times: Mapping[Place, int]) -> dict[Place, int]:
        source.times[("orders", 0)] = [7, 8]
        return real(cluster, times)

    monkeypatch.setattr(groups, "offsets_at", late)
    with pytest.raises(Refused, match="producers write to orders at west"):
        mirror_switch.planned(target, target.metadata(), FLOW, lambda _: source, 0)


def test_a_source_without_groups() -> None:
    target = Cluster({("west.orders", 0): [7]})
    with pytest.raises(Refused, match="no group that the flow translates has read a topic of it at west"):
        mirror_switch.planned(target, target.metadata(), FLOW, lambda _: Cluster({("orders", 0): [7]}), 0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("producers", "producers write to orders at west: stop them"),
        ("members", "group billing has 1 members at west: stop its consumers there"),
        ("open", "a transaction is open in orders at west: let its producer end it"),
        ("behind", "7 records of orders are not copied yet: wait, and run this again"),
    ],
)
def test_refusals(change: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, and the source is left as it is."""
    member: Any = {"client_id": "b1", "host": "h"}
    state, inside = ("STABLE", [member]) if change == "members" else ("EMPTY", [])
    source = Cluster({("orders", 0): [7]}, billing=Group("billing", state, inside, {("orders", 0): 0}))
    source.growing = 1 if change == "producers" else 0
    source.open = 1 if change == "open" else 0
    behind = [TopicProgress("orders", 1, 7, 1.0, 1)] if change == "behind" else []
    monkeypatch.setattr(mirrors, "progress", lambda *_: Progress("west", behind, None))
    target = Cluster({("west.orders", 0): [7]})
    with pytest.raises(Refused) as refused:
        mirror_switch.planned(target, target.metadata(), FLOW, lambda _: source, 0)
    assert str(refused.value) == why and target.committed == {}


@pytest.mark.parametrize(
    ("since", "positions"), [(None, [(1, "translated")]), (25, [(2, "time")]), (5, [(1, "translated")])]
)
def test_a_lost_source(since: int | None, positions: list[tuple[int, str]]) -> None:
    """MirrorMaker's translation, unless everybody had read what is before a time; never an earlier offset than it."""
    billing = Group("billing", "EMPTY", (), {("west.orders", 0): 1, ("orders", 0): 9})
    times: dict[Place, Sequence[int]] = {("west.orders", 0): [10, 20, 30], ("west.orders", 1): [5], ("orders", 0): []}
    target = Cluster(times, billing=billing)
    found = {one.partition: one for one in mirror_switch.lost(target, target.metadata(), FLOW, since)}
    assert [(found[0].offset, found[0].how)] == positions
    target.stamps = True
    found = {one.partition: one for one in mirror_switch.lost(target, target.metadata(), FLOW, since)}
    assert (found[0].offset, found[0].how) == (1, "translated"), "brokers that stamp copies have a clock of their own"
    assert (found[1].offset, found[1].how) == (0, "start"), "its records were not translated, and may be unread"


def test_a_time_in_the_future() -> None:
    target = Cluster({("west.orders", 0): [10]}, billing=Group("billing", "EMPTY", (), {("west.orders", 0): 0}))
    with pytest.raises(Refused, match="since is in the future"):
        mirror_switch.lost(target, target.metadata(), FLOW, 10**14)


def test_a_lost_source_without_translated_offsets() -> None:
    target = Cluster({("west.orders", 0): [10]}, other=Group("other", "EMPTY", (), {("mine", 0): 1}))
    with pytest.raises(Refused, match="no group has an offset that was translated from west"):
        mirror_switch.lost(target, target.metadata(), FLOW, None)
