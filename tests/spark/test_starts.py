"""Where a query without a checkpoint begins, and which records it sees, against a real broker."""

from pathlib import Path

import pytest
from confluent_kafka import Producer
from millrace_jobs.errors import JobError
from millrace_jobs.groups import GroupCommitter
from pyspark.sql import SparkSession

from .broker import Broker
from .helpers import eventually
from .streams import configured, run, running

BEGIN = 1_767_225_600_000  # 2026-01-01T00:00:00Z in ms


@pytest.fixture
def topics(broker: Broker) -> tuple[str, str]:
    """An input topic and an output topic, each of one partition."""
    return broker.topic(), broker.topic()


def relaying(broker: Broker, topics: tuple[str, str], checkpoint: Path, **keys: object) -> dict[str, object]:
    """The configuration of a relay, which keeps no state: its batches cost less than those of count_words."""
    return configured(broker, checkpoint, input_topic=topics[0], output_topic=topics[1], **keys)


def sent(broker: Broker, topic: str) -> list[str | None]:
    """The values that a topic holds, in their order."""
    return [record.value for record in broker.records(topic)]


def dated(broker: Broker, topic: str) -> None:
    """Send one word an hour."""
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    for hour, word in enumerate(["a", "b", "c"]):
        producer.produce(topic, word, timestamp=BEGIN + hour * 3_600_000, partition=0)
    assert producer.flush(60) == 0


@pytest.mark.parametrize(
    ("begin", "words"),
    [
        ("earliest", ["a", "b", "c"]),
        ({"timestamp": "2026-01-01T02:30:00+01:00"}, ["c"]),
        ({"timestamp": "2026-01-01T01:00:00Z"}, ["b", "c"]),
        ({"group": "moves"}, ["b", "c"]),
    ],
)
def test_a_new_query_begins_where_it_is_told(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], tmp_path: Path, begin: object, words: list[str]
) -> None:
    """At the first record, at a time, or where a consumer group is; each record is sent once."""
    dated(broker, topics[0])
    group = GroupCommitter({"bootstrap.servers": broker.servers}, "moves")
    group.offer("q", {(topics[0], 0): 1})
    group.close()
    run(spark, "relay", relaying(broker, topics, tmp_path, input_start=begin))
    assert sent(broker, topics[1]) == words


def test_a_checkpoint_comes_before_the_start(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    """latest: nothing of before; a restart with another start changes nothing."""
    dated(broker, topics[0])
    with running(spark, "relay", relaying(broker, topics, tmp_path, input_start="latest")) as one:
        one.query.processAllAvailable()
        broker.send(topics[0], ["d"])
        eventually(lambda: sent(broker, topics[1]), ["d"])
        one.query.processAllAvailable()
    broker.send(topics[0], ["e"])
    run(spark, "relay", relaying(broker, topics, tmp_path, input_start={"group": "nobody"}))
    assert sent(broker, topics[1]) == ["d", "e"]


@pytest.mark.parametrize(("isolation", "words"), [({}, ["b"]), ({"input_isolation": "read_uncommitted"}, ["a", "b"])])
def test_aborted_records_are_not_read(
    spark: SparkSession,
    broker: Broker,
    topics: tuple[str, str],
    tmp_path: Path,
    isolation: dict[str, str],
    words: list[str],
) -> None:
    """Unless it is asked for."""
    producer = Producer(
        {"bootstrap.servers": broker.servers, "transactional.id": topics[0], "linger.ms": 0, "log_level": 0}
    )
    producer.init_transactions(60)
    for word, end in (("a", producer.abort_transaction), ("b", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topics[0], word, partition=0)
        if word == "a":
            assert producer.flush(60) == 0
        end(60)
    run(spark, "relay", relaying(broker, topics, tmp_path, **isolation))
    assert sent(broker, topics[1]) == words


def test_a_start_counts_until_a_batch_was_planned(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    """A first start that met no broker leaves the directory of the plans behind, and no plan."""
    dated(broker, topics[0])
    (tmp_path / "offsets").mkdir()
    run(spark, "relay", relaying(broker, topics, tmp_path, input_start={"timestamp": "2026-01-01T02:00:00Z"}))
    assert sent(broker, topics[1]) == ["c"]


def test_a_checkpoint_keeps_the_isolation_that_it_began_with(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    """One of a release that kept none began with uncommitted ones, so beyond the last that is committed."""
    dated(broker, topics[0])
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": topics[0], "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topics[0], "open", partition=0)
    producer.flush(60)
    run(spark, "relay", relaying(broker, topics, tmp_path, input_isolation="read_uncommitted"))
    (tmp_path / f"isolation-{topics[0]}").unlink()
    broker.send(topics[0], ["e"])
    run(spark, "relay", relaying(broker, topics, tmp_path))
    producer.abort_transaction(60)
    assert sent(broker, topics[1]) == ["a", "b", "c", "open", "e"]
    with pytest.raises(JobError, match=r"began to read .* with read_uncommitted; read_committed"):
        run(spark, "relay", relaying(broker, topics, tmp_path, input_isolation="read_committed"))
