"""One of the two log dirs of a broker is lost under load: it goes on with the other, and is whole with a new disk."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from operations.conftest import Run

from .containers import podman
from .disks import UNIT, Disk
from .inventory import ROOT
from .lab import Lab, until, until_none
from .ledger import longest_gaps
from .promises import BACK, FULL, GAP, GIVEN_UP, Clock
from .verdict import verdict
from .writer import Writer

pytestmark = pytest.mark.timed
BEFORE, AFTER = 500, 500
TRIES = 12
OTHER, PATH = "/data/kafka1", "/data/kafka2"
UnderLoad = Callable[[Callable[[], Clock]], None]


@pytest.fixture
def disk(lab: Lab, topic: str) -> Iterator[Disk]:
    """The second disk of the broker that leads partition 0; afterwards the lab has its own again.

    Both disks hold some of the topic, and the broker leads some on the second: the topic is made anew after others
    where it does not, as a broker gives all of one to its emptier disk.
    """
    others = list[str]()
    while not divided(lab, topic, lab.leader(topic)):
        assert len(others) < TRIES, "one disk holds all of each topic, or what others lead"
        others.append(f"{topic}-other{len(others)}")
        lab.delete_topic(topic)
        lab.create_topic(others[-1])
        lab.create_topic(topic)
    found = Disk(lab.inventory, lab.leader(topic), PATH)
    yield found
    if found.failed:
        found.restore()
    lab.heal()
    for name in others:
        lab.delete_topic(name)


def run(lab: Lab, *arguments: str) -> Run:
    """Run a playbook on the lab; return its exit status and output."""
    command = ["ansible-playbook", "-i", str(lab.inventory.directory), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, stdin=subprocess.DEVNULL)
    return Run(done.returncode, done.stdout + done.stderr, {})


def play(lab: Lab, *arguments: str) -> tuple[int, str]:
    """Run a playbook on the lab; return its exit status and output, with each run of whitespace as one space."""
    done = run(lab, *arguments)
    return done.code, one_line(done.output)


def one_line(text: str) -> str:
    """Return a text with each run of whitespace as one space."""
    return re.sub(r"\s+", " ", text)


def health(lab: Lab) -> str:
    """Return the page of check.yml on the brokers, '' where it ends with exit status 0."""
    status, page = play(lab, "-l", "kafka", "playbooks/check.yml")
    return page if status else ""


def held(lab: Lab, topic: str, host: str) -> set[int]:
    """Return the partitions of which the second disk of a broker holds a replica."""
    folders = lab.inventory.run(host, f"ls {PATH}").split()
    return {partition for partition in lab.partitions(topic) if f"{topic}-{partition}" in folders}


def led(lab: Lab, topic: str, host: str) -> set[int]:
    """Return the partitions of which the second disk of a broker holds the leader's replica."""
    number, there = lab.inventory.broker_id(host), held(lab, topic, host)
    return {n for n, partition in lab.partitions(topic).items() if n in there and partition.leader == number}


def divided(lab: Lab, topic: str, host: str) -> bool:
    """Tell whether a fault of the disk takes some of the topic, of what the broker leads as well, and not all."""
    return bool(led(lab, topic, host)) and len(held(lab, topic, host)) < len(lab.partitions(topic))


def lacking(lab: Lab, topic: str, disk: Disk) -> set[int]:
    """Return the partitions whose ISR lacks the broker."""
    number = lab.inventory.broker_id(disk.host)
    return {n for n, partition in lab.partitions(topic).items() if number not in partition.isr}


def lose(lab: Lab, topic: str, disk: Disk, act: Callable[[], None], fault: str, said: str) -> Clock:
    """The disk fails: its replicas leave their ISRs, the broker stays in the others, check.yml names the directory."""
    pid, there = lab.pid(disk.host, UNIT), held(lab, topic, disk.host)
    clock = Clock(fault)
    act()
    clock.wait(GIVEN_UP, lambda: lacking(lab, topic, disk) == there)
    page = health(lab)
    assert f"{disk.host}:{PATH} fails: {said}" in page, page
    assert f"the broker on {disk.host} has taken log dir {PATH} offline" in page, page
    assert lab.pid(disk.host, UNIT) == pid, "the broker did not go on"
    assert lacking(lab, topic, disk) == there
    return clock


