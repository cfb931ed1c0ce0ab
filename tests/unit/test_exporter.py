"""Metrics of the exporter, computed from what was read of a cluster; nothing is read here."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Producer

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter import reading, server
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.metrics import Snapshot, metrics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import watching
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group

NOW = 1_795_900_000.0
PARTITIONS = (Partition("orders", 0, 1, (1, 2, 3), (1, 2, 3)), Partition("orders", 1, 1, (2, 3, 1), (3, 1)))
METADATA = Metadata("id", 1, {1: ("192.0.2.1", 9092), 2: ("192.0.2.2", 9092)}, PARTITIONS)
ENDS = Ends({("orders", 0): 0, ("orders", 1): 40}, {("orders", 0): 100, ("orders", 1): 60})
BILLING = Group("billing", "STABLE", ({"client_id": "a"},), {("orders", 0): 90, ("orders", 1): 60})
AT_THE_END = Group("audit", "EMPTY", (), {("orders", 0): 100, ("orders", 1): 60})
UNREAD = {"billing": {("orders", 0): int((NOW - 7) * 1000)}, "audit": {}}
PLACES = (("orders", 0), ("orders", 1))
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
    assert found["kafka_brokers"] == {(): 2}
    assert found["kafka_broker_registered"] == {("1", "a"): 1, ("2", "b"): 1, ("3", "c"): 0}
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


@pytest.mark.parametrize(
    ("unread", "seconds"),
    [({}, {("billing", "orders"): 7}), ({("orders", 1): int((NOW - 50) * 1000)}, {("billing", "orders"): 50})],
)
def test_a_partition_without_a_leader(unread: Mapping[Any, int], seconds: Mapping[Any, float]) -> None:
    """How much of it is unread is not known; the age is that of the other, or what was known before."""
    ends = Ends({("orders", 0): 0}, {("orders", 0): 100})
    times = {"billing": {("orders", 0): int((NOW - 7) * 1000), **unread}}
    found = samples(Snapshot(METADATA, ends, {"billing": BILLING}, times, RACKS, NOW))
    assert found["kafka_consumergroup_lag"] == {("billing", "orders", "0"): 10}
    assert found["kafka_consumergroup_lag_sum"] == {}
    assert found["kafka_consumergroup_lag_seconds"] == seconds


def test_one_of_two_records_was_not_read() -> None:
    """It may be older than the other, but not younger than all."""
    half = waiting("half", p0=90, p1=50)
    found = samples(snapshot(half, unread={"half": {("orders", 0): int((NOW - 5) * 1000)}}))
    assert found["kafka_consumergroup_lag_sum"] == {("half", "orders"): 20}
    assert found["kafka_consumergroup_lag_seconds"] == {("half", "orders"): 5}


class Records:
    """Times of records: that of an offset is its number in seconds; partition 1 of orders does not answer."""

    def __init__(self) -> None:
        self.asked = list[Mapping[Any, int]]()

    def times(self, begin: Mapping[Any, int], _seconds: float) -> tuple[dict[Any, int | None], set[Any]]:
        """Return the times."""
        self.asked.append(dict(begin))
        return {place: offset * 1000 for place, offset in begin.items() if place[1] != 1}, set()


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
    assert reader.first_unread(groups, ENDS, PLACES) == (expected, 1)
    first = ("orders", 0)
    assert records.asked == [{first: 70, ("orders", 1): 40}, {first: 90}], "of partition 1, what is left of it"
    assert reader.first_unread(groups, ENDS, PLACES) == (expected, 1)
    assert records.asked[2:] == [{("orders", 1): 40}]
    reader.first_unread({"a": waiting("a", p0=91)}, ENDS, PLACES)
    assert records.asked[3:] == [{first: 91}] and set(reader.known) == {(first, 91)}, "the others are forgotten"


def test_a_partition_that_loses_its_leader_waits_on() -> None:
    """The time of its record was read before; of one that was not, nothing is made up."""
    reader = object.__new__(reading.Reader)
    vars(reader).update(records=Records(), known={}, seconds=60)
    groups = {"a": waiting("a", p0=90)}
    before = reader.first_unread(groups, ENDS, PLACES)
    assert before == ({"a": {("orders", 0): 90_000}}, 0)
    nobody = Ends({}, {})
    assert reader.first_unread(groups, nobody, PLACES) == before
    assert reader.first_unread({"a": waiting("a", p0=91)}, nobody, PLACES) == ({"a": {}}, 0)


def test_a_group_whose_coordinator_is_silent_is_kept_for_a_while() -> None:
    """One that was deleted is not."""
    reader = object.__new__(reading.Reader)
    vars(reader).update(groups={})
    assert reader.with_silent({"billing": BILLING, "audit": AT_THE_END}, 0).keys() == {"billing", "audit"}
    for _ in range(reading.KEPT):
        assert reader.with_silent({"audit": AT_THE_END}, 1) == {"billing": BILLING, "audit": AT_THE_END}
    assert reader.with_silent({"audit": AT_THE_END}, 1).keys() == {"audit"}
    reader.with_silent({"billing": BILLING}, 0)
    assert reader.with_silent({}, 0) == {}


@pytest.fixture
def cluster() -> Iterator[str]:
    """Return the address of librdkafka's mock cluster: topic orders has 20 records, record n of second n."""
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    for number in range(20):
        producer.produce("orders", b"x", partition=0, timestamp=number * 1000)
        producer.produce("orders", b"x", partition=1, timestamp=(100 + number) * 1000)
    assert producer.flush(10) == 0
    yield f"{broker.host}:{broker.port}"


def test_records_of_a_partition_are_read_again_and_again(cluster: str) -> None:
    """A group moves on; at the end there is none."""
    records = watching.FirstRecords({"bootstrap.servers": cluster})
    first, second = ("orders", 0), ("orders", 1)
    assert records.times({first: 3, second: 5}, 10) == ({first: 3_000, second: 105_000}, set())
    assert records.times({first: 7}, 10) == ({first: 7_000}, set())
    assert records.times({first: 20, second: 6}, 10) == ({first: None, second: 106_000}, set())
    records.close()


def test_an_answer_that_is_too_old_is_not_served() -> None:
    """A metric of the exporter itself tells why the others are missing."""
    exporter, began = server.Exporter(10), time.monotonic()

    def served(later: float) -> dict[str, Any]:
        return {one.name: dict(one.samples) for one in exporter.current(began + later)}

    def fails() -> Snapshot:
        raise ValueError("group_id cannot be empty")

    assert served(0)["lag_exporter_up"] == {(): 0}
    exporter.read(snapshot)
    exporter.last, exporter.duration = (began, exporter.last[1] if exporter.last else []), 0
    assert served(30)["lag_exporter_up"] == {(): 1} and "kafka_brokers" in served(30)
    exporter.read(fails)
    exporter.duration = 0
    assert served(29)["kafka_brokers"] == {(): 2}, "of the last answer"
    assert served(31)["lag_exporter_up"] == {(): 0} and served(31)["lag_exporter_failures"] == {(): 1}
    assert "kafka_brokers" not in served(31)
    exporter.duration = 5  # a reading that takes long is no silence
    assert "kafka_brokers" in served(31)
    exporter.duration, exporter.began = 0, began + 20  # nor one that takes long now
    assert "kafka_brokers" in served(45)
    assert "kafka_brokers" not in served(91), "but one that hangs"
