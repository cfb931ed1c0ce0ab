"""Two clusters that copy from each other: everything arrives once, and applications move without a loss."""

import re
import time
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from faults.lab import until
from faults.ledger import Report, load
from faults.reader import read_all
from faults.writer import Writer

from .application import Application, Sink, renamed
from .conftest import WORKER, Cluster, Record

pytestmark = pytest.mark.campaign
MINUTES = 10
RATE = 100
LATE = 400
"""Seconds after which something is taken for missing."""
SILENT = 15
"""Seconds without a record after which a reader has read everything."""
GAP = 90
"""Seconds for which partitions of a killed worker may wait: its session of 10 s, and what 16 JVMs that share two
processors take to start its tasks again."""
INTERVAL = 5
"""sync_interval of the flows."""


def report(folder: Path, topic: str, source: Cluster, target: Cluster) -> Report:
    """Compare what was acknowledged at the source with the copy."""
    copy = f"{source.name}.{topic}"
    if copy not in target.topics():
        return load(folder).compare([])
    return load(folder).compare(renamed(read_all(target.inventory.kafka_properties, copy), topic))


def copied(folder: Path, topic: str, source: Cluster, target: Cluster) -> Report:
    """Return the comparison once nothing is missing. Fails if that takes long."""
    found = report(folder, topic, source, target)

    def complete() -> bool:
        nonlocal found
        found = report(folder, topic, source, target)
        return not found.missing

    until(f"everything is copied to {target.name}", complete, LATE, 2)
    return found


def acknowledged(writer: Writer, number: int) -> bool:
    """Tell whether so many records of a writer were acknowledged."""
    return writer.acked >= number


def joined(cluster: Cluster, host: str, mark: str) -> bool:
    """Tell whether a worker has joined the others since a mark of its journal."""
    return " Joined group at generation " in cluster.lab.said(host, WORKER, mark)


@pytest.mark.timed
def test_both_directions(west: Cluster, east: Cluster, topic: str, tmp_path: Path, record: Record) -> None:
    """For ten minutes; meanwhile each worker of one cluster is killed. No copy is copied back."""
    writers = [
        Writer(each.inventory.kafka_properties, topic, tmp_path / each.name, run=topic, name=each.name,
               limit=RATE * 60 * MINUTES, rate=RATE)
        for each in (west, east)
    ]  # fmt: skip
    until("copies", lambda: f"west.{topic}" in east.topics() and f"east.{topic}" in west.topics(), 60)
    sink, gaps = Sink(), list[float]()
    with Application(east.inventory.kafka_properties, f"words-{topic}", [f"west.{topic}"], sink) as reader:
        with writers[0], writers[1]:
            until("the load", lambda: writers[0].acked > RATE * 60, 300)
            for host in east.workers:
                killed, enough = time.monotonic(), writers[0].acked + RATE * 60
                mark = east.lab.mark(host, WORKER)
                east.lab.kill(host, WORKER)
                until("a minute of load", partial(acknowledged, writers[0], enough), 300)
                until("the worker is back", partial(joined, east, host, mark), 300)  # the promise is for one at a time
                gaps.append(reader.gap(killed - 1, time.monotonic()))
            for writer in writers:
                writer.join()
        found = [copied(tmp_path / "west", topic, west, east), copied(tmp_path / "east", topic, east, west)]
    print(*map(str, found), sep="\n")
    assert [str(one) for one in found if not one.ok or one.acknowledged != one.read] == []
    names = {each.name: {name for name in each.topics() if topic in name} for each in (west, east)}
    assert names == {"west": {topic, f"east.{topic}"}, "east": {topic, f"west.{topic}"}}
    assert sink.disordered == [] and max(gaps) <= GAP
    record("both directions", {
        "minutes": MINUTES,
        "acknowledged": sum(one.acknowledged for one in found),
        "missing": sum(len(one.missing) for one in found),
        "double": sum(len(one.double) for one in found),
        "kills": len(gaps),
        "longest gap s": round(max(gaps), 1),
    })  # fmt: skip


def test_both_workers_die(west: Cluster, east: Cluster, topic: str, tmp_path: Path, record: Record) -> None:
    """The second, which leads, while the first starts tasks again: these fail, and are started all the same."""
    writer = Writer(west.inventory.kafka_properties, topic, tmp_path / "w", run=topic, limit=RATE * 60, rate=RATE)
    until("the copy", lambda: f"west.{topic}" in east.topics(), 60)
    first, second = east.workers
    with writer:
        until("the load", partial(acknowledged, writer, RATE * 5), 120)
        mark = east.lab.mark(first, WORKER)
        east.lab.kill(first, WORKER)
        until("the worker is back", partial(joined, east, first, mark), 300, 0.2)
        east.lab.kill(second, WORKER)
        writer.join()
    found = copied(tmp_path / "w", topic, west, east)
    assert (found.missing, found.double) == ([], [])
    record("both workers", {"acknowledged": found.acknowledged, "missing": 0, "double": 0})


