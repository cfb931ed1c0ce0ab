"""A job of two outputs: two queries with progress of their own, which end together. What a start leaves alone."""

import threading
from pathlib import Path
from typing import Any

import pytest
from millrace_jobs.config import JOBS, parse, problems
from millrace_jobs.contract import LINES
from millrace_jobs.errors import JobError
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.lifecycle import await_end
from millrace_jobs.parts import KafkaSink, KafkaSource
from millrace_jobs.runtime import start
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.column import Column
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.types import StructType

from .broker import Broker
from .helpers import eventually, put, records


def transform(parameters: NoParameters, input: DataFrame) -> dict[str, DataFrame]:
    """Lines by their length."""
    return {
        "long": input.where("length(line) > 3").select("line"),
        "short": input.where("length(line) <= 3").select("line"),
    }


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The job's configuration, on files."""
    (tmp_path / "in").mkdir()
    outputs = (KafkaSink(LINES, "long", files=True), KafkaSink(LINES, "short", files=True))
    job = Job("split", outputs, inputs=(KafkaSource(LINES, files=True),), transform=transform)
    monkeypatch.setitem(JOBS, "split_lines", job)
    return {
        "checkpoint": str(tmp_path / "c"),
        "input_directory": str(tmp_path / "in"),
        "long_directory": str(tmp_path / "long"),
        "short_directory": str(tmp_path / "short"),
        "trigger_interval": "100 milliseconds",
    }


def test_each_output_is_a_query(spark: SparkSession, tmp_path: Path, data: dict[str, Any]) -> None:
    """A stop ends both after their batches; each has its folder below the checkpoint."""
    put(tmp_path / "in", "one.txt", "abc\nabcd\n")
    stopping = threading.Event()
    running = start(spark, parse("split_lines", data), stopping)
    assert [one.query.name for one in running] == ["split_lines-long", "split_lines-short"]
    eventually(lambda: [value for _, value in records(tmp_path / "long")], ["abcd"])
    eventually(lambda: [value for _, value in records(tmp_path / "short")], ["abc"])
    stopping.set()
    await_end(running, stopping)
    assert not any(one.query.isActive for one in running)
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["long", "short"]


def test_one_that_fails_ends_the_other(spark: SparkSession, tmp_path: Path, data: dict[str, Any]) -> None:
    """No job runs by half."""
    (tmp_path / "short").write_text("in the way")
    put(tmp_path / "in", "one.txt", "abc\nabcd\n")
    stopping = threading.Event()
    running = start(spark, parse("split_lines", data), stopping)
    with pytest.raises(JobError, match=r"^the query failed: .*Parent path is not a directory"):
        await_end(running, stopping)
    assert not any(one.query.isActive for one in running)


def test_an_output_that_is_the_input_is_refused(data: dict[str, Any]) -> None:
    """By whatever name."""
    found = problems("split_lines", {**data, "short_directory": data["input_directory"]})
    assert found == ["short: is the same as the input, so the job would feed itself; give another"]


def test_text_passes_without_the_parser(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first SQL that Spark reads costs half a CPU second: types and conditions are objects."""

    def refuse(*told: Any) -> Any:
        raise AssertionError(told)

    cast, where = Column.cast, ClassicDataFrame.filter
    monkeypatch.setattr(Column, "cast", lambda one, kind: (refuse if isinstance(kind, str) else cast)(one, kind))
    monkeypatch.setattr(
        ClassicDataFrame, "filter", lambda one, true: (refuse if isinstance(true, str) else where)(one, true)
    )
    monkeypatch.setattr(StructType, "fromDDL", refuse)
    topics = broker.topic(), broker.topic()
    broker.send(topics[0], ["b a b"])
    config = {
        "checkpoint": str(tmp_path / "c"),
        "kafka": {"bootstrap.servers": broker.servers},
        "input_topic": topics[0],
        "output_topic": topics[1],
    }
    (running,) = start(spark, parse("count_words", config), threading.Event())
    running.query.processAllAvailable()
    running.query.stop()
    assert sorted((record.key, record.value) for record in broker.records(topics[1])) == [("a", "1"), ("b", "2")]
