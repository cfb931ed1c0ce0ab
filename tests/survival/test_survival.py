"""Servers are really taken away from running clusters; the computed table says what happens.

Quorum and writes, cell by cell.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial

from observations import Record

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.replicas import placements

from .cells import Cell, Failure, assert_promises, compare, observations, unlike
from .failures import killed
from .rows import chosen, shape
from .stretched import Stretched

# Quorum and writable by hand, so that a wrong table cannot agree with a test that reads it: each server, each
# datacenter, and pairs by shape, all of which are alike (docs/layouts.md).
ALONE = (True, True)
BY_HAND = {
    "lab_stretch2": {
        **dict.fromkeys(("dc1-zk1", "dc1-zk2", "dc1-zk3", "dc2-zk1", "dc2-zk2", "dc2-zk3"), ALONE),
        **dict.fromkeys(("dc1-kafka1", "dc1-kafka2", "dc2-kafka1", "dc2-kafka2"), ALONE),
        "datacenter dc1": (False, False),
        "datacenter dc2": (False, False),
        "zookeeper zookeeper in one datacenter": (False, True),
        "zookeeper zookeeper in two datacenters": (True, True),
        "zookeeper kafka in one datacenter": (True, True),
        "zookeeper kafka in two datacenters": (True, True),
        "kafka kafka in one datacenter": (True, False),
        "kafka kafka in two datacenters": (True, False),
    },
    "lab_stretch2_5": {
        **dict.fromkeys(("dc1-zk1", "dc1-zk2", "dc1-zk3", "dc2-zk1", "dc2-zk2", "dc2-zk3", "dc3-zk1"), ALONE),
        **dict.fromkeys(("dc1-kafka1", "dc1-kafka2", "dc2-kafka1", "dc2-kafka2"), ALONE),
        "datacenter dc1": (True, False),
        "datacenter dc2": (True, False),
        "witness dc3-zk1": (True, True),
        "zookeeper zookeeper in one datacenter": (True, True),
        "zookeeper zookeeper in two datacenters": (True, True),
        "zookeeper kafka in one datacenter": (True, True),
        "zookeeper kafka in two datacenters": (True, True),
        "kafka kafka in one datacenter": (True, False),
        "kafka kafka in two datacenters": (True, False),
    },
    "lab_stretch3": {
        **dict.fromkeys(("dc1-zk1", "dc2-zk1", "dc3-zk1"), ALONE),
        **dict.fromkeys(("dc1-kafka1", "dc1-kafka2", "dc2-kafka1", "dc2-kafka2", "dc3-kafka1", "dc3-kafka2"), ALONE),
        "datacenter dc1": (True, True),
        "datacenter dc2": (True, True),
        "datacenter dc3": (True, True),
        "zookeeper zookeeper in two datacenters": (False, True),
        "zookeeper kafka in one datacenter": (True, True),
        "zookeeper kafka in two datacenters": (True, True),
        "kafka kafka in one datacenter": (True, True),
        "kafka kafka in two datacenters": (True, False),
    },
}


def test_placements(stretched: Stretched, topic: str) -> None:
    """Kafka makes each replica set that is computed, and no other."""
    layout = stretched.layout
    racks = {stretched.inventory.broker_id(broker.name): broker.broker_rack for broker in layout.brokers}
    made = {frozenset(partition.replicas) for partition in stretched.lab.partitions(topic).values()}
    assert made == placements(racks, layout.replication_factor)


def test_survival(
    stretched: Stretched,
    topic: str,
    chance: random.Random,
    of_each_shape: int,
    record: Record,
    note: Callable[[str], None],
) -> None:
    """Kill some servers, each datacenter and some pairs, one failure after the other; compare what is left each time.

    With --survival-each 1 no pair is killed that stops nothing: the campaign part `pairs` kills all of them.
    """
    every, by_hand = survival(stretched.layout), BY_HAND[stretched.name]
    harmless = {shape(row) for row in every if row.kind in ("server", "pair") and by_hand.get(shape(row)) == ALONE}
    rows = chosen(every, chance, of_each_shape, servers=of_each_shape)
    if of_each_shape == 1:
        rows = [row for row in rows if row.kind != "pair" or shape(row) not in harmless]
    left_out = harmless - {shape(row) for row in rows}
    order = [Failure(row, "killed", partial(killed, stretched, row.lost)) for row in rows]

    def keep(cells: Sequence[Cell]) -> None:
        record.keep(stretched.name, stretched.layout, "servers", observations(cells), len(order))

    cells, missing = compare(stretched, topic, order, keep, note)
    assert_promises(cells, missing)
    assert unlike({name: values for name, values in by_hand.items() if name not in left_out}, cells) == []