def switched(target: Cluster, source: Cluster, group: str, *options: str) -> int:
    """Move the groups of a flow to its target; return how many records one of them reads again, as the table says."""
    run = target.play("mirror_switch", "-e", f"flow={source.name}", "-e", f"confirm={source.name}", *options)
    assert run.code == 0, run.output[-4000:]
    rows = re.findall(rf"{group} +\S+ +\d+ +\S+ +\d+ +(\S+) +\d+ +\w+'", run.output)
    assert len(rows) >= 6, run.output[-4000:]
    return sum(int(again) for again in rows if again != "?")


def test_planned_switch_and_back(west: Cluster, east: Cluster, topic: str, tmp_path: Path, record: Record) -> None:
    """Writers and readers stop, the group moves, both go on at the other cluster; and the same back."""
    group, sink = f"words-{topic}", Sink()

    def load_on(here: Cluster, other: Cluster, name: str, *all_of: str) -> None:
        """Write under a name, and read half of it, or everything that was written under `all_of`."""
        topics = [topic, f"{other.name}.{topic}"]
        writer = Writer(
            here.inventory.kafka_properties, topic, tmp_path / name, run=topic, name=name, limit=RATE * 40, rate=RATE
        )
        with writer:
            with Application(here.inventory.kafka_properties, group, topics, sink):
                until("the load", lambda: writer.acked >= RATE * (40 if all_of else 20), 120)
                if all_of:
                    until("all is read", lambda: promised(*all_of) <= sink.times.keys(), 120)
            writer.join()

    def promised(*names: str) -> set[str]:
        return {ack.key for name in names for ack in load(tmp_path / name).acks}

    load_on(west, east, "first")  # the reader stops in the middle
    assert not report(tmp_path / "first", topic, west, east).foreign
    copied(tmp_path / "first", topic, west, east)
    stated = switched(east, west, group)
    load_on(east, west, "second")
    copied(tmp_path / "second", topic, east, west)
    stated += switched(west, east, group, "-e", f"returned={group}")
    names = ("first", "second", "third")
    load_on(west, east, "third", *names)
    print(f"{sink.read_again} read again, {stated} stated")
    assert sink.disordered == [] and sink.read_again <= stated <= 3 * INTERVAL * RATE
    record("planned", {
        "acknowledged": len(promised(*names)),
        "missing": len(promised(*names) - sink.times.keys()),
        "read again": sink.read_again,
        "stated": stated,
    })  # fmt: skip


def lost(cluster: Cluster) -> None:
    """Kill all brokers of a cluster, and keep them down."""
    kill = "kill -9 $(systemctl show -p MainPID --value kafka.service); systemctl stop kafka.service"
    cluster.lab.on_all(cluster.inventory.hosts("kafka"), kill)


@pytest.mark.timed
def test_the_source_is_lost(west: Cluster, east: Cluster, topic: str, tmp_path: Path, record: Record) -> None:
    """All brokers of the source are killed at full rate; later it returns, and what was not copied is."""
    group, sink, rate = f"words-{topic}", Sink(), 500
    writer = Writer(
        west.inventory.kafka_properties, topic, tmp_path / "w", run=topic, limit=rate * 60, rate=rate,
        delivery_timeout=20,
    )  # fmt: skip
    until("the copy", lambda: f"west.{topic}" in east.topics(), 60)
    with Application(west.inventory.kafka_properties, group, [topic], sink), writer:
        until("the load", partial(acknowledged, writer, rate * 40), 120)
        lost(west)
    Event().wait(INTERVAL)  # as docs/mirrors.md says
    copy = report(tmp_path / "w", topic, west, east)
    switched(east, west, group, "-e", "lost=true")
    arrived = {record.key for record in read_all(east.inventory.kafka_properties, f"west.{topic}")}
    with Application(east.inventory.kafka_properties, group, [f"west.{topic}"], sink) as reader:
        until("nothing more arrives", lambda: reader.silent() > SILENT, 120)
    west.lab.heal()
    after = copied(tmp_path / "w", topic, west, east)
    assert arrived <= sink.times.keys()
    assert (after.missing, after.double) == ([], [])
    assert sink.read_again <= 3 * INTERVAL * rate
    record("lost", {
        "rate": rate,
        "acknowledged": copy.acknowledged,
        "not copied": len(copy.missing),
        "read again": sink.read_again,
        "stated": 3 * INTERVAL * rate,
    })  # fmt: skip
