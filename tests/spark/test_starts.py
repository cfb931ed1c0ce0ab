"""Where a query without a checkpoint begins, and which records it sees, against a real broker."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from millrace_jobs.config import parse
from millrace_jobs.errors import JobError
from millrace_jobs.groups import GroupCommitter
from millrace_jobs.runtime import start
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from .broker import Broker
from .helpers import eventually

BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z in ms


@contextmanager
def counting(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], checkpoint: Path, **keys: object
) -> Iterator[StreamingQuery]:
    """count_words from topic to topic."""
    data = {
        "checkpoint": str(checkpoint),
        "kafka": {"bootstrap.servers": broker.servers},
        "input_topic": topics[0],
        "output_topic": topics[1],
        "trigger_interval": "100 milliseconds",
        **keys,
    }
    (one,) = start(spark, parse("count_words", data), threading.Event())
    try:
        yield one.query
    finally:
        one.query.stop()


def dated(broker: Broker, topic: str) -> None:
    """One word an hour."""
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    for hour, word in enumerate(["a", "b", "c"]):
        producer.produce(topic, word, timestamp=BEGIN + hour * 3_600_000, partition=0)
    assert producer.flush(30) == 0


@pytest.mark.parametrize(
    ("begin", "words"),
    [
        ("earliest", {"a", "b", "c"}),
        ({"timestamp": "2026-01-01T02:30:00+01:00"}, {"c"}),
        ({"timestamp": "2026-01-01T01:00:00Z"}, {"b", "c"}),
        ({"group": "moves"}, {"b", "c"}),
    ],
)
def test_a_new_query_begins_where_it_is_told(
    spark: SparkSession, broker: Broker, tmp_path: Path, begin: object, words: set[str]
) -> None:
    """And after a restart goes on where it was."""
    topics = broker.topic(), broker.topic()
    dated(broker, topics[0])
    group = GroupCommitter({"bootstrap.servers": broker.servers}, "moves")
    group.offer("q", {(topics[0], 0): 1})
    group.close()
    with counting(spark, broker, topics, tmp_path, input_start=begin) as query:
        query.processAllAvailable()
    assert {record.key for record in broker.records(topics[1])} == words


def test_a_checkpoint_comes_before_the_start(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """latest: nothing of before; a restart with another start changes nothing."""
    topics = broker.topic(), broker.topic()
    dated(broker, topics[0])
    with counting(spark, broker, topics, tmp_path, input_start="latest") as query:
        query.processAllAvailable()
        broker.send(topics[0], ["d"])
        eventually(lambda: [record.key for record in broker.records(topics[1])], ["d"])
        query.processAllAvailable()
    broker.send(topics[0], ["e"])
    with counting(spark, broker, topics, tmp_path, input_start={"group": "nobody"}) as query:
        query.processAllAvailable()
    assert [record.key for record in broker.records(topics[1])] == ["d", "e"]


@pytest.mark.parametrize(("isolation", "words"), [({}, ["b"]), ({"input_isolation": "read_uncommitted"}, ["a", "b"])])
def test_aborted_records_are_not_read(
    spark: SparkSession, broker: Broker, tmp_path: Path, isolation: dict[str, str], words: list[str]
) -> None:
    """Unless it is asked for."""
    topics = broker.topic(), broker.topic()
    producer = Producer(
        {"bootstrap.servers": broker.servers, "transactional.id": topics[0], "linger.ms": 0, "log_level": 0}
    )
    producer.init_transactions(30)
    for word, end in (("a", producer.abort_transaction), ("b", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topics[0], word, partition=0)
        if word == "a":
            assert producer.flush(30) == 0
        end(30)
    with counting(spark, broker, topics, tmp_path, **isolation) as query:
        query.processAllAvailable()
    assert sorted(str(record.key) for record in broker.records(topics[1])) == words


def test_a_start_counts_until_a_batch_was_planned(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """A first start that met no broker leaves the directory of the plans behind, and no plan."""
    topics = broker.topic(), broker.topic()
    dated(broker, topics[0])
    (tmp_path / "offsets").mkdir()
    with counting(spark, broker, topics, tmp_path, input_start={"timestamp": "2026-01-01T02:00:00Z"}) as query:
        query.processAllAvailable()
    assert {record.key for record in broker.records(topics[1])} == {"c"}


def test_a_checkpoint_keeps_the_isolation_that_it_began_with(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """One of a release that kept none began with uncommitted ones, so beyond the last that is committed."""
    topics = broker.topic(), broker.topic()
    dated(broker, topics[0])
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": topics[0], "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topics[0], "open", partition=0)
    producer.flush(30)
    with counting(spark, broker, topics, tmp_path, input_isolation="read_uncommitted") as query:
        query.processAllAvailable()
    (tmp_path / f"isolation-{topics[0]}").unlink()
    broker.send(topics[0], ["e"])
    with counting(spark, broker, topics, tmp_path) as query:
        query.processAllAvailable()
    producer.abort_transaction(30)
    assert {record.key for record in broker.records(topics[1])} == {"a", "b", "c", "open", "e"}
    refused = pytest.raises(JobError, match=r"began to read .* with read_uncommitted, and read_committed")
    with refused, counting(spark, broker, topics, tmp_path, input_isolation="read_committed"):
        pass
