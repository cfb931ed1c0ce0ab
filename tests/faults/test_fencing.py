"""Whose registration is removed when a broker's process dies, and whose is not: killed, frozen, not wholly gone.

And who is started anew because it lives, and has lost its registration.

Sessions end after 18 s here, by the campaign's part, and after 6 s on other labs: a gap below 3 s is the fence's.
"""

import math
import random
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from .lab import Lab, until
from .ledger import Ack, load, longest_gaps
from .promises import BACK, FENCED, FULL, GAP, WHOLE, Clock
from .reader import read_all
from .verdict import verdict
from .writer import Writer
from .zookeeper import session

pytestmark = [pytest.mark.campaign, pytest.mark.timed]
UNIT, WATCH = "kafka.service", "kafka-registration.service"
KILLS, FREEZES = 100, 100
REMOVED, LEFT = "removed the registration of broker", "is left to its session: processes of kafka.service are still"
DROP_IN = "/run/systemd/system/kafka.service.d/left.conf"


@dataclass(frozen=True)
class Took:
    """When a broker was killed (monotonic seconds), and what took how long from then on, in seconds."""

    at: float
    led: float
    """Until others led all that the broker had led: what the longest gap is longer is the client's."""
    whole: float
    """Until every ISR was full, and every server served."""


def killed(lab: Lab, host: str, writer: Writer) -> Took:
    """Kill a broker under load, and wait until it is back."""
    begun, number = writer.acked, lab.inventory.broker_id(host)
    until("records before the kill", lambda: writer.acked >= begun + 300, 60)
    pid, mark, start = lab.pid(host, UNIT), lab.mark(host, UNIT), time.monotonic()
    lab.kill(host, UNIT)
    until("others lead", lambda: all(p.leader not in (number, -1) for p in lab.partitions(writer.topic).values()), 60)
    led = time.monotonic() - start
    until("it was fenced", lambda: REMOVED in lab.said(host, UNIT, mark), 60)
    until("it is back", lambda: lab.pid(host, UNIT) not in (0, pid), 60)
    lab.wait(60)
    return Took(start, led, time.monotonic() - start)


def gaps_of(kills: Sequence[Took], acks: Sequence[Ack], partitions: Collection[int]) -> list[float]:
    """Return the longest time between two acknowledgements of a partition around each kill, in seconds."""
    ends = [*(took.at - 1 for took in kills[1:]), math.inf]
    within = ([ack for ack in acks if took.at - 1 < ack.at < end] for took, end in zip(kills, ends, strict=True))
    return [max(longest_gaps(some, partitions).values()) for some in within]


def test_leaders_killed(
    lab: Lab, topic: str, tmp_path: Path, note: Callable[[str], None], pytestconfig: pytest.Config
) -> None:
    """One leader after the other is killed with -9: the longest gap of each, and nothing missing or double."""
    seed = pytestconfig.getoption("--faults-seed")
    chance, all_took = random.Random(seed), list[Took]()
    client = {**lab.inventory.kafka_properties, "linger.ms": "5"}  # the gap is about a second
    with Writer(client, topic, tmp_path, run=topic, rate=200, limit=KILLS * 60 * 200) as writer:
        for _ in range(KILLS):
            all_took.append(killed(lab, lab.leader(topic, chance.randrange(6)), writer))
    ledger = load(tmp_path)
    report = ledger.compare(read_all(lab.inventory.kafka_properties, topic, 300))
    gaps = gaps_of(all_took, ledger.acks, lab.partitions(topic))
    led, whole = [took.led for took in all_took], [took.whole for took in all_took]
    shown = (("longest gap of each", gaps), ("others lead after", led), ("whole after", whole))
    said = (f"{name} {statistics.median(took):.1f} s in the median, {max(took):.1f} at most" for name, took in shown)
    note(f"seed {seed}, {KILLS} kills: {'; '.join(said)}; {report}")
    assert report.ok, report
    assert ledger.unknown == {}, "sends failed"
    clock = Clock("kill -9 of a leader, fenced")
    clock.compare(FENCED, statistics.median(gaps))
    clock.compare(WHOLE, statistics.median(whole))


def frozen(lab: Lab, host: str, topic: str, seconds: float) -> None:
    """Stop a broker's process, let it go on, and wait until it is in every ISR."""
    number = lab.inventory.broker_id(host)
    lab.inventory.run(host, f"pid={lab.pid(host, UNIT)}; kill -STOP $pid; sleep {seconds:.1f}; kill -CONT $pid")
    until("in every ISR", lambda: all(number in p.isr for p in lab.partitions(topic).values()), 30)


def test_frozen_brokers_keep_their_registration(
    lab: Lab, topic: str, note: Callable[[str], None], pytestconfig: pytest.Config
) -> None:
    """Stopped for less than a session, each goes on as the process that it was, in every ISR."""
    chance, brokers = random.Random(pytestconfig.getoption("--faults-seed")), lab.inventory.hosts("kafka")
    pids = {host: lab.pid(host, UNIT) for host in brokers}
    marks = {host: lab.mark(host, UNIT) for host in brokers}
    for _ in range(FREEZES):
        frozen(lab, chance.choice(brokers), topic, chance.uniform(0.5, 4))
    said = {host: lab.said(host, UNIT, mark).count("registration") for host, mark in marks.items()}
    assert ({host: lab.pid(host, UNIT) for host in brokers}, said) == (pids, dict.fromkeys(brokers, 0))
    note(f"{FREEZES} freezes of up to 4 s: nobody was fenced")


@pytest.fixture
def left(lab: Lab, topic: str) -> Iterator[str]:
    """The leader's host, where a process of the unit outlives the broker; it is gone afterwards."""
    host = lab.leader(topic)
    text = "[Service]\\nKillMode=process\\n"
    lab.inventory.run(
        host,
        f"mkdir -p {DROP_IN.rpartition('/')[0]} && printf '{text}' >{DROP_IN} && systemctl daemon-reload && "
        "{ sleep 600 >/dev/null 2>&1 & } && echo $! >/run/left.pid && "
        # Of this host: there those of the others may be seen as well, and the last that a process is put into counts.
        f"own=$(sed -n 's/^[0-9]*:\\(name=systemd\\)*://p' /proc/{lab.pid(host, UNIT)}/cgroup | grep -m 1 /{UNIT}) && "
        'for file in $(find /sys/fs/cgroup -path "*$own/cgroup.procs"); do echo $! >$file; done',
    )
    yield host
    lab.inventory.run(host, f"kill $(cat /run/left.pid); rm -f {DROP_IN} /run/left.pid; systemctl daemon-reload")


def owner(lab: Lab, host: str) -> int:
    """Return the session that a broker's registration ends with, 0 without one."""
    with session(lab.inventory) as asked:
        found = asked.exists(f"/kafka/brokers/ids/{lab.inventory.broker_id(host)}")
    return found.ephemeralOwner if found else 0


def test_what_is_not_wholly_gone_is_not_fenced(lab: Lab, topic: str, left: str) -> None:
    """As a broker that hangs in an access to a dead disk: its session ends, and then the next one is registered."""
    mark, before = lab.mark(left, UNIT), owner(lab, left)
    lab.kill(left, UNIT)
    until("the unit's journal reports it", lambda: LEFT in lab.said(left, UNIT, mark), 60)
    # ISRs say nothing until then: who died is in them, and registered, while its session lasts.
    until("another session has its registration", lambda: owner(lab, left) not in (0, before), 60)
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
