"""The column `zero loss`: servers never come back, and the disks of those that take their places are empty.

Each time under the worst that may have been before: as many other servers are down as the cluster can spare, so that a
record and a change of metadata are acknowledged by the fewest, those that are about to be lost among them.
"""

import random
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
from confluent_kafka import ElectionType, TopicPartition
from faults.lab import UNITS, until
from faults.reader import read_all
from faults.zookeeper import session
from observations import Record

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import table
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row, survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.quorum import quorum
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.replicas import placements

from .cells import WORDS
from .quorum import commits, modes_of
from .rows import chosen, shape
from .stretched import Stretched
from .writes import Writes

pytestmark = pytest.mark.campaign

DISKS = {"zookeeper": "/var/lib/zookeeper/version-2 /data/zookeeper-log/version-2", "kafka": "/data/kafka*/*"}
# What may take acknowledged records or metadata with it, by hand.
LOSES = {
    "lab_stretch2": set[str](),
    "lab_stretch2_5": set[str](),
    "lab_stretch3": {"zookeeper zookeeper in two datacenters", "kafka kafka in two datacenters"},
}

MOST_PAIRS = 3
"""Of each shape: a loss takes three times as long as a failure."""


def spared(layout: Layout, lost: Collection[str], chance: random.Random) -> set[str]:
    """Return servers outside of `lost` that may be down: there is a quorum, and every partition's min.insync.replicas.

    First those that share a partition with all that are about to be lost: without them such a partition is acknowledged
    by fewer others.
    """
    found, voters = set[str](), {voter.name for voter in layout.voters}
    names = [name for name in layout.names if name not in lost]
    worst = replicas_down(layout, lost)
    for name in sorted(
        chance.sample(names, len(names)), key=lambda name: replicas_down(layout, {*lost, name}) == worst
    ):
        down = found | {name}
        if quorum(layout, voters - down) and replicas_down(layout, down) <= layout.replication_factor - layout.min_isr:
            found = down
    return found


def replicas_down(layout: Layout, down: Collection[str]) -> int:
    """Return the most replicas of one partition among these servers."""
    sets = placements(
        {number: broker.broker_rack for number, broker in enumerate(layout.brokers)}, layout.replication_factor
    )
    gone = {number for number, broker in enumerate(layout.brokers) if broker.name in down}
    return max(len(gone & replicas) for replicas in sets)


class Loss(NamedTuple):
    """One failure for good, and what was gone after it."""

    row: Row
    spared: Collection[str]
    """The servers that were down before."""
    records: Collection[str]
    metadata: Collection[str]
    seconds: float

    @property
    def nothing_gone(self) -> bool:
        """Whether all that was acknowledged is there."""
        return not self.records and not self.metadata

    @property
    def line(self) -> tuple[str, ...]:
        """The line of the printed table."""
        gone = "nothing" if self.nothing_gone else f"{len(self.records)} records, {len(self.metadata)} znodes"
        wrong = "" if self.row.zero_loss == self.nothing_gone else f"computed zero loss {WORDS[self.row.zero_loss]}"
        return self.row.failure, ", ".join(sorted(self.spared)), gone, f"{self.seconds:.0f}", wrong


