"""The read model of orders against a real broker and a real PostgreSQL: exact whatever is lost, nothing vanishes."""

import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from millrace_jobs.config import parse
from millrace_jobs.errors import JobError
from millrace_jobs.lifecycle import await_end
from millrace_jobs.runtime import Running, start
from pyspark.sql import SparkSession

from .broker import Broker
from .database import Server, rows
from .ledger import expected, read_model, send, some_events

POSITIONS = "SELECT topic, partition, until_offset FROM job_positions"


@pytest.fixture
def topics(broker: Broker) -> tuple[str, str]:
    """Topics of orders, in two partitions, and of their dead letters."""
    return broker.topic(partitions=2), broker.topic()


def configured(
    broker: Broker, topics: tuple[str, str], database: dict[str, str], checkpoint: Path, **keys: object
) -> dict[str, object]:
    """The job's configuration."""
    return {
        "checkpoint": str(checkpoint),
        "kafka": {"bootstrap.servers": broker.servers},
        "input_topic": topics[0],
        "dead_letter_topic": topics[1],
        "database": database,
        "trigger_interval": "100 milliseconds",
        **keys,
    }


@contextmanager
def running(spark: SparkSession, data: dict[str, object]) -> Iterator[Running]:
    """A query of the job, stopped at the end."""
    (one,) = start(spark, parse("project_orders", data), threading.Event())
    try:
        yield one
    finally:
        one.query.stop()


def run(spark: SparkSession, data: dict[str, object]) -> Running:
    """Let the job apply all that there is."""
    with running(spark, data) as one:
        one.query.processAllAvailable()
        return one


def test_exact_after_a_lost_checkpoint_and_a_lost_commit(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], server: Server, tmp_path: Path
) -> None:
    """Rows equal the ledger: in small batches, again from the first record, in batches that overlap what is there."""
    database, events = server.database("orders"), some_events(400)
    small = configured(broker, topics, database, tmp_path / "c", max_offsets_per_trigger=150)
    send(broker.servers, topics[0], events[:200])
    run(spark, small)
    assert read_model(database) == expected(events[:200])

    # Killed between the database's commit and that of the checkpoint: the last batch comes again.
    last = max((tmp_path / "c" / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()
    run(spark, small)
    assert read_model(database) == expected(events[:200])

    # Lost: batch numbers begin at 0 again, and one batch holds records that were applied and others that were not.
    shutil.rmtree(tmp_path / "c")
    send(broker.servers, topics[0], events[200:])
    run(spark, configured(broker, topics, database, tmp_path / "c"))
    assert read_model(database) == expected(events)
    assert sum(until for _, _, until in rows(database, POSITIONS)) == 400


def test_a_database_put_back_to_an_older_state_is_refused(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], server: Server, tmp_path: Path
) -> None:
    """Records between its state and the checkpoint would be missing for good."""
    database, events = server.database("orders"), some_events(40)
    data = configured(broker, topics, database, tmp_path / "c")
    send(broker.servers, topics[0], events[:30])
    run(spark, data)
    with psycopg.connect(**database) as connection:
        connection.execute("UPDATE job_positions SET from_offset = 0, until_offset = 3 WHERE partition = 0")
    before = read_model(database)
    send(broker.servers, topics[0], events[30:])
    with pytest.raises(JobError, match=r"^project_orders: the database holds topic t-\w+ partition 0 up to offset 3, "):
        start(spark, parse("project_orders", data), threading.Event())
    assert read_model(database) == before


def test_an_emptied_database_is_refused_while_the_checkpoint_lives(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], server: Server, tmp_path: Path
) -> None:
    """Also while the job runs; a checkpoint whose start is later than the first record asks for nothing of before."""
    database, events = server.database("orders"), some_events(40)
    send(broker.servers, topics[0], events[:10])
    data = configured(broker, topics, database, tmp_path / "c", input_start="latest")
    run(spark, data)
    run(spark, data)
    assert read_model(database) == set()
    send(broker.servers, topics[0], events[10:30])
    run(spark, data)
    assert read_model(database) == expected(events[10:30])
    empty = data | {"database": server.database("orders")}
    with pytest.raises(JobError, match=r"^project_orders: the database holds nothing of topic t-\w+ partition \d, "):
        start(spark, parse("project_orders", empty), threading.Event())

    stopping = threading.Event()
    timer = threading.Timer(120, stopping.set)
    timer.daemon = True  # or the run of the tests would end no earlier
    timer.start()
    (one,) = start(spark, parse("project_orders", data), stopping)
    with psycopg.connect(**database) as connection:
        connection.execute("TRUNCATE orders_v1, job_positions, job_dead_letters")
    send(broker.servers, topics[0], events[30:])
    with pytest.raises(JobError, match=r"^project_orders: the database holds nothing of topic t-\w+ partition \d, "):
        await_end([one], stopping)
    assert read_model(database) == set()


