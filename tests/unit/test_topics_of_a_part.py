"""Topics while a rack is down, a broker is slow, or replicas move; brokers on loopback that speak Kafka's protocol."""

from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run

from ansible_collections.millrace.kafka.plugins.modules import kafka_topics

ORDERS: dict[str, Any] = {"name": "orders", "partitions": 3, "replication_factor": 2}
BROKERS = [{"id": 1, "rack": "a"}, {"id": 2, "rack": "b"}, {"id": 3, "rack": "c"}]


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster()
    cluster.brokers["min.insync.replicas"] = "1"
    return cluster


def test_a_rack_that_is_down(run: Run, cluster: FakeCluster) -> None:
    """What would be placed without it for good is refused; without the inventory nobody knows of it."""
    cluster.down = {3}
    done = run(kafka_topics, topics=[ORDERS], brokers=BROKERS)
    assert done["failed"] and cluster.written == []
    assert "\n- topic orders: all brokers of rack c are down (3)" in done["msg"]
    assert run(kafka_topics, topics=[ORDERS])["changed"]


def test_settings_do_not_wait_for_a_rack(run: Run, cluster: FakeCluster) -> None:
    cluster.down, cluster.topics = {3}, {"orders": [[1, 2]] * 3}
    done = run(kafka_topics, topics=[{**ORDERS, "config": {"retention.ms": "864000000"}}], brokers=BROKERS)
    assert done["plan"]["update"] == ["orders"] and cluster.written == ["configure orders"]


def test_a_broker_that_does_not_say_its_rack(run: Run, cluster: FakeCluster) -> None:
    cluster.mute = {3}
    done = run(kafka_topics, topics=[ORDERS])
    assert "\n- topic orders: broker 3 did not report its rack; run again when it answers" in done["msg"]
    assert cluster.written == []


def test_a_topic_whose_replicas_move(run: Run, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left alone with a word, others are made."""
    warned: list[str] = []
    monkeypatch.setattr(AnsibleModule, "warn", lambda _, text: warned.append(text))
    cluster.topics, cluster.moving = {"orders": [[1, 2, 3]] * 3}, {"orders": [0, 1, 2]}
    done = run(kafka_topics, topics=[ORDERS, {**ORDERS, "name": "new"}])
    assert (done["plan"]["create"], done["plan"]["unmanaged"]) == (["new"], ["orders"])
    assert warned == ["topic orders: is not changed, its replicas are being moved; run again afterwards"]
    cluster.moving = {}
    done = run(kafka_topics, topics=[ORDERS])
    assert "has 3 replicas, 2 are declared" in done["msg"]