def starts_without(lab: Lab, there: set[int], topic: str, disk: Disk, start: Callable[[], object]) -> None:
    """Started without the disk, the broker serves from the other, and site.yml names the disk and goes on."""
    start()
    until("the broker is back with its other disk", lambda: lacking(lab, topic, disk) == there, 60)
    pid = lab.pid(disk.host, UNIT)
    site = run(lab, "playbooks/site.yml", "--diff")
    said, changed = one_line(site.output), site.recap("changed")
    assert site.code == 0, said
    assert f"{disk.host}/kafka_log_dirs = {PATH}: " in said, said
    assert "The broker serves from its other log dirs" in said, said
    assert "have a replica out of sync because of a failed disk" in said, said
    assert {*lab.inventory.hosts("all")} <= changed.keys() and not any(changed.values()), site.output[-3000:]
    assert lab.pid(disk.host, UNIT) == pid


def mend(lab: Lab, act: Callable[[], None], clock: Clock) -> None:
    """A disk that works is in place, and the broker was started: every ISR is full again, no later than promised."""
    act()
    clock.wait_none(FULL, lab.broker_problems, since=time.monotonic())


@pytest.fixture
def under_load(lab: Lab, topic: str, disk: Disk, tmp_path: Path, note: Callable[[str], None]) -> UnderLoad:
    """Has faults happen between writes: then all is whole, nothing lost, and no gap longer than their clock says."""

    def run(faults: Callable[[], Clock]) -> None:
        with Writer(lab.inventory.kafka_properties, topic, tmp_path, run=topic, rate=200) as writer:
            until("records before the faults", lambda: writer.acked >= BEFORE, 60)
            clock = faults()
            whole, enough = time.monotonic(), writer.acked + AFTER
            until("records after the faults", lambda: writer.acked >= enough, 60)
        lab.elect_preferred_leaders()  # the page reports skewed leaders, as long as Kafka has not done so
        assert health(lab) == ""
        ledger, report = verdict(lab, topic, tmp_path, whole)
        clock.compare(GAP, max(longest_gaps(ledger.acks, lab.partitions(topic)).values()))
        note(f"{disk.host}:{PATH}: {clock}; {report}")

    return run


def test_a_disk_dies_and_two_others_take_its_place(lab: Lab, topic: str, disk: Disk, under_load: UnderLoad) -> None:
    """The disk is exchanged for an empty one, and this for the one with old data."""

    def faults() -> Clock:
        there = held(lab, topic, disk.host)
        clock = lose(lab, topic, disk, disk.gives_errors, "a disk of a broker gives I/O errors", "Input/output error")
        starts_without(lab, there, topic, disk, lambda: lab.inventory.run(disk.host, f"systemctl restart {UNIT}"))
        mend(lab, disk.exchange, clock)
        mend(lab, disk.restore, clock)
        return clock

    under_load(faults)


@pytest.mark.campaign
def test_a_disk_turns_read_only_and_is_taken_out(lab: Lab, topic: str, disk: Disk, under_load: UnderLoad) -> None:
    """An ext4 disk in place of the lab's own, which comes back with its old data after each of the two."""
    disk.exchange()
    until_none("every ISR is full on the new disk", lab.broker_problems, 60)
    lab.elect_preferred_leaders()
    until("the broker leads again", lambda: lab.leader(topic) == disk.host, 30)
    assert led(lab, topic, disk.host), "the broker leads nothing on the new disk"

    def faults() -> Clock:
        fault = "a disk of a broker turns read-only"
        clock = lose(lab, topic, disk, disk.turns_read_only, fault, "Read-only file system")
        mend(lab, disk.restore, clock)
        starts_without(lab, held(lab, topic, disk.host), topic, disk, disk.goes_away)
        assert lab.inventory.run(disk.host, f"ls -A {PATH}") == "", "the root file system was written to"
        assert f"{disk.host}:{PATH}: no file system is mounted there" in health(lab)
        mend(lab, disk.restore, clock)
        return clock

    under_load(faults)


