"""The archive of topics: each record in one Parquet file, whatever is lost."""

import shutil
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest
from confluent_kafka import Producer
from millrace_jobs.config import JOBS, parse
from millrace_jobs.contract import READINGS
from millrace_jobs.errors import JobError
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.jobs.archive_events import transform
from millrace_jobs.parts import FileSink, KafkaSource
from millrace_jobs.runtime import start
from pyarrow import dataset
from pyspark.sql import DataFrame, Row, SparkSession

from .broker import Broker
from .streams import configured, record, run

BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z in ms
DAY = 86_400_000


def send(broker: Broker, topic: str, *values: tuple[str, int]) -> None:
    """Values of partition 0 with their day, each under the key `k` and with one header."""
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    for value, day in values:
        producer.produce(topic, value, "k", partition=0, timestamp=BEGIN + day * DAY, headers=[("trace", b"\xff")])
    assert producer.flush(60) == 0


def archived(directory: Path) -> list[tuple[str, str, int, str]]:
    """Date, topic, offset and value of all there is, as a reader finds it that knows nothing of Spark."""
    rows = dataset.dataset(directory, partitioning="hive", format="parquet").to_table().to_pylist()
    return sorted((str(row["date"]), row["topic"], row["offset"], row["value"].decode()) for row in rows)


def test_the_envelope_becomes_columns(spark: SparkSession) -> None:
    """The date is that of the record, in UTC; null stays null."""
    moment = datetime(2026, 1, 1, 23, 59, 59, tzinfo=timezone.utc)
    one = Row(topic="t", partition=1, offset=2, timestamp=moment, headers=None)
    frame = spark.createDataFrame(
        [(bytearray(b"k"), None, one)],
        "key binary, value binary, record struct<topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "headers:array<struct<key:string,value:binary>>>",
    )
    (row,) = transform(NoParameters(), frame).collect()
    assert row.asDict() == {
        "date": moment.date(), "topic": "t", "partition": 1, "offset": 2, "timestamp": moment.replace(tzinfo=None),
        "headers": None, "key": b"k", "value": None,
    }  # fmt: skip


