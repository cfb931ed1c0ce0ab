"""The relay: what it hands on, with each trigger, and what it refuses."""

import threading
from pathlib import Path

import pytest
from millrace_jobs.config import parse
from millrace_jobs.errors import JobError
from millrace_jobs.job import NoParameters
from millrace_jobs.jobs.relay import transform
from millrace_jobs.lifecycle import await_end
from millrace_jobs.runtime import start
from pyspark.sql import Row, SparkSession

from .broker import Broker
from .helpers import eventually
from .streams import Raw, configured

RECORDS: list[Raw] = [("k", b"\xff\x00", [("a", b"1"), ("a", b"2")]), ("k", None, []), (None, b"", [("b", b"")])]


def test_records_are_handed_on_as_they_are(spark: SparkSession) -> None:
    """Key, value, headers, and nothing else."""
    frame = spark.createDataFrame(
        [(bytearray(b"k"), None, Row(headers=[Row(key="h", value=bytearray(b"v"))]))],
        "key binary, value binary, record struct<headers:array<struct<key:string,value:binary>>>",
    )
    (row,) = transform(NoParameters(), frame).collect()
    assert row.asDict(recursive=True) == {"key": b"k", "value": None, "headers": [{"key": "h", "value": b"v"}]}


@pytest.mark.parametrize("trigger", [{}, {"trigger": "real-time", "trigger_interval": "5 seconds"}])
def test_a_stream_of_each_trigger(spark: SparkSession, broker: Broker, tmp_path: Path, trigger: dict[str, str]) -> None:
    """Bytes stay bytes, a tombstone stays one; a stop keeps the progress, so a restart sends nothing again.

    In real time it may: what came in the moment after the last interval.
    """
    source, sink = broker.topic(), broker.topic()
    data = configured(broker, tmp_path, input_topic=source, output_topic=sink, **trigger)
    broker.send_records(source, RECORDS)
    for more in ([], RECORDS[:1]):
        broker.send_records(source, more)
        stopping = threading.Event()
        running = start(spark, parse("relay", data), stopping)
        eventually(lambda: len(broker.raw(sink)), 3 + len(more))
        stopping.set()
        await_end(running, stopping)
    expected = [(key.encode() if key else None, value, headers) for key, value, headers in RECORDS]
    expected.append((b"k", b"\xff\x00", [("a", b"1"), ("a", b"2")]))
    found = broker.raw(sink)
    if trigger:
        assert (found[:3], found[-1]) == (expected[:3], expected[3])
        assert all(record in expected for record in found)
    else:
        assert found == expected


def test_a_partition_without_a_slot_is_refused(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """It would never be read."""
    source = broker.topic(partitions=3)
    data = configured(broker, tmp_path, input_topic=source, output_topic=broker.topic(), trigger="real-time")
    data["trigger_interval"] = "5 seconds"
    with pytest.raises(JobError, match=r"needs a task slot for each of 3 partitions, and there are 2; write .spark\.m"):
        start(spark, parse("relay", data), threading.Event())
