"""The relay: what it hands on, with each trigger, and what it refuses."""

import json
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer
from millrace_jobs.cli import main
from millrace_jobs.config import parse
from millrace_jobs.errors import JobError
from millrace_jobs.io import read
from millrace_jobs.job import NoParameters
from millrace_jobs.jobs.relay import transform
from millrace_jobs.lifecycle import await_end
from millrace_jobs.runtime import start
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from .broker import Broker
from .helpers import eventually
from .streams import Raw, configured, run

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


@pytest.mark.parametrize(("said", "most"), [({}, "10000"), ({"max.poll.records": 7}, "7")])
def test_what_a_poll_takes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, int], most: str
) -> None:
    """The default is above the client's 500, for each poll costs two more requests; the job's value overrides it."""
    asked: dict[str, str] = {}
    real = DataStreamReader.options

    def options(reader: DataStreamReader, **given: str) -> DataStreamReader:
        asked.update(given)
        return real(reader, **given)

    monkeypatch.setattr(DataStreamReader, "options", options)
    data = {"checkpoint": str(tmp_path), "kafka": {"bootstrap.servers": "k:1", **said}}
    config = parse("relay", {**data, "input_topic": "a", "output_topic": "b"})
    read(spark, config.inputs["input"], config.checkpoint, headers=True)
    assert asked["kafka.max.poll.records"] == most


def test_a_partition_without_a_slot_is_refused(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """It would never be read."""
    source = broker.topic(partitions=3)
    data = configured(broker, tmp_path, input_topic=source, output_topic=broker.topic(), trigger="real-time")
    data["trigger_interval"] = "5 seconds"
    with pytest.raises(JobError, match=r"needs a task slot for each of 3 partitions, but there are 2; set .spark\.m"):
        start(spark, parse("relay", data), threading.Event())


def test_a_topic_made_anew_is_refused(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Its offsets begin at 0 again, and those before the checkpoint's would be left out without a word."""
    source, sink = broker.topic(), broker.topic()
    data = configured(broker, tmp_path / "c", input_topic=source, output_topic=sink)
    broker.send(source, ["a", "b"])
    run(spark, "relay", data)
    broker.delete(source)
    broker.make(source)
    broker.send(source, ["c", "d", "e"])
    anew = f"^relay: topic {source} was deleted and recreated since the checkpoint began .*reposition relay .*--to-earl"
    with pytest.raises(JobError, match=anew):
        start(spark, parse("relay", data), threading.Event())
    assert [record.value for record in broker.records(sink)] == ["a", "b"]
    (tmp_path / "job.json").write_text(json.dumps(data))
    cure = ["reposition", "relay", "--config", str(tmp_path / "job.json"), "--to-earliest", "--apply"]
    assert main(cure) == 0
    run(spark, "relay", data)
    assert [record.value for record in broker.records(sink)] == ["a", "b", "c", "d", "e"]


def test_a_record_is_as_large_as_its_topics_let_it_be(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Beyond what a producer takes unless it is told; what the second topic refuses is named, with the cure."""
    large, small = {"max.message.bytes": "3000000"}, {"max.message.bytes": "1000000"}
    source, sink, narrow = broker.topic(config=large), broker.topic(config=large), broker.topic(config=small)
    broker.send_records(source, [("k", b"x" * 1_900_000, []), ("k", b"y", [])])
    run(spark, "relay", configured(broker, tmp_path / "one", input_topic=source, output_topic=sink))
    assert [value for _, value, _ in broker.raw(sink)] == [b"x" * 1_900_000, b"y"]
    refused = ended(spark, configured(broker, tmp_path / "two", input_topic=source, output_topic=narrow))
    assert "RecordTooLargeException" in refused
    assert refused.endswith("; raise max.message.bytes of the output topic to that of the input topic")


def test_a_time_that_spark_cannot_hold_is_named(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """With the topic, the offset and what keeps such records out: Spark's source has no way around them."""
    source, sink = broker.topic(), broker.topic()
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    producer.produce(source, "late", timestamp=9_300_000_000_000_000)
    assert producer.flush(60) == 0
    refused = ended(spark, configured(broker, tmp_path, input_topic=source, output_topic=sink))
    assert f"Record at topic {source} partition 0 offset 0 has timestamp value 9300000000000000" in refused
    assert "millrace-jobs reposition" in refused and refused.endswith(" (message.timestamp.after.max.ms)")


def ended(spark: SparkSession, data: dict[str, object]) -> str:
    """What a relay says that fails."""
    stopping = threading.Event()
    timer = threading.Timer(120, stopping.set)
    timer.start()
    with pytest.raises(JobError) as failed:
        await_end(start(spark, parse("relay", data), stopping), stopping)
    timer.cancel()
    return str(failed.value)
