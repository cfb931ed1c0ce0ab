"""Each alert is fired by a real fault, and ends after it; on a healthy cluster, none fires."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from faults.inventory import Inventory
from faults.lab import Lab, until
from observations import read, write

from operations.watched import firing, found

pytestmark = pytest.mark.campaign
HOUR = 3600
LONGEST = 1500
"""Seconds; KafkaUnderReplicated waits for 15 minutes."""
SILENT = 600
"""Seconds."""


@dataclass(frozen=True)
class Watch:
    """Measures how long alerts take to fire and to end."""

    inventory: Inventory
    file: Path | None
    note: Callable[[str], None]

    def fault(self, text: str, names: set[str], cause: Callable[[], object], cure: Callable[[], object]) -> None:
        """Cause a fault until these alerts fire, cure it, wait for their end, and keep the seconds of both."""
        try:
            cause()
            fires = self.seconds(names, True)
        finally:
            cure()
        ends = self.seconds(names, False)
        for name in sorted(names):
            values = {"fault": text, "fires": fires[name], "ends": ends[name]}
            self.note(f"{name}: {json.dumps(values)}")
            if self.file:
                write(self.file, json.dumps({**read(self.file), name: values}, indent=1) + "\n")

    def seconds(self, names: set[str], there: bool) -> dict[str, int]:
        """Return how long it takes from now on until each of these alerts fires, or has ended."""
        began, taken = time.monotonic(), dict[str, int]()

        def turned() -> bool:
            now = firing(self.inventory)
            for name in names - taken.keys():
                if (name in now) is there:
                    taken[name] = round(time.monotonic() - began)
            return taken.keys() == names

        until(f"{', '.join(sorted(names))} {'fire' if there else 'end'}", turned, LONGEST, 2)
        return taken


@pytest.fixture
def watch(inventory: Inventory, pytestconfig: pytest.Config, note: Callable[[str], None]) -> Watch:
    return Watch(inventory, pytestconfig.getoption("--alerts-record"), note)


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


def test_a_group_does_not_read(inventory: Inventory, watch: Watch) -> None:
    """A record of an hour ago is the first that it has not read."""
    lab, topic = Lab(inventory), f"alerts-{time.time_ns()}"
    lab.create_topic(topic, partitions=1)
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
    lab.delete_topic(topic)


def test_a_broker_is_killed(inventory: Inventory, watch: Watch) -> None:
    """It stays down; one topic has its only replica there."""
    lab, topic, broker = Lab(inventory), f"alerts-{time.time_ns()}", inventory.hosts("kafka")[0]
    lab.create_topic(topic, partitions=1, replicas=[inventory.broker_id(broker)])
    watch.fault(
        "a broker is killed and stays down; a topic has its only replica there",
        {"KafkaPartitionOffline", "KafkaBrokerMissing", "KafkaUnderReplicated", "LagExporterIncomplete"},
        lambda: lab.kill_and_keep_down(broker, "kafka.service"),
        lab.heal,
    )
    lab.delete_topic(topic)


def test_all_brokers_are_killed(inventory: Inventory, watch: Watch) -> None:
    """Then nothing of the cluster is known."""
    lab = Lab(inventory)

    def kill() -> None:
        for broker in inventory.hosts("kafka"):
            lab.kill_and_keep_down(broker, "kafka.service")

    watch.fault("all brokers are killed", {"KafkaClusterSilent"}, kill, lab.heal)
