"""What a job hears of its batches, and what that costs."""

from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JVMView
from pyspark.sql import SparkSession

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
