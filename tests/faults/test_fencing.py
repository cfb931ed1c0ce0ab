"""Whose registration is removed when a broker's process dies, and whose is not: killed, frozen, not wholly gone.

And who is started anew because it lives, and has lost its registration.

The lab's sessions end after 6 s; a gap below 3 s is the fence's.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .lab import Lab, until
from .ledger import load, longest_gaps
from .promises import BACK, FENCED, FULL, GAP, Clock
from .reader import read_all
from .verdict import verdict
from .writer import Writer
from .zookeeper import session

pytestmark = [pytest.mark.campaign, pytest.mark.timed]
UNIT, WATCH = "kafka.service", "kafka-registration.service"
ROUNDS = 20
REMOVED, LEFT = "removed the registration of broker", "is left to its session: processes of kafka.service are still"
DROP_IN = "/run/systemd/system/kafka.service.d/left.conf"


def killed(lab: Lab, host: str, writer: Writer, directory: Path) -> float:
    """Kill a broker under load, and wait until it is back; return the longest gap of a partition, in seconds."""
    begun = writer.acked
    until("records before the kill", lambda: writer.acked >= begun + 300, 60)
    pid, mark, start = lab.pid(host, UNIT), lab.mark(host, UNIT), time.monotonic()
    lab.kill(host, UNIT)
    until("it is fenced", lambda: REMOVED in lab.said(host, UNIT, mark), 10)
    until("it is back", lambda: lab.pid(host, UNIT) not in (0, pid), 20)
    lab.wait(60)
    acks = [ack for ack in load(directory).acks if ack.at > start - 1]
    return max(longest_gaps(acks, lab.partitions(writer.topic)).values())


def test_leaders_killed(
    lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None], pytestconfig: pytest.Config
) -> None:
    """One leader after the other is killed with -9: the longest gap of each round, and nothing missing or double."""
    seed = pytestconfig.getoption("--faults-seed")
    chance, gaps = random.Random(seed), list[float]()
    with Writer(lab.inventory.kafka_properties, topic, tmp_path, run=topic, rate=200) as writer:
        for _ in range(ROUNDS):
            gaps.append(killed(lab, lab.leader(topic, chance.randrange(6)), writer, tmp_path))
    ledger = load(tmp_path)
    report = ledger.compare(read_all(lab.inventory.kafka_properties, topic))
    median = statistics.median(gaps)
    note(f"seed {seed}, {ROUNDS} kills: gaps median {median:.1f} s, longest {max(gaps):.1f} s; {report}")
    assert report.ok, report
    assert ledger.unknown == {}, "sends failed"
    Clock("kill -9 of a leader, fenced").compare(FENCED, median)


def test_a_frozen_broker_keeps_its_registration(lab: Lab, topic: str) -> None:
    """Stopped for less than a session, it goes on as the process that it was, in every ISR."""
    host = lab.leader(topic)
    number, pid, mark = lab.inventory.broker_id(host), lab.pid(host, UNIT), lab.mark(host, UNIT)
    lab.inventory.run(host, f"kill -STOP {pid}; sleep 3; kill -CONT {pid}")
    until("in every ISR", lambda: all(number in p.isr for p in lab.partitions(topic).values()), 30)
    assert (lab.pid(host, UNIT), lab.said(host, UNIT, mark).count("registration")) == (pid, 0)


@pytest.fixture
def left(lab: Lab, topic: str) -> Iterator[str]:
    """The leader's host, where a process of the unit outlives the broker; it is gone afterwards."""
    host = lab.leader(topic)
    text = "[Service]\\nKillMode=process\\n"
    lab.inventory.run(
        host,
        f"mkdir -p {DROP_IN.rpartition('/')[0]} && printf '{text}' >{DROP_IN} && systemctl daemon-reload && "
        "{ sleep 600 >/dev/null 2>&1 & } && echo $! >/run/left.pid && "
        f"for file in $(find /sys/fs/cgroup -path '*/{UNIT}/cgroup.procs'); do echo $! >$file; done",
    )
    yield host
    lab.inventory.run(host, f"kill $(cat /run/left.pid); rm -f {DROP_IN} /run/left.pid; systemctl daemon-reload")


def test_what_is_not_wholly_gone_is_not_fenced(lab: Lab, topic: str, left: str) -> None:
    """As a broker that hangs in an access to a dead disk: its session ends, and then the next one is registered."""
    mark, pid = lab.mark(left, UNIT), lab.pid(left, UNIT)
    lab.kill(left, UNIT)
    until("it says so", lambda: LEFT in lab.said(left, UNIT, mark), 10)
    until("another is started", lambda: lab.pid(left, UNIT) not in (0, pid), 30)
    lab.wait(60)
    assert REMOVED not in lab.said(left, UNIT, mark)


def test_a_broker_that_lost_its_registration_is_restarted(
    lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None]
) -> None:
    """It runs, and is in no ISR any more; Kafka would leave it so for ever. Its own host restarts it, once."""
    host = lab.leader(topic)
    pid, mark = lab.pid(host, UNIT), lab.mark(host, WATCH)
    with Writer(lab.inventory.kafka_properties, topic, tmp_path, run=topic, rate=200) as writer:
        until("records before", lambda: writer.acked >= 300, 60)
        clock = Clock("a broker that lives loses its registration")
        with session(lab.inventory) as owner:
            owner.delete(f"/kafka/brokers/ids/{lab.inventory.broker_id(host)}")
        clock.wait(BACK, lambda: lab.pid(host, UNIT) not in (0, pid))
        clock.wait_none(FULL, lab.broker_problems)
        whole, enough, again = time.monotonic(), writer.acked + 300, lab.pid(host, UNIT)
        until("records after", lambda: writer.acked >= enough, 60)
    ledger, report = verdict(lab, topic, tmp_path, whole)
    clock.compare(GAP, max(longest_gaps(ledger.acks, lab.partitions(topic)).values()))
    assert lab.said(host, WATCH, mark).count("it is restarted") == 1
    assert lab.pid(host, UNIT) == again
    note(f"{host}: {clock}; {report}")
