"""Averages of readings: on rows written by hand, and as a real stream with late, bad and good records."""

from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from threading import Event

import pytest
from millrace_jobs.config import parse
from millrace_jobs.errors import JobError
from millrace_jobs.jobs.average_readings import Parameters, transform
from millrace_jobs.runtime import start
from pyspark.sql import SparkSession

from .broker import Broker
from .helpers import counts
from .streams import Raw, configured, record, reported, run, values


def at(minute: int, second: int = 0) -> datetime:
    """A moment."""
    return datetime(2026, 1, 1, 0, minute, second, tzinfo=timezone.utc)


def reading(sensor: str, minute: int, second: int, celsius: float) -> Raw:
    """A record of one."""
    return record(sensor, {"sensor_id": sensor, "at": f"2026-01-01T00:{minute:02}:{second:02}Z", "celsius": celsius})


def test_each_sensor_has_a_row_for_each_window(spark: SparkSession) -> None:
    """Windows begin at whole times, and their end belongs to the next."""
    rows = [("a", at(0), 1.0), ("a", at(1, 59), 4.0), ("a", at(2), 9.0), ("b", at(1), -1.5)]
    frame = spark.createDataFrame(rows, "sensor_id string, at timestamp, celsius double")
    found = transform(Parameters(window="2 minutes"), frame).orderBy("sensor_id", "window_begin").collect()
    assert [(row.sensor_id, row.window_begin.minute, row.window_end.minute, *row[3:]) for row in found] == [
        ("a", 0, 2, 2, 2.5, 1.0, 4.0),
        ("a", 2, 4, 1, 9.0, 9.0, 9.0),
        ("b", 0, 2, 1, -1.5, -1.5, -1.5),
    ]


def test_late_and_bad_readings_are_counted_and_lose_nothing(
    spark: SparkSession, broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A window is sent once, after its watermark; what comes later is counted; state goes on after a restart."""
    source, sink, dead = broker.topic(), broker.topic(), broker.topic()
    data = configured(
        broker, tmp_path / "c", input_topic=source, output_topic=sink, dead_letter_topic=dead,
        window="1 minute", late_by="30 seconds",
    )  # fmt: skip
    broker.send_records(source, [reading("a", 0, 10, 1.0), ("a", b"no json", []), reading("b", 0, 20, 5.0)])
    run(spark, "average_readings", data)
    assert values(broker, sink) == []
    broker.send_records(source, [reading("a", 0, 50, 3.0), reading("a", 1, 31, 7.0)])
    with reported(spark, caplog) as facts:
        run(spark, "average_readings", data)
        wanted = [("a", 2, 2.0, 1.0, 3.0), ("b", 1, 5.0, 5.0, 5.0)]
        found = [
            (one["sensor_id"], one["readings"], one["average"], one["least"], one["greatest"])
            for one in values(broker, sink)
        ]
        assert sorted(found) == wanted
        broker.send_records(source, [reading("a", 0, 59, 100.0), reading("a", 1, 0, 9.0), ("a", None, [])])
        run(spark, "average_readings", data)
    assert len(values(broker, sink)) == 2
    assert {(one["window_begin"], one["window_end"]) for one in values(broker, sink)} == {
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:01:00.000Z")
    }
    assert {one.key for one in broker.records(sink)} == {"a", "b"}
    assert (facts[-1]["late"], facts[-1]["watermark"]) == (1, "2026-01-01T00:01:01.000Z")
    assert facts[-1]["dead_letters"] == {"null_value": 1}
    assert [one["rows"] for one in facts] == [2, 3]
    assert facts[-1]["state_rows"] == 1
    reasons = [dict(headers)["dead_reason"] for _, _, headers in broker.raw(dead)]
    assert reasons == [b"malformed", b"null_value"]
    assert list((tmp_path / "c" / "state").rglob("*.changelog")), "no state of RocksDB"


def test_directories_may_take_the_averages(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Dead letters go to their topic all the same, each once."""
    source, dead = broker.topic(), broker.topic()
    data = configured(
        broker, tmp_path / "c", input_topic=source, output_directory=str(tmp_path / "out"), dead_letter_topic=dead
    )
    bad: list[Raw] = [("a", b"[]", []), ("b", b"{}", []), reading("a", 0, 1, 1e9)]
    broker.send_records(source, [reading("a", 0, 10, 1.0), *bad, reading("a", 9, 0, 1.0)])
    run(spark, "average_readings", data)
    assert list(counts(tmp_path / "out")) == ["a"]
    found = Counter(dict(headers)["dead_reason"] for _, _, headers in broker.raw(dead))
    assert found == {b"malformed": 2, b"impossible_value": 1}


def test_a_checkpoint_keeps_the_words_that_it_began_with(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Its state is of those windows: with others it would be sums of both."""
    source, dead = broker.topic(), broker.topic()
    data = configured(
        broker, tmp_path / "c", input_topic=source, output_directory=str(tmp_path / "out"), dead_letter_topic=dead
    )
    broker.send_records(source, [reading("a", 0, 10, 1.0)])
    run(spark, "average_readings", data)
    wrong = (
        "^average_readings: the checkpoint began with window 1 minute and late_by 1 minute, and window 2 minutes and "
        "late_by 5 minutes would continue with that state; keep the old values, or start again from the first records: "
        ".*reposition average_readings "
    )
    with pytest.raises(JobError, match=wrong):
        start(spark, parse("average_readings", {**data, "window": "2 minutes", "late_by": "5 minutes"}), Event())
    broker.send_records(source, [reading("a", 9, 10, 1.0)])
    run(spark, "average_readings", {**data, "window": "1 minute"})
    assert list(counts(tmp_path / "out")) == ["a"]
