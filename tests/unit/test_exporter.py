"""Metrics of the exporter, computed from what was read of a cluster; nothing is read here."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter import reading, server
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.metrics import Snapshot, metrics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups as facade
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import AdminError, Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Group

NOW = 1_795_900_000.0
NOBODY: Any = None
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
    assert found["kafka_brokers"] == {(): 2}
    assert found["kafka_broker_leader_partitions"] == {("1", "a"): 2, ("2", "b"): 0, ("3", "c"): 0}


def test_lag_in_records_and_in_seconds() -> None:
    found = samples(snapshot(BILLING, AT_THE_END))
    lag = found["kafka_consumergroup_lag"]
    assert (lag["billing", "orders", "0"], lag["billing", "orders", "1"]) == (10, 0)
    assert found["kafka_consumergroup_lag_sum"] == {("audit", "orders"): 0, ("billing", "orders"): 10}
    assert found["kafka_consumergroup_lag_seconds"] == {("audit", "orders"): 0, ("billing", "orders"): 7}
    assert found["kafka_consumergroup_members"] == {("audit",): 0, ("billing",): 1}


@pytest.mark.parametrize(("unread", "seconds"), [({}, {}), ({"billing": {}}, {("billing", "orders"): 0})])
def test_lag_whose_records_are_not_known(unread: Mapping[str, Any], seconds: Mapping[Any, float]) -> None:
    """They could not be read; or they are no records, but markers of transactions."""
    assert samples(snapshot(BILLING, unread=unread))["kafka_consumergroup_lag_seconds"] == seconds


def test_a_group_of_a_topic_that_is_deleted() -> None:
    old = Group("old", "EMPTY", (), {("gone", 0): 5})
    found = samples(snapshot(old))
    assert found["kafka_consumergroup_lag"] == {} and found["kafka_consumergroup_lag_seconds"] == {}


def test_each_first_record_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups wait at the same record; the records of a third were deleted meanwhile."""
    asked = list[Mapping[Any, int]]()

    def first(_: Any, begin: Mapping[Any, int], _end: Any) -> dict[Any, tuple[int, int]]:
        asked.append(begin)
        if ("orders", 1) in begin:
            raise AdminError("deleted")
        return {place: (offset, 1000) for place, offset in begin.items()}

    monkeypatch.setattr(reading, "first_records", first)
    one, two = (Group(name, "EMPTY", (), {("orders", 0): 90}) for name in "ab")
    third = Group("c", "EMPTY", (), {("orders", 1): 3})
    found = reading._unread(NOBODY, {"a": one, "b": two, "c": third}, ENDS)
    assert found == {"a": {("orders", 0): 1000}, "b": {("orders", 0): 1000}}
    assert asked == [{("orders", 0): 90}, {}, {("orders", 1): 40}], "the first that is left of the third"


class Cluster:
    """A cluster that answers, or not."""

    answers = True

    def metadata(self) -> Metadata:
        """Return the metadata."""
        if not self.answers:
            raise AdminError("no broker")
        return METADATA


def test_an_answer_that_is_too_old_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """An alert on the exporter's own metric tells why the others are missing."""

    def names(_: Any) -> Sequence[str]:
        return []

    monkeypatch.setattr(facade, "names", names)
    monkeypatch.setattr(facade, "groups", lambda _admin, _names: {})
    monkeypatch.setattr(facade, "ends", lambda _admin, _places: ENDS)
    settings = {"interval": 10, "racks": {"1": "a"}, "groups": [".*"], "groups_exclude": []}
    exporter, cluster = server.Exporter(10), Cluster()

    def served(later: float) -> dict[str, Any]:
        now = (exporter.last.taken if exporter.last else NOW) + later
        return {one.name: dict(one.samples) for one in exporter.current(now)}

    assert served(0)["kafka_exporter_up"] == {(): 0}
    exporter.read(cluster, settings)  # type: ignore[arg-type]
    assert served(30)["kafka_exporter_up"] == {(): 1} and "kafka_brokers" in served(30)
    cluster.answers = False
    exporter.read(cluster, settings)  # type: ignore[arg-type]
    assert served(29)["kafka_brokers"] == {(): 2}, "of the last answer"
    assert served(31) == {**served(31), "kafka_exporter_up": {(): 0}, "kafka_exporter_failures": {(): 1}}
    assert "kafka_brokers" not in served(31)
