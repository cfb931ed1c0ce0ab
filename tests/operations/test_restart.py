"""A changed setting: every broker is restarted once, one at a time, each back in every ISR before the next.

Nothing else is restarted.

The run that wrote it was interrupted, and a later one makes the restarts; while one runs, a second one is refused.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from faults.lab import Lab, until, until_none

from operations.conftest import Operator, kill
from operations.second_run import run_with_a_second_one

CHANGE = '{"kafka_heap": "250m"}'
NOBODY = 999
"""The id of no broker."""


class Watch(threading.Thread):
    """Asks for the metadata all the time; notes the fewest brokers, and a partition's fewest replicas in sync."""

    def __init__(self, admin: AdminClient, topic: str) -> None:
        """Watch one topic."""
        super().__init__(daemon=True)
        self.admin, self.topic = admin, topic
        self.stop = threading.Event()
        self.fewest_isr, self.answers = 99, 0

    def run(self) -> None:
        """Ask until told to stop."""
        while not self.stop.wait(0.05):
            try:
                partitions = self.admin.list_topics(self.topic, timeout=5).topics[self.topic].partitions.values()
            except KafkaException:
                continue
            self.answers += bool(partitions)  # none from a broker that has just started, and knows no topic yet
            self.fewest_isr = min([self.fewest_isr, *(len(partition.isrs) for partition in partitions)])


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Return the hosts with another process than before."""
    return {host for host in before if before[host] != after[host]}


def started(operator: Operator) -> list[float]:
    """Return the start times of the brokers' processes, sorted."""
    command = "systemctl show -p ExecMainStartTimestampMonotonic --value kafka"
    return sorted(int(operator.inventory.run(host, command)) / 1e6 for host in operator.inventory.hosts("kafka"))


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
    operator: Operator, as_declared: None, tmp_path: Path
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
    assert watch.answers > 50 and watch.fewest_isr == 2, (
        f"{watch.answers} answers, fewest in-sync replicas {watch.fewest_isr}"
    )
    assert_back_to_declared(operator, tmp_path / "locks")


def assert_back_to_declared(operator: Operator, locks: Path) -> None:
    """Undo the change by running without it; a run with --limit restarts only that broker, the next one the others.

    Beside the limited one somebody else begins another run.
    """
    first, *others = operator.inventory.hosts("kafka")
    before = operator.processes()
    run_with_a_second_one(operator, first, others[0], locks)
    assert operator.play("kafka").code == 0
    assert changed(before, operator.processes()) == {first, *others}


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

    until_none("preferred leaders", led_by_another, 5)  # not every broker hears of an election at once
    run = operator.play("check")
    assert run.code == 0 and "\nHEALTHY\n" in run.output, run.output[-3000:]


def test_check_names_a_stopped_broker_and_fails(operator: Operator) -> None:
    broker = operator.inventory.hosts("kafka")[-1]
    operator.inventory.run(broker, "systemctl stop kafka")
    try:
        run = operator.play("check")
    finally:
        Lab(operator.inventory).heal()
    assert run.code != 0
    assert f"broker {operator.inventory.broker_id(broker)} is not registered" in run.output
    assert f"kafka.service on {broker} is inactive" in run.output
