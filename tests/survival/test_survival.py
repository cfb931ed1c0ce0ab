"""Servers are really taken away from running clusters, and the computed table says what then happens, cell by cell."""

import random
import time
import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from faults.ledger import read_all

from millrace.health import table
from millrace.survival import Row, placements, survival

from .stretched import Seen, Stretched

# Quorum and writable by hand, so that a wrong table cannot agree with a test that reads it. Pairs by shape: one is chosen by chance.
BY_HAND = {
    "lab_stretch2": {
        "dc1-zk1": (True, True),
        "dc2-kafka2": (True, True),
        "datacenter dc1": (False, False),
        "datacenter dc2": (False, False),
        "zookeeper zookeeper in one datacenter": (False, True),
        "zookeeper zookeeper in two datacenters": (True, True),
        "zookeeper kafka in one datacenter": (True, True),
        "kafka kafka in one datacenter": (True, False),
        "kafka kafka in two datacenters": (True, False),
    },
    "lab_stretch3": {
        "dc1-zk1": (True, True),
        "dc3-kafka2": (True, True),
        "datacenter dc1": (True, True),
        "datacenter dc2": (True, True),
        "datacenter dc3": (True, True),
        "zookeeper zookeeper in two datacenters": (False, True),
        "kafka kafka in one datacenter": (True, True),
        "kafka kafka in two datacenters": (True, False),
    },
}


class Cell(NamedTuple):
    """One failure: what was computed, and what was seen."""

    row: Row
    seen: Seen
    whole_after: float

    @property
    def differences(self) -> list[str]:
        """What was seen otherwise than computed."""
        pairs = (("quorum", self.row.quorum, self.seen.quorum), ("writable", self.row.writable, not self.seen.unwritable))
        return [f"{self.row.failure}: {name} computed {computed}, seen {seen}" for name, computed, seen in pairs if computed != seen]

    @property
    def line(self) -> tuple[str, ...]:
        """The line of the printed table."""
        words = {True: "yes", False: "no"}
        errors = ", ".join(sorted(set(self.seen.unwritable.values())))
        return (
            self.row.failure,
            words[self.seen.quorum],
            f"{self.seen.quorum_after:.1f}",
            words[not self.seen.unwritable],
            f"{self.seen.write_after:.1f}",
            f"{self.whole_after:.1f}",
            "; ".join(self.differences) or (f"{len(self.seen.unwritable)} partitions: {errors}" if errors else ""),
        )


def shape(row: Row) -> str:
    """Return functions of a pair, and whether it is in one datacenter; for other failures their name."""
    if row.kind != "pair":
        return row.failure
    return f"{' '.join(row.functions)} in {'one datacenter' if len(set(row.datacenters)) == 1 else 'two datacenters'}"


def chosen(rows: Sequence[Row], chance: random.Random, number: int) -> list[Row]:
    """Return each server, each datacenter, and `number` pairs of each shape."""
    pairs = [row for row in rows if row.kind == "pair"]
    found = [row for row in rows if row.kind in ("server", "datacenter")]
    for name in dict.fromkeys(map(shape, pairs)):
        alike = [row for row in pairs if shape(row) == name]
        found += chance.sample(alike, min(number, len(alike)))
    return found


@pytest.fixture(scope="module")
def topic(stretched: Stretched) -> str:
    """A topic with the cluster's defaults, and with as many partitions as it takes for every placement to occur."""
    name, brokers = f"survival{uuid.uuid4().hex[:8]}", len(stretched.layout.brokers)
    stretched.create_topic(name, brokers * (brokers - 1))
    return name


def test_placements(stretched: Stretched, topic: str) -> None:
    """Kafka makes each replica set that is computed, and no other."""
    layout = stretched.layout
    racks = {stretched.inventory.broker_id(broker.name): broker.broker_rack for broker in layout.brokers}
    made = {frozenset(partition.replicas) for partition in stretched.lab.partitions(topic).values()}
    assert made == placements(racks, layout.replication_factor)


def test_survival(stretched: Stretched, topic: str, chance: random.Random, pairs_of_each_shape: int, note: Callable[[str], None]) -> None:
    """Each server, each datacenter and some pairs are killed; what is left is compared; then all is made whole again."""
    partitions = list(stretched.lab.partitions(topic))
    rows = chosen(survival(stretched.layout), chance, pairs_of_each_shape)
    started, cells, acknowledged = time.monotonic(), [], set()
    for number, row in enumerate(rows):
        key = f"{topic}-{number}"
        stretched.take_away(row.lost)
        seen = stretched.look(row.lost, topic, partitions, key)
        before = time.monotonic()
        stretched.bring_back()
        cells.append(Cell(row, seen, time.monotonic() - before))
        acknowledged |= {f"{key}-{partition}" for partition in partitions if partition not in seen.unwritable}
        print("  ".join(cells[-1].line), flush=True)
    headline = ("what was lost", "quorum", "s", "writable", "s", "whole again s", "")
    note("\n".join([f"{len(cells)} failures in {time.monotonic() - started:.0f} s", *table(headline, [cell.line for cell in cells])]))

    differences = [text for cell in cells for text in cell.differences]
    assert not differences, "\n".join(differences)
    by_hand = BY_HAND[stretched.source.name]
    observed = {shape(cell.row): (cell.seen.quorum, not cell.seen.unwritable) for cell in cells}
    assert {name: observed[name] for name in by_hand} == by_hand
    read = {record.key for record in read_all(stretched.inventory.kafka_properties, topic)}
    assert acknowledged - read == set()