@pytest.mark.campaign
def test_a_host_boots_without_one_of_its_disks(lab: Lab, topic: str, disk: Disk, under_load: UnderLoad) -> None:
    """Nobody does anything, and it serves from the others; with its disk it is whole again."""

    def faults() -> Clock:
        there = held(lab, topic, disk.host)
        clock = Clock("a host boots without a disk of its broker")
        with disk.lost_at_boot():
            podman("kill", "--signal", "KILL", lab.inventory.container(disk.host))
            podman("wait", lab.inventory.container(disk.host))
            lab.inventory.disconnect(disk.host)
            podman("start", lab.inventory.container(disk.host))
            until("the broker is missed", lambda: lacking(lab, topic, disk) >= there, 60)
            clock.wait(BACK, lambda: lacking(lab, topic, disk) == there)
        said = lab.inventory.run(disk.host, f"findmnt {PATH} || ls -A {PATH}").split()
        assert said == [], f"the disk is there, or the root file system was written to: {said}"
        assert f"{disk.host}:{PATH}: no file system is mounted there" in health(lab)
        starts_without(lab, there, topic, disk, lambda: None)
        mend(lab, disk.restore, clock)
        return clock

    under_load(faults)


@pytest.mark.campaign
def test_a_start_does_not_wait_for_a_disk_that_was_given_up(lab: Lab, topic: str, disk: Disk) -> None:
    """What the broker has on its other disk comes back; what it had on the one that failed is named."""
    there = held(lab, topic, disk.host)
    disk.gives_errors()
    until("its replicas have left their ISRs", lambda: lacking(lab, topic, disk) == there, 120)
    lab.inventory.run(disk.host, f"systemctl stop {UNIT}")
    status, said = play(lab, "-l", disk.host, "playbooks/start.yml")
    assert status == 0, said[-3000:]
    assert f"brokers with a failed disk: {lab.inventory.broker_id(disk.host)}" in said, said[-3000:]
    assert lacking(lab, topic, disk) == there


# What both disks of a broker hold is put aside on the second.
ASIDE = (
    f"mkdir -p /root/old && cd {PATH} && ls {OTHER} | grep -xE '.+-[0-9]+' | "
    "while read name; do ! test -d $name || mv $name /root/old; done; rm -rf /root/old"
)


@pytest.fixture
def installed_again(lab: Lab, disk: Disk) -> Iterator[None]:
    """Afterwards the broker serves from both disks, whatever a test did to its files."""
    yield
    if disk.failed:
        disk.restore()
    lab.inventory.run(disk.host, ASIDE)
    status, said = play(lab, "-l", disk.host, "playbooks/site.yml")
    assert status == 0, said[-3000:]


@pytest.mark.campaign
@pytest.mark.usefixtures("installed_again")
def test_a_log_dir_that_was_taken_out_comes_back_with_what_it_held(
    lab: Lab, topic: str, disk: Disk, tmp_path: Path
) -> None:
    """Its replicas were made anew meanwhile, and no broker starts with both: it is refused while the broker runs."""
    there, without = held(lab, topic, disk.host), tmp_path / "hosts.yml"
    without.write_text(f"all: {{hosts: {{{disk.host}: {{kafka_log_dirs: [{OTHER}]}}}}}}\n")
    disk.gives_errors()
    until("its replicas have left their ISRs", lambda: lacking(lab, topic, disk) == there, 120)
    status, said = play(lab, "-i", str(without), "-l", disk.host, "playbooks/site.yml")
    assert status == 0, said[-3000:]
    until_none("every ISR is full on the other disk", lab.broker_problems, 60)
    disk.restore()
    until_none("every ISR is full again", lab.broker_problems, 60)
    pid = lab.pid(disk.host, UNIT)
    status, said = play(lab, "-l", disk.host, "playbooks/site.yml")
    assert status != 0 and "LOG_DIR_RETURNED" in said, said[-3000:]
    assert f"move these folders out of {PATH}, to a place that is no log dir" in said
    assert (lab.pid(disk.host, UNIT), lab.broker_problems()) == (pid, [])
    lab.inventory.run(disk.host, ASIDE)
    status, said = play(lab, "-l", disk.host, "playbooks/site.yml")
    assert status == 0, said[-3000:]
    lab.inventory.run(disk.host, f"ls -l /proc/{lab.pid(disk.host, UNIT)}/fd | grep -F {PATH}/.lock")
    assert (health(lab), lab.broker_problems()) == ("", [])
