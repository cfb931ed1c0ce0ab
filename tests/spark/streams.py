"""What tests of streams against a broker share: a configuration, a query that runs, JSON records."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from millrace_jobs.config import parse
from millrace_jobs.lifecycle import BatchLog
from millrace_jobs.runtime import Running, start
from pyspark.sql import SparkSession

from .broker import Broker

Raw = tuple[str | None, bytes | None, list[tuple[str, bytes]]]


def configured(broker: Broker, checkpoint: Path, **keys: object) -> dict[str, object]:
    """A job against the broker."""
    return {
        "checkpoint": str(checkpoint),
        "kafka": {"bootstrap.servers": broker.servers},
        "trigger_interval": "100 milliseconds",
        **keys,
    }


@contextmanager
def running(spark: SparkSession, job: str, data: dict[str, object]) -> Iterator[Running]:
    """The one query of a job, stopped at the end."""
    (one,) = start(spark, parse(job, data), threading.Event())
    try:
        yield one
    finally:
        one.query.stop()


def run(spark: SparkSession, job: str, data: dict[str, object]) -> Running:
    """Let a job do all that there is."""
    with running(spark, job, data) as one:
        one.query.processAllAvailable()
        return one


@contextmanager
def reported(spark: SparkSession, caplog: Any) -> Iterator[list[dict[str, Any]]]:
    """The facts of the batches that end meanwhile, as the journal gets them."""
    caplog.set_level("INFO")
    log, found = BatchLog(), list[dict[str, Any]]()
    spark.streams.addListener(log)
    try:
        yield found
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[union-attr]
    finally:
        spark.streams.removeListener(log)
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("batch ")]
    found += [json.loads(line[line.index("{") :]) for line in lines]


def record(key: str, value: Mapping[str, object], *headers: tuple[str, bytes]) -> Raw:
    """A record of JSON."""
    return key, json.dumps(value).encode(), list(headers)


def values(broker: Broker, topic: str) -> Sequence[Mapping[str, Any]]:
    """The JSON that a topic holds."""
    return [json.loads(str(one.value)) for one in broker.records(topic)]


def stopping_after(seconds: float) -> threading.Event:
    """A stop that is asked for after this time: no wait without an end."""
    stopping = threading.Event()
    timer = threading.Timer(seconds, stopping.set)
    timer.daemon = True
    timer.start()
    return stopping
