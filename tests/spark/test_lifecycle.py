"""What a job hears of its batches, and what that costs."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from millrace_jobs.lifecycle import BatchLog
from millrace_jobs.runtime import Running
from py4j.java_gateway import JVMView
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import QueryProgressEvent, StreamingQueryProgress

from .broker import Broker
from .streams import configured, reported, run


def test_a_batch_is_told_without_a_search_through_all_jars(
    spark: SparkSession,
    broker: Broker,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PySpark asks for the name of each exception of Java, and of those that end its maps as well."""
    searched: list[str] = []
    real = JVMView.__getattr__

    def search(view: JVMView, name: str) -> Any:
        searched.append(name)
        return real(view, name)

    source = broker.topic()
    broker.send(source, ["a", "b"])
    data = configured(broker, tmp_path, input_topic=source, output_topic=broker.topic())
    with reported(spark, caplog) as batches:
        run(spark, "relay", data)  # what PySpark looks for once, it has then
        broker.send(source, ["c"])
        monkeypatch.setattr(JVMView, "__getattr__", search)
        run(spark, "relay", data)
    assert [one["rows"] for one in batches] == [2, 1]
    assert "py4j" not in searched


def test_dead_letters_are_counted_over_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    """A query that began again begins to count anew; what it left out before that is not forgotten."""
    caplog.set_level("INFO")
    log, query = BatchLog(), cast(Any, SimpleNamespace(name="project_orders", id="1"))
    log.add_queries([Running(query, dead={"not_json": 2})])
    log.add_queries([Running(query, dead={"not_json": 1, "null_key": 3})])
    source = {"numInputRows": 1, "endOffset": "{}", "description": "", "inputRowsPerSecond": 1.0}
    source |= {"processedRowsPerSecond": 1.0, "startOffset": "", "latestOffset": "", "metrics": {}}
    progress = {"id": "00000000-0000-0000-0000-000000000001", "runId": "00000000-0000-0000-0000-000000000002"}
    progress |= {
        "name": "project_orders",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "batchId": 7,
        "batchDuration": 1,
        "durationMs": {},
    }
    progress |= {
        "eventTime": {},
        "stateOperators": [],
        "sources": [source],
        "sink": {"description": "", "numOutputRows": -1},
    }
    progress |= {"numInputRows": 1, "inputRowsPerSecond": 1.0, "processedRowsPerSecond": 1.0, "observedMetrics": {}}
    log.onQueryProgress(QueryProgressEvent(StreamingQueryProgress.fromJson(progress)))
    (line,) = [record.getMessage() for record in caplog.records]
    assert json.loads(line[line.index("{") :])["dead_letters"] == {"not_json": 3, "null_key": 3}