def test_a_topic_made_anew_is_refused(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], server: Server, tmp_path: Path
) -> None:
    """Its offsets begin at 0 again, and would all look applied."""
    database = server.database("orders")
    data = configured(broker, topics, database, tmp_path / "c")
    send(broker.servers, topics[0], some_events(30))
    run(spark, data)
    broker.delete(topics[0])
    broker.make(topics[0], 2)
    shutil.rmtree(tmp_path / "c")
    with pytest.raises(JobError, match=f"^project_orders: topic {topics[0]} was deleted and recreated since"):
        start(spark, parse("project_orders", data), threading.Event())


def test_bad_records_are_set_aside_and_counted(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], server: Server, tmp_path: Path
) -> None:
    """They neither kill the job nor vanish; good ones between them are applied. Twice from the start, counted once."""
    database, events = server.database("orders"), some_events(20)
    bad: list[tuple[str | None, bytes | None, list[tuple[str, bytes]]]] = [
        ("k", b"\xff no json", []),
        ("k", b'"' + b"x" * 1_000_000 + b'"', []),
        (None, events[0][1], []),
        ("k", None, []),
        (events[0][0], events[0][1], [("schema_version", b"9")]),
    ]
    send(broker.servers, topics[0], events[:10])
    broker.send_records(topics[0], bad)
    send(broker.servers, topics[0], events[10:])
    data = configured(broker, topics, database, tmp_path / "c")
    reasons = {"malformed": 1, "oversized": 1, "null_key": 1, "null_value": 1, "unknown_version": 1}
    assert run(spark, data).dead == reasons
    assert read_model(database) == expected(events)
    dead = broker.raw(topics[1])
    assert Counter(dict(headers)["dead_reason"].decode() for _, _, headers in dead) == reasons
    found = {dict(headers)["dead_reason"]: (key, value) for key, value, headers in dead}
    assert found[b"malformed"] == (b"k", b"\xff no json")
    assert found[b"oversized"] == (b"k", b'"' + b"x" * 999_999)
    assert found[b"null_value"] == (b"k", None)
    assert found[b"null_key"] == (None, events[0][1])
    shutil.rmtree(tmp_path / "c")
    run(spark, data)
    assert dict(rows(database, "SELECT reason, records FROM job_dead_letters")) == reasons
    assert len(broker.raw(topics[1])) == 5
    assert read_model(database) == expected(events)


def test_a_database_that_goes_is_waited_for(
    spark: SparkSession, broker: Broker, topics: tuple[str, str], server: Server, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """The log says so, and the job goes on by itself, exact."""
    database, events = server.database("orders"), some_events(60)
    send(broker.servers, topics[0], events[:30])
    with running(spark, configured(broker, topics, database, tmp_path / "c")) as one:
        one.query.processAllAvailable()
        server.stop()
        send(broker.servers, topics[0], events[30:])
        said = threading.Event()
        for _ in range(600):
            if any("database: no answer" in record.message for record in caplog.records) or said.wait(0.1):
                break
        server.start()
        one.query.processAllAvailable()
        assert one.query.exception() is None
    assert read_model(database) == expected(events)
    assert sum("database: no answer for 0 s" in record.message for record in caplog.records) == 1


def test_another_schema_is_refused(broker: Broker, topics: tuple[str, str], server: Server, tmp_path: Path) -> None:
    """None, a newer one, one of another text: each before anything is read."""
    from millrace_jobs import postgres, schema_versions
    from millrace_jobs.ends import Database

    empty, made = server.database(), server.database("orders")
    with postgres.connect(Database(empty)) as connection:
        with pytest.raises(
            JobError, match=r"^database: its schema has no positions 1, orders 1, orders 2; .* --migrate"
        ):
            schema_versions.check(connection, "orders")
        assert schema_versions.migrate(connection, "orders") == ["positions 1", "orders 1", "orders 2"]
        assert schema_versions.migrate(connection, "orders") == []
        schema_versions.check(connection, "orders")
    with postgres.connect(Database(made)) as connection:
        connection.execute("INSERT INTO job_migrations VALUES ('orders', 99, 'x'), ('others', 5, 'x')")
        with pytest.raises(JobError, match=r"^database: its schema is at orders 99, which this release .* not know"):
            schema_versions.check(connection, "orders")
        connection.execute("DELETE FROM job_migrations WHERE version = 99")
        connection.execute("UPDATE job_migrations SET digest = 'x' WHERE model = 'orders'")
        with pytest.raises(JobError, match=r"^database: orders 1 was applied from another text"):
            schema_versions.migrate(connection, "orders")
