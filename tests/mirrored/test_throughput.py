"""How fast a flow copies with MirrorMaker's defaults and with the role's, side by side and 100 ms apart."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from faults.inventory import ROOT
from faults.lab import until
from faults.ledger import CLIENT

from ansible_collections.millrace.kafka.plugins.plugin_utils.mirrors import buffers

from .conftest import Cluster, Record

pytestmark = pytest.mark.campaign
RECORDS, RECORD, PARTITIONS = 80_000, 1024, 4
ROUND_TRIP, RATE = 100, 10_000_000
"""Milliseconds, and bytes a second of the link."""


@contextmanager
def apart(west: Cluster, east: Cluster) -> Iterator[None]:
    """Put the clusters ROUND_TRIP apart."""
    pairs = [f"{each.bridge}={each.network}" for each in (west, east)]
    link = [sys.executable, str(Path(__file__).parent / "link.py"), *pairs]
    options = ["--round-trip", str(ROUND_TRIP), "--rate", str(RATE)]
    path = {"PYTHONPATH": str(ROOT / "lab")}
    with subprocess.Popen([*link, *options], stdout=subprocess.PIPE, text=True, env={**os.environ, **path}) as process:
        try:
            assert process.stdout and process.stdout.readline().strip() == "apart"
            yield
            assert process.poll() is None, "the link has ended"
        finally:
            process.terminate()


def play(east: Cluster, topic: str, **flow: Any) -> None:
    """Have the flow copy one topic, with other settings; the workers have the optimising compiler, as in production."""
    flows = [{**east.flow, "topics": [topic], **flow}]
    run = east.play("mirror_maker", "-e", json.dumps({"mirror_maker_flows": flows, "mirror_maker_java_options": []}))
    assert run.code == 0, run.output[-4000:]


def rate(east: Cluster, topic: str, **flow: Any) -> float:
    """Return the MB a second of records that are copied, from the first to the last, by the clocks of the brokers."""
    name, times = f"west.{topic}", list[int]()
    east.lab.create_topic(name, partitions=PARTITIONS, config={"message.timestamp.type": "LogAppendTime"})
    play(east, topic, **flow)
    own = {"group.id": "unused", "enable.auto.commit": False}
    with closing(Consumer({**CLIENT, **east.inventory.kafka_properties, **own})) as reader:
        reader.assign([TopicPartition(name, number, 0) for number in range(PARTITIONS)])

        def complete() -> bool:
            times.extend(message.timestamp()[1] for message in reader.consume(2000, 2) if not message.error())
            return len(times) >= RECORDS

        until(f"{RECORDS} copied records", complete, 400)
    return RECORDS * RECORD / (max(times) - min(times)) / 1000


@pytest.mark.timed
def test_defaults_and_the_role(west: Cluster, east: Cluster, topic: str, record: Record) -> None:
    """Each on a topic of its own that was written before, at no distance and 100 ms apart over a link of 10 MB/s."""
    defaults: dict[str, Any] = {"tasks": 1, "config": dict.fromkeys(buffers({}), None)}
    tuned = {"round_trip_ms": ROUND_TRIP, "bandwidth": f"{RATE // 1_000_000}MB"}
    names = [f"{topic}-{number}" for number in range(4)]
    play(east, topic)  # and no topic that is written now
    for name in names:
        west.lab.create_topic(name, partitions=PARTITIONS)
        host, command = west.producing(name, RECORDS, RECORD, "1")
        west.inventory.run(host, command, seconds=300)
    try:
        found = {"defaults": rate(east, names[0], **defaults), "role": rate(east, names[1], **tuned)}
        with apart(west, east):
            found["defaults, far"] = rate(east, names[2], **defaults)
            found["role, far"] = rate(east, names[3], **tuned)
    finally:
        for name in names:
            west.lab.delete_topic(name)
        run = east.play("mirror_maker")
    assert run.code == 0, run.output[-4000:]
    print(found)
    assert found["role, far"] >= 0.8 * RATE / 1e6 and found["role, far"] > found["defaults, far"]
    record("throughput", {name: round(value, 1) for name, value in found.items()})
