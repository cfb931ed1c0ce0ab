"""The rows of the computed table that a run makes happen."""

import random
import uuid
from collections.abc import Callable, Sequence

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row

from .stretched import Stretched


def shape(row: Row) -> str:
    """Return functions of a pair, and whether it is in one datacenter; for other failures their name."""
    if row.kind != "pair":
        return row.failure
    return f"{' '.join(row.functions)} in {'one datacenter' if len(set(row.datacenters)) == 1 else 'two datacenters'}"


def chosen(rows: Sequence[Row], chance: random.Random, number: int, servers: int | None = None) -> list[Row]:
    """Return servers, each datacenter or witness, and `number` pairs of each shape.

    `servers` is how many servers of each function in the whole layout; without it, every server.
    """
    pairs = [row for row in rows if row.kind == "pair"]
    alone = [row for row in rows if row.kind == "server"]
    found = alone if servers is None else some(alone, chance, servers, lambda row: (*row.functions,))
    return [
        *found,
        *(row for row in rows if row.kind in ("datacenter", "witness")),
        *some(pairs, chance, number, shape),
    ]


def some(rows: Sequence[Row], chance: random.Random, number: int, kind: Callable[[Row], object]) -> list[Row]:
    """Return as many rows of each kind."""
    found = list[Row]()
    for name in dict.fromkeys(map(kind, rows)):
        alike = [row for row in rows if kind(row) == name]
        found += chance.sample(alike, min(number, len(alike)))
    return found


def topic_of(cluster: Stretched) -> str:
    """Make a topic with the cluster's defaults, of as many partitions as it takes for every placement to occur."""
    name, brokers = f"survival{uuid.uuid4().hex[:8]}", len(cluster.layout.brokers)
    cluster.create_topic(name, brokers * (brokers - 1))
    return name
