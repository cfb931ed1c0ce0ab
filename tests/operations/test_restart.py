"""A changed setting: every broker is restarted once, one at a time, each back in every ISR before the next.

Nothing else is restarted.

The run that wrote it was interrupted, and a later run makes the restarts.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from faults.lab import Lab, until, until_none

from operations import watched
from operations.conftest import Operator, kill

CHANGE = '{"kafka_heap": "250m"}'
NOBODY = 999
"""The id of no broker."""


class Watch(threading.Thread):
    """Asks for the metadata of a topic all the time; notes the sets of brokers that are out of a partition's ISR."""

    def __init__(self, admin: AdminClient, topic: str) -> None:
        """Watch one topic."""
        super().__init__(daemon=True)
        self.admin, self.topic = admin, topic
        self.stop = threading.Event()
        self.out_of_sync = set[frozenset[int]]()

    def run(self) -> None:
        """Ask until told to stop."""
        while not self.stop.wait(0.05):
            try:
                partitions = self.admin.list_topics(self.topic, timeout=5).topics[self.topic].partitions.values()
            except KafkaException:
                continue
            self.out_of_sync |= {frozenset(one.replicas) - frozenset(one.isrs) for one in partitions}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Return the hosts with another process than before."""
    return {host for host in before if before[host] != after[host]}


def restarts(operator: Operator, host: str, since: str) -> int:
    """Return how often systemd started the broker since then."""
    return operator.inventory.run(host, f"journalctl -u kafka --since '{since}' --no-pager").count(
        "Started kafka.service"
    )


def with_the_change(operator: Operator) -> list[str]:
    """Return the brokers whose unit has the change."""
    command = "grep -c Xmx250m /etc/systemd/system/kafka.service || true"
    return [host for host in operator.inventory.hosts("kafka") if operator.inventory.run(host, command) == "1\n"]


@pytest.fixture
def as_declared(operator: Operator) -> Iterator[None]:
    """Afterwards the brokers are as the inventory says, also where the test failed."""
    yield
    if with_the_change(operator):
        assert operator.play("kafka").code == 0


def interrupt_before_the_first_restart(operator: Operator) -> None:
    """Leave what a control node leaves that dies between writing the brokers' files and their first restart.

    Until it dies it waits for one broker more than there are, without which none may be stopped.
    """
    before, brokers = operator.processes(), list(operator.inventory.hosts("kafka"))
    assert with_the_change(operator) == []
    waited_for = [*map(operator.inventory.broker_id, brokers), NOBODY]
    run = operator.begin("kafka", "-e", CHANGE, "-e", json.dumps({"kafka_restart_brokers": waited_for}))
    try:
        until("every broker's file is new", lambda: with_the_change(operator) == brokers, 300)
    finally:
        kill(run)
    assert operator.processes() == before, "a broker was restarted already"


def test_restarts_that_an_interrupted_run_left_owed_are_made_one_at_a_time_and_nothing_else(
    operator: Operator, as_declared: None
) -> None:
    """The files are new and the processes old; the next run changes no file, and restarts brokers once, one by one."""
    brokers = list(operator.inventory.hosts("kafka"))
    lab = Lab(operator.inventory)
    topic = f"restart-{time.time_ns()}"
    lab.create_topic(topic)
    since = operator.inventory.run(brokers[0], "date '+%Y-%m-%d %H:%M:%S'").strip()
    before = operator.processes()
    interrupt_before_the_first_restart(operator)
    watch = Watch(lab.admin, topic)
    watch.start()
    try:
        run = operator.play("site", "-e", CHANGE, "--diff")
    finally:
        watch.stop.set()
        watch.join(10)
        lab.delete_topic(topic)
    assert run.code == 0, run.output[-3000:]
    assert "Xmx" not in run.output, "a file was written anew"
    assert_healthy(operator)
    assert changed(before, operator.processes()) == set(brokers)
    assert {host: restarts(operator, host, since) for host in brokers} == dict.fromkeys(brokers, 1)
    one_at_a_time = {frozenset({operator.inventory.broker_id(host)}) for host in brokers}
    assert watch.out_of_sync - {frozenset()} == one_at_a_time
    before = operator.processes()
    assert operator.play("kafka").code == 0
    assert changed(before, operator.processes()) == set(brokers)


def assert_healthy(operator: Operator) -> None:
    """The page says so, and the exit code; every partition is led by its preferred replica, after restarts too."""
    admin = AdminClient({**operator.inventory.kafka_properties})

    def led_by_another() -> list[str]:
        partitions = [
            (topic.topic, p)
            for topic in admin.list_topics(timeout=10).topics.values()
            for p in topic.partitions.values()
        ]
        few = [f"{len(partitions)} partitions"] if len(partitions) <= 10 else []
        return few + [f"{topic}-{p.id}" for topic, p in partitions if p.leader != p.replicas[0]]

    until_none("preferred leaders", led_by_another, 60)  # not every broker hears of an election at once
    run = operator.play("check")
    assert run.code == 0 and "\nHEALTHY\n" in run.output, run.output[-3000:]


def test_check_names_a_stopped_broker_and_fails(
    operator: Operator, watch: watched.Watch, created: Callable[..., str]
) -> None:
    """So does an alert, where a topic has its only replica there."""
    broker, lab = operator.inventory.hosts("kafka")[-1], Lab(operator.inventory)
    created(partitions=1, replicas=[operator.inventory.broker_id(broker)])
    operator.inventory.run(broker, "systemctl stop kafka")
    try:
        run = operator.play("check")
        if operator.inventory.hosts("monitoring"):
            watch.seconds({"KafkaPartitionOffline"}, True)
    finally:
        lab.heal()
    assert run.code != 0
    assert f"broker {operator.inventory.broker_id(broker)} is not registered" in run.output
    assert f"kafka.service on {broker} is inactive" in run.output
