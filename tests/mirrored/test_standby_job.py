"""A Spark job at the other cluster continues where a group of the lost cluster was, and its results are complete."""

import json
import secrets
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from faults.lab import until
from faults.reader import read_all
from faults.writer import Writer

from .application import Application, Sink
from .conftest import Cluster, Record
from .test_mirrored import INTERVAL, acknowledged, lost, switched

pytestmark = pytest.mark.campaign
JOB, RATE = "standby", 200
CLIENT = "{{ kafka_client | combine(kafka_users | millrace.kafka.kafka_login('lab')) }}"


def declared(topic: str, output: str, group: str) -> tuple[str, ...]:
    """Return the options that declare a job on the consumer node: it starts at the offsets of a group."""
    config: dict[str, Any] = {
        "input_topic": f"west.{topic}",
        "input_start": {"group": group},
        "output_topic": output,
        "kafka": CLIENT,
        "checkpoint": f"/var/lib/spark-job/{JOB}/checkpoint",
        "spark": {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"},
    }
    jobs = [{"name": JOB, "job": "relay", "config": config}]
    names = ("streams-plaintext-input", "streams-wordcount-output", output, f"west.{topic}")
    topics = [{"name": name, "manage": False} for name in names]
    return "--limit", "spark_consumer", "-e", json.dumps({"spark_job_jobs": jobs, "kafka_topics": topics})


@pytest.fixture
def output(east: Cluster) -> Iterator[str]:
    """The topic of the job; its nodes have their own jobs again afterwards."""
    name = f"streams-standby-{secrets.token_hex(4)}"  # MirrorMaker continues at the offsets of an old one
    east.lab.create_topic(name)
    yield name
    host = east.inventory.hosts("spark_consumer")[0]
    east.inventory.run(host, f"systemctl stop spark-job@{JOB}.service; rm -rf /var/lib/spark-job/{JOB}", seconds=120)
    run = east.play("spark", "--limit", "spark_consumer")
    east.lab.delete_topic(name)
    assert run.code == 0, run.output[-4000:]


@pytest.mark.timed
def test_a_job_continues_at_the_other_side(
    west: Cluster, east: Cluster, topic: str, output: str, tmp_path: Path, record: Record
) -> None:
    """The group has read a part; the job reads the rest, and some records again."""
    group, sink = f"words-{topic}", Sink()
    writer = Writer(
        west.inventory.kafka_properties, topic, tmp_path / "w", run=topic, limit=RATE * 200, rate=RATE,
        delivery_timeout=20,
    )  # fmt: skip
    with writer:
        with Application(west.inventory.kafka_properties, group, [topic], sink):
            until("a part of the load", partial(acknowledged, writer, RATE * 20), 120)
        until("the mirror has translated offsets", partial(translated, east, group), 120)
        more = writer.acked + RATE * 10
        until("more of the load", partial(acknowledged, writer, more), 120)
        lost(west)
    switched(east, west, group, "-e", "lost=true")
    run = east.play("spark", *declared(topic, output, group))
    assert run.code == 0, run.output[-4000:]

    copy = {one.key for one in read_all(east.inventory.kafka_properties, f"west.{topic}")}
    unread = copy - sink.times.keys()
    until("the job has read everything", lambda: unread <= set(results(east, output)), 180, 2)
    found = results(east, output)
    again = len(found.keys() & sink.times.keys())
    assert copy == found.keys() | (copy & sink.times.keys())
    assert set(found.values()) == {1} and again <= 3 * INTERVAL * RATE
    record("standby job", {"copied": len(copy), "read before": len(sink.times), "read again": again})


def results(cluster: Cluster, topic: str) -> Counter[str]:
    """Return how often each key is in a topic."""
    return Counter(one.key for one in read_all(cluster.inventory.kafka_properties, topic))


def translated(cluster: Cluster, group: str) -> bool:
    """Tell whether the group has offsets at the cluster."""
    groups = cluster.lab.admin.list_consumer_groups().result(30).valid
    return group in {one.group_id for one in groups}
