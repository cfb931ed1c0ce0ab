"""kill -9 while a producer writes with acks=all: nothing acknowledged is missing, and all is whole again in time."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from .lab import Lab, until
from .ledger import longest_gaps
from .promises import BACK, ENSEMBLE, FULL, GAP, Clock
from .verdict import verdict
from .writer import Writer

pytestmark = pytest.mark.timed
BEFORE, AFTER = 1000, 500  # records acknowledged before the kill, and more of them once all is whole again


def kill_while_writing(
    lab: Lab, topic: str, directory: Path, host: str, unit: str, noticed: Callable[[Clock], object], fault: str
) -> str:
    """Kill a unit under load, wait until all is whole by itself, write on, re-read all; return the summary's line.

    Metadata names a dead broker as in sync until its session ends: without `noticed`, all would look whole too early.
    """
    with Writer(lab.inventory.kafka_properties, topic, directory, run=topic) as writer:
        until("records before the kill", lambda: writer.acked >= BEFORE, 60)
        pid = lab.pid(host, unit)
        clock = Clock(fault)
        lab.kill(host, unit)
        noticed(clock)
        clock.wait(BACK, lambda: lab.pid(host, unit) not in (0, pid))
        clock.wait_none(ENSEMBLE, lab.zookeeper_problems)
        clock.wait_none(FULL, lab.broker_problems)
        whole, enough = time.monotonic(), writer.acked + AFTER
        until("records after the kill", lambda: writer.acked >= enough, 60)
    ledger, report = verdict(lab, topic, directory, whole)
    assert report.acknowledged >= BEFORE + AFTER
    gaps = longest_gaps(ledger.acks, lab.partitions(topic))
    clock.compare(GAP, max(gaps.values()))
    return f"{clock}; best off partition {min(gaps.values()):.1f} s; {report}"


def in_sync(lab: Lab, topic: str, host: str) -> bool:
    """Tell whether a broker is in every ISR of the topic; an answer that did not come counts as yes."""
    number = lab.inventory.broker_id(host)
    try:
        return all(number in partition.isr for partition in lab.partitions(topic).values())
    except KafkaException:
        return True


def test_broker_killed(lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None]) -> None:
    """The leader of a partition dies; its unit unregisters it, systemd starts it again, and every ISR is full."""
    host = lab.leader(topic)
    controller = lab.admin.describe_cluster().result(10).controller
    role = "the controller" if controller and lab.inventory.broker_id(host) == controller.id else "not the controller"

    def noticed(_: Clock) -> None:
        until(f"{host} is missed", lambda: not in_sync(lab, topic, host), 60)

    mark = lab.mark(host, "kafka.service")
    said = kill_while_writing(lab, topic, tmp_path, host, "kafka.service", noticed, "kill -9 of a broker")
    journal = lab.said(host, "kafka.service", mark)
    assert "removed the registration of broker" in journal, f"{host} did not unregister its broker (kafka_fencing)"
    note(f"{host} ({role}): {said}")


def test_zookeeper_leader_killed(lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None]) -> None:
    """The ensemble elects another leader, the killed server comes back, and metadata can be changed again."""
    host, epoch = lab.zookeeper_leader(), lab.zookeeper_epoch()

    def elected(clock: Clock) -> None:
        clock.wait(
            "another leader",
            lambda: "leader" in [said.get("Mode") for server, said in lab.zookeeper().items() if server != host],
        )

    said = kill_while_writing(
        lab, topic, tmp_path, host, "zookeeper.service", elected, "kill -9 of the ZooKeeper leader"
    )
    assert lab.zookeeper_epoch() > epoch, "no election took place"
    lab.create_topic(f"{topic}-after")
    lab.delete_topic(f"{topic}-after")
    note(f"{host}: {said}; leader now {lab.zookeeper_leader()}")
