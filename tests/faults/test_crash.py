"""kill -9 while a producer writes with acks=all: nothing that was acknowledged is missing afterwards."""

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaException

from .lab import Lab, until
from .ledger import Ledger, Writer, load, longest_gaps, read_all

BEFORE, AFTER = 1000, 500  # records acknowledged before the kill, and more of them once all is whole again


def kill_while_writing(lab: Lab, topic: str, directory: Path, host: str, unit: str, noticed: Callable[[], bool]) -> tuple[Ledger, float]:
    """Kill a unit under load, wait until it is back by itself and all is whole, write on; return the ledger and when it was.

    Metadata names a dead broker as in sync until its session ends: without `noticed`, all would look whole too early.
    """
    with Writer(lab.inventory.kafka_properties, topic, directory, run=topic) as writer:
        until("records before the kill", lambda: writer.acked >= BEFORE, 60)
        pid = lab.pid(host, unit)
        at = time.monotonic()
        lab.kill(host, unit)
        until(f"{host} is missed", noticed, 60)
        until(f"{host}: {unit} is started again by systemd", lambda: lab.pid(host, unit) not in (0, pid), 30)
        lab.wait()
        whole = writer.acked
        until("records after the kill", lambda: writer.acked >= whole + AFTER, 60)
    return load(directory), at


def in_sync(lab: Lab, topic: str, host: str) -> bool:
    """Tell whether a broker is in every ISR of the topic; an answer that did not come counts as yes."""
    number = lab.inventory.broker_id(host)
    try:
        return all(number in partition.isr for partition in lab.partitions(topic).values())
    except KafkaException:
        return True


def check(lab: Lab, topic: str, ledger: Ledger, at: float) -> str:
    """Compare with a full re-read; every partition takes records again. Return the line for the summary."""
    report = ledger.compare(read_all(lab.inventory.kafka_properties, topic))
    assert report.ok, f"{topic}: {report}"
    assert report.acknowledged >= BEFORE + AFTER
    written = {ack.partition for ack in ledger.acks if ack.at > at}
    assert written == lab.partitions(topic).keys(), f"partitions acknowledging after the kill: {sorted(written)}"
    gaps = longest_gaps(ledger.acks)
    worst = max(gaps, key=lambda partition: gaps[partition])
    longest = f"longest ack gap {gaps[worst]:.2f} s (partition {worst}; best off {min(gaps.values()):.2f} s)"
    return f"{report}; {longest}, {len(ledger.unknown)} sends unknown"


def test_broker_killed(lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None]) -> None:
    """The leader of a partition dies; systemd starts it again, and every ISR is full."""
    host = lab.leader(topic)
    controller = lab.admin.describe_cluster().result(10).controller
    role = "the controller" if controller and lab.inventory.broker_id(host) == controller.id else "not the controller"
    ledger, at = kill_while_writing(lab, topic, tmp_path, host, "kafka.service", lambda: not in_sync(lab, topic, host))
    note(f"{host} ({role}): {check(lab, topic, ledger, at)}")


def test_zookeeper_leader_killed(lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None]) -> None:
    """The ensemble elects another leader, the killed server comes back, and metadata can be changed again."""
    host, epoch = lab.zookeeper_leader(), lab.zookeeper_epoch()
    ledger, at = kill_while_writing(lab, topic, tmp_path, host, "zookeeper.service", lambda: not lab.zookeeper()[host])
    assert lab.zookeeper_epoch() > epoch, "no election took place"
    lab.create_topic(f"{topic}-after")
    lab.delete_topic(f"{topic}-after")
    note(f"{host}: {check(lab, topic, ledger, at)}; leader now {lab.zookeeper_leader()}")
