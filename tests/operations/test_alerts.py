"""Alerts of the lag exporter are fired by real faults, and end after them; on a healthy cluster, none fires.

Those of hosts, brokers and ZooKeeper servers are in test_metric_alerts.py.
"""

import time
from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from faults.inventory import Inventory
from faults.lab import Lab, until

from operations.watched import Watch, found

HOUR = 3600
SILENT = 600
"""Seconds."""


@pytest.mark.campaign
def test_a_healthy_cluster_is_silent(inventory: Inventory) -> None:
    """For ten minutes of scrapes."""
    scrapes = f"count_over_time(lag_exporter_up[{SILENT}s]) >= {SILENT // 15 - 1}"
    until("ten minutes of scrapes", lambda: found(inventory, scrapes), 2 * SILENT, 5)
    assert found(inventory, f'max_over_time(ALERTS{{alertstate="firing"}}[{SILENT}s])') == []


def test_the_exporter_is_stopped(inventory: Inventory, watch: Watch) -> None:
    """Prometheus notices that it gets no metrics."""
    (host,) = inventory.hosts("monitoring")
    watch.fault(
        "the exporter is stopped",
        {"LagExporterDown"},
        lambda: inventory.run(host, "systemctl stop lag-exporter"),
        lambda: inventory.run(host, "systemctl start lag-exporter"),
    )


@pytest.mark.campaign
def test_a_group_does_not_read(inventory: Inventory, watch: Watch, created: Callable[..., str]) -> None:
    """A record of an hour ago is the first that it has not read."""
    topic = created(partitions=1)
    own = {**inventory.kafka_properties, "group.id": topic, "enable.auto.commit": False}

    def write_one() -> None:
        producer = Producer({**inventory.kafka_properties})
        producer.produce(topic, b"old", timestamp=int((time.time() - HOUR) * 1000))
        assert producer.flush(30) == 0

    with closing(Consumer(own)) as reader:

        def commit(offset: int) -> None:
            reader.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)

        write_one()
        watch.fault(
            "a consumer group stops before a record of an hour ago",
            {"KafkaLagSeconds"},
            lambda: commit(0),
            lambda: commit(1),
        )


@pytest.mark.campaign
def test_a_broker_is_killed(inventory: Inventory, hurt: Lab, watch: Watch, created: Callable[..., str]) -> None:
    """It stays down; one topic has its only replica there."""
    broker = inventory.hosts("kafka")[0]
    created(partitions=1, replicas=[inventory.broker_id(broker)])
    watch.fault(
        "a broker is killed and stays down; a topic has its only replica there",
        {"KafkaPartitionOffline", "KafkaBrokerMissing", "KafkaUnderReplicated", "LagExporterIncomplete"},
        lambda: hurt.kill_and_keep_down(broker, "kafka.service"),
        hurt.heal,
    )


@pytest.mark.campaign
def test_all_brokers_are_killed(inventory: Inventory, hurt: Lab, watch: Watch) -> None:
    """Then nothing of the cluster is known."""

    def kill() -> None:
        for broker in inventory.hosts("kafka"):
            hurt.kill_and_keep_down(broker, "kafka.service")

    watch.fault("all brokers are killed", {"KafkaClusterSilent"}, kill, hurt.heal)
