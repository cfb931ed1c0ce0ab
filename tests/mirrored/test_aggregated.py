"""One cluster holds the topics of two others: each copy has the records of its source, once."""

import secrets
from pathlib import Path

import pytest
from faults.writer import Writer

from .conftest import Cluster, Record, cluster
from .test_mirrored import copied

pytestmark = pytest.mark.campaign
RECORDS, RATE = 6000, 100


def test_sums_are_equal(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, record: Record) -> None:
    """Both sources write for a minute to topics of one name."""
    north, south, total = (
        cluster(name, tmp_path_factory.mktemp(name), "lab_aggregated") for name in ("north", "south", "sum")
    )
    topic = f"streams-{secrets.token_hex(4)}"
    for each in (north, south):
        each.lab.create_topic(topic)
    try:
        writers = [written(each, topic, tmp_path) for each in (north, south)]
        with writers[0], writers[1]:
            for writer in writers:
                writer.join()
        found = [copied(tmp_path / each.name, topic, each, total) for each in (north, south)]
        assert [str(one) for one in found if not one.ok or one.read != RECORDS] == []
        assert {name for name in total.topics() if topic in name} == {f"north.{topic}", f"south.{topic}"}
    finally:
        for each in (north, south):
            each.lab.delete_topic(topic)
        for each in (north, south, total):
            each.inventory.close()
    record("aggregated", {
        "acknowledged": sum(one.acknowledged for one in found),
        "read": sum(one.read for one in found),
        "missing": sum(len(one.missing) for one in found),
        "double": sum(len(one.double) for one in found),
    })  # fmt: skip


def written(source: Cluster, topic: str, folder: Path) -> Writer:
    """Return a writer to a topic of a source, with a ledger of its own."""
    directory = folder / source.name
    return Writer(
        source.inventory.kafka_properties, topic, directory, run=topic, name=source.name, limit=RECORDS, rate=RATE
    )
