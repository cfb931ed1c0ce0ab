"""Each job with topics of a real broker: what arrives, what a restart does, what stops a query."""

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from millrace_jobs.config import parse
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError
from millrace_jobs.lifecycle import await_end
from millrace_jobs.runtime import Running, start
from millrace_jobs.topics import wait_for_topics
from pyspark.sql import SparkSession

from .broker import Broker
from .helpers import eventually, files_config, put
from .streams import stopping_after


@contextmanager
def running(spark: SparkSession, job: str, broker: Broker, tmp_path: Path, **keys: object) -> Iterator[Running]:
    """A query of `job` on topics and directories as `keys` names them, stopped at the end."""
    data = {**files_config(tmp_path), "kafka": {"bootstrap.servers": broker.servers}, **keys}
    for end in ("input", "output"):
        if f"{end}_topic" in data:
            del data[f"{end}_directory"]
    (started,) = start(spark, parse(job, data), threading.Event())
    query = started.query
    try:
        yield started
        if (
            query.exception() is None
        ):  # a stop between a batch and its commit would send it again: the sink is at least once
            query.processAllAvailable()
    finally:
        query.stop()


def counts(broker: Broker, topic: str) -> list[tuple[str | None, str | None]]:
    """Words and counts in the order in which the topic got them."""
    return [(record.key, record.value) for record in broker.records(topic)]


def test_published_lines_have_key_and_time(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Each line once, keyed by its file's name, with the time of its sending as a header."""
    (tmp_path / "in").mkdir()
    put(tmp_path / "in", "größe.txt", "first\n\n  last")
    topic, begin = broker.topic(partitions=2), datetime.now(timezone.utc) - timedelta(milliseconds=1)
    with running(spark, "publish_lines", broker, tmp_path, output_topic=topic):
        expected = Counter({("größe.txt", "first"): 1, ("größe.txt", ""): 1, ("größe.txt", "  last"): 1})
        eventually(lambda: Counter((record.key, record.value) for record in broker.records(topic)), expected)
    for record in broker.records(topic):
        assert record.headers.keys() == {"sent_at"}
        assert (
            begin
            <= datetime.fromisoformat(record.headers["sent_at"].replace("Z", "+00:00"))
            <= datetime.now(timezone.utc)
        )


def test_counts_go_on_after_a_restart(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """From topic to topic, without headers; a restart neither repeats nor forgets, and a null value is no line."""
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a b", None, "a"])
    with running(spark, "count_words", broker, tmp_path, input_topic=source, output_topic=sink):
        eventually(lambda: dict(counts(broker, sink)), {"a": "2", "b": "1"})
    told = len(broker.records(sink))
    broker.send(source, ["b c"])
    with running(spark, "count_words", broker, tmp_path, input_topic=source, output_topic=sink):
        eventually(lambda: sorted(counts(broker, sink)[told:], key=str), [("b", "2"), ("c", "1")])
    assert all(record.headers == {} for record in broker.records(sink))


def test_a_backlog_of_records_is_counted_in_limited_batches(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Each count is one batch's: never more than the limit, and nothing twice."""
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a"] * 7)
    with running(
        spark, "count_words", broker, tmp_path, input_topic=source, output_topic=sink, max_offsets_per_trigger=3
    ):
        eventually(lambda: counts(broker, sink)[-1:], [("a", "7")])
    assert counts(broker, sink) == [("a", "3"), ("a", "6"), ("a", "7")]


def test_records_that_vanished_stop_the_query(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Counts that would leave them out are never sent."""
    source, sink = broker.topic(), broker.topic()
    broker.send(source, ["a"])
    with running(spark, "count_words", broker, tmp_path, input_topic=source, output_topic=sink):
        eventually(lambda: counts(broker, sink), [("a", "1")])
    broker.send(source, ["a", "a", "a"])
    broker.delete_before(source, 3)
    with (
        running(spark, "count_words", broker, tmp_path, input_topic=source, output_topic=sink) as lost_query,
        pytest.raises(JobError) as lost,
    ):
        await_end([lost_query], stopping_after(300))
    assert "failOnDataLoss" in str(lost.value)
    assert counts(broker, sink) == [("a", "1")]


def test_a_missing_topic_is_waited_for_and_not_made(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    """On a broker that makes each topic that is asked for by its name; the wait ends when somebody makes it."""
    caplog.set_level(logging.INFO)
    client = {"bootstrap.servers": broker.servers}
    there, missing = broker.topic(), f"missing-{broker.topic()}"
    with pytest.raises(JobError, match=rf"^topic {missing}: not found on {broker.servers} after 1 s; create it"):
        wait_for_topics([Topic(there, client), Topic(missing, client)], 1, threading.Event())
    assert [record.message for record in caplog.records] == [
        f"waiting for topic {missing} on {broker.servers}: not found"
    ]
    maker = threading.Timer(0.5, broker.make, [missing])
    maker.start()
    wait_for_topics([Topic(there, client), Topic(missing, client)], 60, threading.Event())
    maker.join()
    assert broker.records(missing) == [] == broker.records(there)
