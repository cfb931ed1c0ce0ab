"""The rows of the computed table that a run makes happen."""

import random
import uuid
from collections.abc import Sequence

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row

from .stretched import Stretched


def shape(row: Row) -> str:
    """Return functions of a pair, and whether it is in one datacenter; for other failures their name."""
    if row.kind != "pair":
        return row.failure
    return f"{' '.join(row.functions)} in {'one datacenter' if len(set(row.datacenters)) == 1 else 'two datacenters'}"


def chosen(rows: Sequence[Row], chance: random.Random, number: int) -> list[Row]:
    """Return each server, each datacenter or witness, and `number` pairs of each shape."""
    pairs = [row for row in rows if row.kind == "pair"]
    found = [row for row in rows if row.kind in ("server", "datacenter", "witness")]
    for name in dict.fromkeys(map(shape, pairs)):
        alike = [row for row in pairs if shape(row) == name]
        found += chance.sample(alike, min(number, len(alike)))
    return found


def topic_of(cluster: Stretched) -> str:
    """Make a topic with the cluster's defaults, of as many partitions as it takes for every placement to occur."""
    name, brokers = f"survival{uuid.uuid4().hex[:8]}", len(cluster.layout.brokers)
    cluster.create_topic(name, brokers * (brokers - 1))
    return name