class Losses:
    """One cluster that loses servers for good, one failure after the other."""

    def __init__(self, cluster: Stretched, topic: str) -> None:
        """Nothing is lost yet."""
        self.cluster, self.inventory, self.lab, self.topic = cluster, cluster.inventory, cluster.lab, topic
        self.partitions = list(cluster.lab.partitions(topic))

    def of(self, row: Row, chance: random.Random) -> Loss:
        """Lose the servers of a row; say what is gone; put empty ones in their places, and wait until all is whole."""
        begin, key = time.monotonic(), f"{self.topic}-{uuid.uuid4().hex[:8]}"
        down = spared(self.cluster.layout, row.lost, chance)
        self.control("stop", down)
        znode = self.acknowledge({*row.lost}, down, key)
        self.cluster.take_away(row.lost)
        self.wipe(row.lost)
        self.cluster.start_zookeeper(down)
        self.have_quorum(row)
        self.cluster.start_brokers(down)
        with session(self.inventory) as client:
            metadata = [] if client.exists(znode) else [znode]
        if not row.quorum and metadata:  # brokers remember what the ensemble has forgotten
            self.control("restart", [host for host in self.inventory.hosts("kafka") if host not in row.lost])
        self.have_leaders(
            {self.inventory.broker_id(host) for host in self.inventory.hosts("kafka") if host in row.lost}
        )
        self.cluster.start(row.lost)
        self.cluster.whole()
        # Not before: while an ISR is below min.insync.replicas a leader moves no high watermark and shows no end.
        found = {record.key for record in read_all(self.inventory.kafka_properties, self.topic)}
        records = {f"{key}-{partition}" for partition in self.partitions} - found
        return Loss(row, down, records, metadata, time.monotonic() - begin)

    def acknowledge(self, lost: Collection[str], down: Collection[str], key: str) -> str:
        """Write a record to every partition, and make a znode, with some servers down; return the znode."""
        alive = [self.inventory.broker_id(host) for host in self.inventory.hosts("kafka") if host not in down]
        assert Writes(self.inventory.kafka_properties, self.topic, key, alive).run(self.partitions, hoped=True) == {}, (
            f"{sorted(down)} cannot be spared"
        )
        left = [host for host in self.inventory.hosts("zookeeper") if host not in down]
        with session(replace(self.inventory, groups={**self.inventory.groups, "zookeeper": left})) as client:
            return str(client.create(f"/{key}"))

    def wipe(self, lost: Collection[str]) -> None:
        """Empty the disks of servers that are down."""
        for group, places in DISKS.items():
            self.lab.on_all([host for host in self.inventory.hosts(group) if host in lost], f"rm -rf {places}")

    def have_quorum(self, row: Row) -> None:
        """Where the servers left are no quorum, add empty ones, one by one, so that those that remember are heard."""
        left = [host for host in self.inventory.hosts("zookeeper") if host not in row.lost]
        for host in [host for host in self.inventory.hosts("zookeeper") if host in row.lost] if not row.quorum else []:
            self.cluster.start_zookeeper({host})
            left.append(host)
            if quorum(self.cluster.layout, {*left}):
                self.wait_for_quorum(left)
        self.wait_for_quorum(left)

    def wait_for_quorum(self, left: Collection[str]) -> None:
        """Wait until the servers left serve, however slow the machine is: how long it takes is another test's."""

        def serve() -> bool:
            return all(modes_of(self.inventory, left)) and commits(self.inventory, left)

        until(f"{sorted(left)} serve", serve, 600)

    def have_leaders(self, lost: Collection[int]) -> None:
        """Wait until no lost broker is counted on; where none of an ISR is left, the leader is one that is behind."""

        def settled() -> bool:
            return all(
                one.leader not in lost and (one.leader < 0 or not {*one.isr} & {*lost})
                for one in self.lab.partitions(self.topic).values()
            )

        until("lost brokers lead nothing and are in no ISR", settled, 600)

        def led() -> bool:
            orphans = [
                TopicPartition(self.topic, number)
                for number, one in self.lab.partitions(self.topic).items()
                if one.leader < 0
            ]
            if orphans:
                self.lab.admin.elect_leaders(ElectionType.UNCLEAN, orphans).result(
                    60
                )  # in vain while no other replica is registered
            return not orphans

        until("every partition has a leader", led, 600, poll=1)

    def control(self, verb: str, hosts: Collection[str]) -> None:
        """Have systemd do something with the servers of hosts."""
        for group, unit in UNITS.items():
            self.lab.on_all([host for host in self.inventory.hosts(group) if host in hosts], f"systemctl {verb} {unit}")


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Return what loses nothing first."""
    return sorted(rows, key=lambda row: (not row.zero_loss, not row.quorum))


def test_losses(
    stretched: Stretched,
    topic: str,
    chance: random.Random,
    of_each_shape: int,
    record: Record,
    note: Callable[[str], None],
) -> None:
    """Each server, each datacenter and some pairs, one of each shape, are lost for good."""
    losses, found = Losses(stretched, topic), list[Loss]()

    def keep() -> None:
        seen: list[dict[str, str | bool]] = [
            {"failure": loss.row.failure, "how": "lost for good", "zero loss": loss.nothing_gone} for loss in found
        ]
        record.keep(stretched.name, stretched.layout, "losses", seen, len(rows))

    rows = in_order(chosen(survival(stretched.layout), chance, min(of_each_shape, MOST_PAIRS)))
    try:
        for row in rows:
            found.append(losses.of(row, chance))
            print("  ".join(found[-1].line), flush=True)
    except Exception:
        keep()
        raise
    keep()
    note("\n".join(table(("lost for good", "down before", "gone", "s", ""), [loss.line for loss in found])))
    kept = [(loss.row, loss.nothing_gone) for loss in found]
    assert [row.failure for row, whole in kept if whole != row.zero_loss] == []
    assert [row.failure for row, whole in kept if whole == (shape(row) in LOSES[stretched.name])] == []
