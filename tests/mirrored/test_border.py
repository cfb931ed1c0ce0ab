"""Data that must stay in its region: a flow out of it is rejected, and the link carries less than it would take."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.lab import until

from .conftest import Cluster

pytestmark = pytest.mark.campaign
LABELS = {"west": ["eu", "world"], "east": ["world"]}
SIZE = 20_000_000
"""Bytes that are written to each topic. They cannot be compressed."""
QUIET = SIZE // 20
"""More than the workers' own requests take meanwhile."""


def link_bytes(cluster: Cluster) -> int:
    """Return the bytes that passed between the hosts of a cluster and other networks, both directions."""
    folder = Path("/sys/class/net") / cluster.bridge / "statistics"
    return sum(int((folder / name).read_text()) for name in ("rx_bytes", "tx_bytes"))


def write(cluster: Cluster, topic: str) -> None:
    """Write SIZE bytes on a host of the cluster."""
    cluster.inventory.run(*cluster.producing(topic, SIZE // 10_000, 10_000, "all"), seconds=300)


def declared(target: Cluster, source: Cluster, topics: list[str], names: dict[str, str]) -> tuple[str, str]:
    """Return the option that gives both clusters their labels; `names` are the source's topics with theirs."""
    known = [{"name": name, "residency": label} for name, label in names.items()]
    border: dict[str, Any] = {"topics": topics, "residency": LABELS[source.name], "source_topics": known}
    return "-e", json.dumps({"mirror_maker_flows": [{**target.flow, **border}], "residency": LABELS[target.name]})


@pytest.fixture
def as_declared(east: Cluster) -> Iterator[None]:
    """The flow is again that of the inventory afterwards."""
    yield
    run = east.play("mirror_maker")
    assert run.code == 0, run.output[-4000:]


@pytest.mark.parametrize("pattern", ["{}-eu", "{}.*"])
def test_a_topic_that_must_stay_is_rejected(east: Cluster, west: Cluster, topic: str, pattern: str) -> None:
    """By its name and by a pattern; nothing is changed."""
    names = {topic: "world", f"{topic}-eu": "eu"}
    run = east.play("mirror_maker", *declared(east, west, [pattern.format(topic)], names))
    assert run.code != 0 and "MIRROR_RESIDENCY" in run.output and f"{topic}-eu" in run.output, run.output[-4000:]
    assert not any(run.recap("changed").values())


def test_nothing_crosses(east: Cluster, west: Cluster, topic: str, as_declared: None) -> None:
    """Of a topic that was created later, although the pattern selects it; a topic that may cross does."""
    later = f"{topic}-later"
    run = east.play("mirror_maker", *declared(east, west, [f"{topic}.*"], {topic: "world"}))
    assert run.code == 0, run.output[-4000:]
    west.lab.create_topic(later)
    try:
        begin = link_bytes(west)
        write(west, later)
        middle = link_bytes(west)
        write(west, topic)
        until("the copy of the other topic is there", lambda: link_bytes(west) - middle > SIZE, 300)
        print(f"bytes on the link: {middle - begin} while {later} was written, {link_bytes(west) - middle} then")
        assert middle - begin < QUIET
        assert f"west.{later}" not in east.topics()
    finally:
        west.lab.delete_topic(later)
