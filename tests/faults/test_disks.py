"""One of the two log dirs of a broker is lost under load: the broker goes on with the other, and is whole with a new disk."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .disks import UNIT, Disk
from .inventory import ROOT
from .lab import Lab, until
from .ledger import Ack, Writer, load, longest_gaps, read_all
from .promises import FULL, GAP, GIVEN_UP, Clock

BEFORE, AFTER = 500, 500
PATH = "/data/kafka2"


@pytest.fixture
def disk(lab: Lab, topic: str) -> Iterator[Disk]:
    """The second disk of the broker that leads partition 0; afterwards the lab has its own again."""
    found = Disk(lab.inventory, lab.leader(topic), PATH)
    yield found
    if found.failed:
        found.restore()


def health(lab: Lab) -> str:
    """Return the page of check.yml on the brokers, '' where it ends with exit status 0."""
    command = ["ansible-playbook", "-i", str(lab.inventory.directory), "-l", "kafka", "playbooks/check.yml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, stdin=subprocess.DEVNULL)
    return done.stdout if done.returncode else ""


def lose(lab: Lab, topic: str, disk: Disk, act: Callable[[], None], fault: str, said: str) -> Clock:
    """The disk fails: the replicas on it leave their ISRs, the broker stays in the others, and check.yml names host and directory."""
    number, pid = lab.inventory.broker_id(disk.host), lab.pid(disk.host, UNIT)
    folders = lab.inventory.run(disk.host, f"ls {PATH}").split()
    there = {partition for partition in lab.partitions(topic) if f"{topic}-{partition}" in folders}
    assert 0 < len(there) < len(lab.partitions(topic)), f"both disks hold some partitions: {folders}"

    clock = Clock(fault)
    act()
    clock.wait(GIVEN_UP, lambda: {n for n, partition in lab.partitions(topic).items() if number not in partition.isr} == there)
    page = health(lab)
    assert f"{disk.host}:{PATH} fails: {said}" in page, page
    assert f"the broker on {disk.host} has given up {PATH}" in page, page
    assert lab.pid(disk.host, UNIT) == pid, "the broker did not go on"
    assert {n for n, partition in lab.partitions(topic).items() if number not in partition.isr} == there
    return clock


def mend(lab: Lab, act: Callable[[], None], clock: Clock) -> None:
    """A disk that works is in place, and the broker was started: every ISR is full again, no later than promised."""
    act()
    mended = Clock(clock.fault)
    mended.wait_none(FULL, lab.broker_problems)
    clock.compare(FULL, mended.promises[FULL] - mended.left(FULL))


def test_a_disk_dies_and_the_one_in_its_place_turns_read_only(lab: Lab, topic: str, disk: Disk, tmp_path: Path, note: Callable[[str], None]) -> None:
    """Two faults of one log dir, a disk exchanged after each: an empty one first, then the one with old data."""
    with Writer(lab.inventory.kafka_properties, topic, tmp_path, run=topic, rate=200) as writer:
        until("records before the faults", lambda: writer.acked >= BEFORE, 60)
        errors = lose(lab, topic, disk, disk.gives_errors, "a disk of a broker gives I/O errors", "Input/output error")
        mend(lab, disk.exchange, errors)
        read_only = lose(lab, topic, disk, disk.turns_read_only, "a disk of a broker turns read-only", "Read-only file system")
        mend(lab, disk.restore, read_only)
        whole = writer.acked
        until("records after the faults", lambda: writer.acked >= whole + AFTER, 60)
    assert health(lab) == ""

    ledger = load(tmp_path)
    report = ledger.compare(read_all(lab.inventory.kafka_properties, topic))
    assert report.ok, f"{topic}: {report}"
    assert ledger.unknown == {}, "sends failed"

    def gap(since: float, until: float) -> float:
        return max(longest_gaps(Ack(ack.key, ack.partition, min(ack.at, until)) for ack in ledger.acks if ack.at >= since).values())

    errors.compare(GAP, gap(0, read_only.start))
    read_only.compare(GAP, gap(read_only.start - 1, float("inf")))
    note(f"{disk.host}:{PATH}: I/O errors: {errors}; read-only: {read_only}; {report}")