def test_each_record_is_kept_once(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """In batches, after a kill between the files and their position, and after a lost checkpoint."""
    one, two, out = broker.topic(), broker.topic(2), tmp_path / "out"
    data = configured(broker, tmp_path / "c", input_topics=[one, two], output_directory=str(out))
    send(broker, one, ("a", 0), ("b", 1), ("c", 0))
    send(broker, two, ("d", 0))
    run(spark, "archive_events", data)
    expected = [
        ("2026-01-01", one, 0, "a"), ("2026-01-01", one, 2, "c"), ("2026-01-02", one, 1, "b"),
        ("2026-01-01", two, 0, "d"),
    ]  # fmt: skip
    assert archived(out) == sorted(expected)
    assert sorted(file.name for file in (tmp_path / "c").glob("isolation-*")) == sorted(
        f"isolation-{topic}" for topic in (one, two)
    )  # whichever of them is read later, and in which order
    (kept,) = (out / "date=2026-01-02" / f"topic={one}").glob("*.parquet")
    row = dataset.dataset(kept).to_table().to_pylist()[0]
    assert (row["key"], row["partition"], row["headers"]) == (b"k", 0, [{"key": "trace", "value": b"\xff"}])

    # Killed: files of a batch are there, some or all, and the position is not.
    before = {file: file.read_text() for file in (out / "_positions").glob("t-*")}
    send(broker, one, ("e", 1), ("f", 2))
    run(spark, "archive_events", data)
    for file, held in before.items():
        file.write_text(held)
    next((out / "date=2026-01-03" / f"topic={one}").glob("*.parquet")).unlink()
    staged = out / f"_staged-{one}" / "date=2026-01-03" / f"topic={one}" / "_partition=0"
    staged.mkdir(parents=True)
    (staged / "part-00000-0a1b-2c-3d-4e.c000.snappy.parquet").write_text("half a file")
    # Lost: batches begin at 0 again and overlap what is there.
    shutil.rmtree(tmp_path / "c")
    send(broker, one, ("g", 2))
    run(spark, "archive_events", data)
    expected += [("2026-01-02", one, 3, "e"), ("2026-01-03", one, 4, "f"), ("2026-01-03", one, 5, "g")]
    assert archived(out) == sorted(expected)
    assert not list(out.glob("_staged*"))


def test_what_does_not_fit_a_contract_is_set_aside(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of JSON whose output is files: dead letters are sent and counted, and the others stand in their folders."""

    def by_sensor(parameters: NoParameters, input: DataFrame) -> DataFrame:
        return input.select("sensor_id", "celsius", "record.topic", "record.partition", "record.offset")

    job = Job("keep", (FileSink(folders=("sensor_id",)),), inputs=(KafkaSource(READINGS),), transform=by_sensor)
    monkeypatch.setitem(JOBS, "keep_readings", job)
    topic, dead, out = broker.topic(), broker.topic(), tmp_path / "out"
    data = configured(broker, tmp_path / "c", input_topic=topic, dead_letter_topic=dead, output_directory=str(out))
    good = [record(name, {"sensor_id": name, "at": "2026-01-01T00:00:00Z", "celsius": 1.5}) for name in "ab"]
    broker.send_records(topic, [good[0], ("c", b"[]", []), ("d", None, []), good[1]])
    assert run(spark, "keep_readings", data).dead == {"malformed": 1, "null_value": 1}
    assert [dict(headers)["dead_offset"] for _, _, headers in broker.raw(dead)] == [b"1", b"2"]
    assert sorted(str(file.relative_to(out)) for file in out.glob("sensor_id*/**/*.parquet")) == [
        f"sensor_id={name}/topic={topic}/0-0-4-0.parquet" for name in "ab"
    ]


def test_what_is_not_its_own_is_refused(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """A topic made anew, records that would be missing, a directory that is a file."""
    topic, out = broker.topic(), tmp_path / "out"
    data = configured(broker, tmp_path / "c", input_topics=[topic], output_directory=str(out))
    send(broker, topic, ("a", 0), ("b", 0))
    run(spark, "archive_events", data)
    held = out / "_positions" / topic
    whole = held.read_text()
    held.write_text(whole.replace('"0": 2', '"0": 1'))
    with pytest.raises(JobError, match=r"files beyond the position in .*, of more than one batch \(0-2\)"):
        start(spark, parse("archive_events", data), threading.Event())
    held.unlink()
    with pytest.raises(JobError, match=f"^output_directory: contains 1 files of topic {topic}, but .* is missing"):
        start(spark, parse("archive_events", data), threading.Event())
    (kept,) = out.glob("date=*/*/*.parquet")
    kept.rename(kept.with_name("0-0-1-0.parquet"))
    held.write_text(whole.replace('"0": 2', '"0": 1'))
    send(broker, topic, ("c", 0))
    holds = (
        f"archive_events: the archive holds topic {topic} partition 0 up to offset 1, but the checkpoint continues at 2"
    )
    with pytest.raises(JobError, match=f"^{holds}"):
        start(spark, parse("archive_events", data), threading.Event())
    empty = data | {"output_directory": str(tmp_path / "empty")}
    with pytest.raises(JobError, match=f"^archive_events: the archive holds nothing of topic {topic} partition 0, "):
        start(spark, parse("archive_events", empty), threading.Event())
    broker.delete(topic)
    broker.make(topic)
    with pytest.raises(JobError, match=f"^archive_events: topic {topic} was deleted and recreated since"):
        start(spark, parse("archive_events", data), threading.Event())
    (tmp_path / "file").write_text("in the way")
    data["output_directory"] = str(tmp_path / "file" / "out")
    with pytest.raises(JobError, match=r"^output_directory: cannot be written \(Not a directory: "):
        start(spark, parse("archive_events", data), threading.Event())
