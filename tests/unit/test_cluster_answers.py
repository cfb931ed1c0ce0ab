"""What kafka_cluster and kafka_gate answer where not all is told; brokers on loopback, no JVM."""

import json
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers

from ansible_collections.millrace.kafka.plugins.modules import kafka_cluster, kafka_gate

ALL = [1, 2, 3]


def answer(cluster: FakeCluster, kind: ModuleType, capsys: pytest.CaptureFixture[str], **options: Any) -> Any:
    """Run a module against brokers; return what it said."""
    with brokers(cluster) as servers:
        said = {"listeners": {"CLIENT": {"bootstrap.servers": servers.split(",")[1]}}, "brokers": ALL, **options}
        with patch_module_args(said), pytest.raises(SystemExit):
            kind.main()
    return json.loads(capsys.readouterr().out)


def test_without_the_second_library_it_is_named(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is needed where a broker is asked by itself."""

    def missing(*_: object) -> None:
        raise ImportError("No module named 'kafka'", name="kafka-python")

    monkeypatch.setattr(kafka_cluster, "confirmed", missing)
    said = answer(cluster, kafka_cluster, capsys, fail=False)
    assert said["failed"] and "kafka-python" in said["msg"], said


def test_racks_that_are_not_told_are_unknown(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever may not ask for settings sees the rest."""
    cluster.denied = {"describe_configs"}
    said = answer(cluster, kafka_cluster, capsys, fail=False)
    assert {number: facts["rack"] for number, facts in said["brokers"].items()} == {"1": "?", "2": "?", "3": "?"}
    assert said["problems"] == []


def test_a_replica_that_is_on_its_way_lacks_nowhere(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Moving takes hours, and nothing is wrong meanwhile; what lacks besides is said."""
    replica = {"error_code": 0, "leader_id": 1, "replica_nodes": [3, 1, 2], "isr_nodes": [1, 2]}
    parts = [{**replica, "partition_index": number} for number in (0, 1)]
    topic = {"error_code": 0, "name": "t", "is_internal": False, "partitions": parts}
    cluster.topics = {"t": [[1, 2], [1, 2]]}
    cluster.says = {broker: {"topics": [topic]} for broker in ALL}
    cluster.moving, cluster.arriving = {"t": [0]}, {("t", 0): [3]}
    said = answer(cluster, kafka_cluster, capsys, fail=False)
    assert said["problems"] == ["1 under-replicated partitions (t-1)"]
    assert said["lacking"] == {"under_replicated": ["t-1 without 3"]}
    assert said["out_of_sync"] == {"3": 1}
    cluster.moving, cluster.arriving = {"t": [0, 1]}, {("t", 0): [3], ("t", 1): [3]}
    said = answer(cluster, kafka_cluster, capsys, timeout=60)
    assert (said["problems"], said["under_replicated"]) == ([], 0)


def test_whom_a_run_has_stopped_is_said(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """The gate closes in the middle of an outage: who asked has to know that a broker is down."""
    cluster.topics, cluster.configs = {"t": [[2, 3, 1]]}, {"t": {"min.insync.replicas": "2"}}
    cluster.down = {1}
    said = answer(cluster, kafka_gate, capsys, stop=[1, 2], stopped=[1], timeout=2)
    assert "This run has stopped broker 1, which start.yml starts again; no other" in said["msg"], said
    none = answer(cluster, kafka_gate, capsys, stop=[2], timeout=2)
    assert "No broker was stopped" in none["msg"], none
