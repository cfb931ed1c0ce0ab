"""Datacenters are cut off from the others, both ways and in one direction, and whole networks go.

Judged from the other datacenters' side.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
from observations import Record

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival

from .cells import Cell, Failure, assert_promises, compare, observations, unlike
from .failures import cut_off, network_gone
from .stretched import Stretched

pytestmark = pytest.mark.campaign

# Quorum and writable by hand.
BY_HAND = {
    "lab_stretch2": {"dc1": (False, False), "dc2": (False, False)},
    "lab_stretch2_5": {"dc1": (True, False), "dc2": (True, False), "dc3": (True, True)},
    "lab_stretch3": {"dc1": (True, True), "dc2": (True, True), "dc3": (True, True)},
}
NETWORKS = {"client network": (True, False), "replication network": (True, False)}


def failures(cluster: Stretched) -> Iterator[Failure]:
    """Yield each cut in three ways, and each network."""
    for row in survival(cluster.layout):
        if row.kind == "cut":
            yield Failure(row, "cut both ways", partial(cut_off, cluster, row.lost))
            yield Failure(row, "still heard", partial(cut_off, cluster, row.lost, speak=True))
            yield Failure(row, "still hearing", partial(cut_off, cluster, row.lost, hear=True))
        elif row.kind == "network":
            yield Failure(row, "gone everywhere", partial(network_gone, cluster, row.failure.partition(" ")[0]))


def test_cuts(
    stretched: Stretched, topic: str, chance: random.Random, record: Record, note: Callable[[str], None]
) -> None:
    """Nobody does anything but wait; once the network is back all is whole, and what was acknowledged is there."""
    order = list(failures(stretched))
    chance.shuffle(order)

    def keep(cells: Sequence[Cell]) -> None:
        record.keep(stretched.name, stretched.layout, "networks", observations(cells), len(order))

    cells, missing = compare(stretched, topic, order, keep, note)
    assert_promises(cells, missing)
    by_hand = {f"{name} cut off from the rest": values for name, values in BY_HAND[stretched.name].items()} | NETWORKS
    assert unlike(by_hand, cells) == []
