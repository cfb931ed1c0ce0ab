"""Metrics of the exporter, computed from what was read of a cluster; nothing is read here."""

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter import reading, server
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.metrics import Snapshot, metrics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group

NOW = 1_795_900_000.0
PARTITIONS = (Partition("orders", 0, 1, (1, 2, 3), (1, 2, 3)), Partition("orders", 1, 1, (2, 3, 1), (3, 1)))
METADATA = Metadata("id", 1, {1: ("192.0.2.1", 9092), 2: ("192.0.2.2", 9092)}, PARTITIONS)
ENDS = Ends({("orders", 0): 0, ("orders", 1): 40}, {("orders", 0): 100, ("orders", 1): 60})
BILLING = Group("billing", "STABLE", ({"client_id": "a"},), {("orders", 0): 90, ("orders", 1): 60})
AT_THE_END = Group("audit", "EMPTY", (), {("orders", 0): 100, ("orders", 1): 60})
UNREAD = {"billing": {("orders", 0): int((NOW - 7) * 1000)}, "audit": {}}
RACKS = {1: "a", 2: "b", 3: "c"}


def samples(snapshot: Snapshot) -> dict[str, dict[tuple[str, ...], float]]:
    """Return {metric: {values of the labels: value}}."""
    return {one.name: dict(one.samples) for one in metrics(snapshot)}


def snapshot(*groups: Group, unread: Mapping[str, Any] = UNREAD) -> Snapshot:
    """Return a snapshot with groups."""
    return Snapshot(METADATA, ENDS, {one.name: one for one in groups}, unread, RACKS, NOW)


def test_partitions() -> None:
    """The second one has lost its preferred leader, and a replica is not in sync."""
    found = samples(snapshot())
    both = [("orders", "0"), ("orders", "1")]
    assert [found["kafka_topic_partition_leader"][one] for one in both] == [1, 1]
    assert [found["kafka_topic_partition_leader_is_preferred"][one] for one in both] == [1, 0]
    assert [found["kafka_topic_partition_in_sync_replica"][one] for one in both] == [3, 2]
    assert [found["kafka_topic_partition_under_replicated_partition"][one] for one in both] == [0, 1]
    assert [found["kafka_topic_partition_oldest_offset"][one] for one in both] == [0, 40]
    assert found["kafka_topic_partitions"] == {("orders",): 2}


def test_leaders_of_each_broker() -> None:
    """Also of a broker that is not registered, but declared."""
    found = samples(snapshot())
    assert (found["kafka_brokers"], found["kafka_brokers_declared"]) == ({(): 2}, {(): 3})
    assert found["kafka_broker_leader_partitions"] == {("1", "a"): 2, ("2", "b"): 0, ("3", "c"): 0}


def test_lag_in_records_and_in_seconds() -> None:
    found = samples(snapshot(BILLING, AT_THE_END))
    lag = found["kafka_consumergroup_lag"]
    assert (lag["billing", "orders", "0"], lag["billing", "orders", "1"]) == (10, 0)
    assert found["kafka_consumergroup_lag_sum"] == {("audit", "orders"): 0, ("billing", "orders"): 10}
    assert found["kafka_consumergroup_lag_seconds"] == {("audit", "orders"): 0, ("billing", "orders"): 7}
    assert found["kafka_consumergroup_members"] == {("audit",): 0, ("billing",): 1}


@pytest.mark.parametrize(
    ("unread", "seconds"),
    [
        ({}, {}),
        ({"billing": {}}, {}),
        ({"billing": {("orders", 0): None}}, {("billing", "orders"): 0}),
        ({"billing": {("orders", 0): -1}}, {("billing", "orders"): 0}),
    ],
)
def test_lag_whose_records_are_not_known(unread: Mapping[str, Any], seconds: Mapping[Any, float]) -> None:
    """They could not be read; or only markers of transactions follow; or the record has no time."""
    assert samples(snapshot(BILLING, unread=unread))["kafka_consumergroup_lag_seconds"] == seconds


def test_a_group_of_a_topic_that_is_deleted() -> None:
    old = Group("old", "EMPTY", (), {("gone", 0): 5})
    found = samples(snapshot(old))
    assert found["kafka_consumergroup_lag"] == {} and found["kafka_consumergroup_lag_seconds"] == {}


class Records:
    """Times of records: that of an offset is its number in seconds; partition 1 of orders may not be read."""

    def __init__(self) -> None:
        self.asked = list[Mapping[Any, int]]()

    def times(self, begin: Mapping[Any, int], _seconds: float) -> dict[Any, int | None]:
        """Return the times."""
        self.asked.append(dict(begin))
        return {place: offset * 1000 for place, offset in begin.items() if place[1] != 1}


def waiting(name: str, **offsets: int) -> Group:
    """Return a group that waits at offsets of the partitions p0, p1 and so on."""
    return Group(name, "EMPTY", (), {("orders", int(number[1:])): offset for number, offset in offsets.items()})


def test_each_first_record_is_read_once() -> None:
    """Also for two groups, and not again while a group waits there; a partition that cannot be read harms no other."""
    reader = object.__new__(reading.Reader)
    records = Records()
    vars(reader).update(records=records, known={}, seconds=60)
    groups = {one.name: one for one in (waiting("a", p0=90), waiting("b", p0=90, p1=3), waiting("c", p0=70))}
    expected = {"a": {("orders", 0): 90_000}, "b": {("orders", 0): 90_000}, "c": {("orders", 0): 70_000}}
    assert reader.first_unread(groups, ENDS) == expected
    first = ("orders", 0)
    assert records.asked == [{first: 70, ("orders", 1): 40}, {first: 90}], "of partition 1, what is left of it"
    assert reader.first_unread(groups, ENDS) == expected
    assert records.asked[2:] == [{("orders", 1): 40}]
    reader.first_unread({"a": waiting("a", p0=91)}, ENDS)
    assert records.asked[3:] == [{first: 91}] and set(reader.known) == {(first, 91)}, "the others are forgotten"


def test_an_answer_that_is_too_old_is_not_served() -> None:
    """A metric of the exporter itself tells why the others are missing."""
    exporter = server.Exporter(10)

    def served(later: float) -> dict[str, Any]:
        return {one.name: dict(one.samples) for one in exporter.current(NOW + later)}

    def fails() -> Snapshot:
        raise ValueError("group_id cannot be empty")

    assert served(0)["lag_exporter_up"] == {(): 0}
    exporter.read(snapshot)
    exporter.duration = 0
    assert served(30)["lag_exporter_up"] == {(): 1} and "kafka_brokers" in served(30)
    exporter.read(fails)
    exporter.duration = 0
    assert served(29)["kafka_brokers"] == {(): 2}, "of the last answer"
    assert served(31)["lag_exporter_up"] == {(): 0} and served(31)["lag_exporter_failures"] == {(): 1}
    assert "kafka_brokers" not in served(31)
    exporter.duration = 5  # a reading that takes long is no silence
    assert "kafka_brokers" in served(31)
