"""A topic that is deleted and made anew, against brokers on loopback that speak Kafka's protocol; no JVM."""

from collections.abc import Iterator
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run, modules

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import one_topic
from ansible_collections.millrace.kafka.plugins.modules import kafka_topic


@pytest.fixture
def orders() -> FakeCluster:
    """A topic of two partitions with a setting."""
    cluster = FakeCluster()
    cluster.topics, cluster.configs = {"orders": [[1, 2, 3], [2, 3, 1]]}, {"orders": {"retention.ms": "5"}}
    return cluster


@pytest.fixture
def run(orders: FakeCluster, capsys: pytest.CaptureFixture[str], patient: None) -> Iterator[Run]:
    with modules(orders, capsys) as run:
        yield run


def anew(run: Run, **more: Any) -> dict[str, Any]:
    return run(kafka_topic, do="recreate", **{"topic": "orders", "confirm": "orders", **more})


def test_a_topic_anew(run: Run, orders: FakeCluster) -> None:
    """Check mode shows the whole declaration, and needs no word of consent."""
    declared = {"name": "orders", "partitions": 2, "replication_factor": 3, "config": {"retention.ms": "5"}}
    shown = anew(run, check_mode=True, confirm="")
    assert shown["changed"] and orders.written == []
    assert shown["declaration"] == {**declared, "replicas": [[1, 2, 3], [2, 3, 1]]}
    assert anew(run)["changed"] and orders.written == ["delete orders", "create orders"]
    assert orders.topics == {"orders": [[1, 2, 3], [2, 3, 1]]} and orders.configs == {"orders": {"retention.ms": "5"}}


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_topic_that_is_not_whole_is_not_deleted(run: Run, orders: FakeCluster, check_mode: bool) -> None:
    """The brokers that are there would delete their records at once, and the topic could not be made."""
    orders.down = {3}
    done = anew(run, check_mode=check_mode)
    assert done["failed"] and "topic orders: broker 3 is down, so it could not be deleted" in done["msg"]
    assert orders.written == []


@pytest.mark.parametrize("check_mode", [True, False])
def test_one_partition_is_not_made_anew(run: Run, orders: FakeCluster, check_mode: bool) -> None:
    """Whoever names one does not mean the whole topic."""
    done = anew(run, check_mode=check_mode, partition=1)
    assert done["failed"] and "only a whole topic can be recreated" in done["msg"]
    assert orders.written == []


def test_the_clusters_own_topics_are_not_made_anew(run: Run, orders: FakeCluster) -> None:
    orders.topics["_own"] = [[1, 2, 3]]
    done = anew(run, check_mode=True, topic="_own", confirm="_own")
    assert done["failed"] and "is internal, as all names that begin with _" in done["msg"]


def test_a_delete_that_is_under_way(run: Run, orders: FakeCluster) -> None:
    """It was answered with a timeout, and done a little later: the topic is made all the same."""
    orders.lingering = {"orders": 1}
    done = anew(run)
    assert done["changed"] and not done.get("failed")
    assert orders.topics == {"orders": [[1, 2, 3], [2, 3, 1]]} and orders.configs == {"orders": {"retention.ms": "5"}}


def test_a_delete_that_does_not_end(run: Run, orders: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was is said, for nobody else knows it by then."""
    orders.lingering = {"orders": 99}
    monkeypatch.setattr(one_topic, "WRITE", 0.5)
    done = anew(run)
    assert done["failed"] and done["changed"] and done["declaration"]["config"] == {"retention.ms": "5"}
    assert "recreate: its deletion may be in progress (" in done["msg"] and "(REQUEST_TIMED_OUT))" in done["msg"]
    assert (
        'declare it as {"name": "orders", "partitions": 2, "replication_factor": 3, "config": {"retention.ms": "5"}}'
        in done["msg"]
    )


def test_a_delete_that_is_refused(run: Run, orders: FakeCluster) -> None:
    orders.refused = {"orders": "Policy says no."}
    done = anew(run)
    assert "nothing was changed: Broker: Policy violation (POLICY_VIOLATION)" in done["msg"] and orders.written == []
