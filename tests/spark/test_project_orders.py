"""The read model of orders: its transform on rows written by hand, and what a real PostgreSQL makes of them."""

from datetime import datetime, timezone
from typing import Any

import psycopg
import pytest
from millrace_jobs import postgres
from millrace_jobs.config import JOBS
from millrace_jobs.ends import Database
from millrace_jobs.job import NoParameters
from millrace_jobs.jobs.project_orders import transform
from millrace_jobs.parts import PostgresSink
from millrace_jobs.positions import Range
from pyspark.sql import Row, SparkSession

from .database import Server
from .ledger import read_model

SCHEMA = (
    "order_id string, event string, sequence int, at timestamp, customer string, amount_cents bigint,"
    " record struct<topic:string,partition:int,offset:bigint>"
)
# One order whose topic has got a partition more: its first event and a late one stand in the old partition, far behind.
CREATED = ("a", "OrderCreated", 1, 1, "c1", 10, 0, 700)
UPDATED = ("a", "OrderUpdated", 2, 2, None, 20, 1, 0)
AGAIN = ("a", "OrderUpdated", 3, 3, "c2", None, 0, 701)
CLOSED = ("a", "OrderClosed", 4, 4, None, None, 1, 1)


def at(second: int) -> datetime:
    """A moment."""
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)


def frame(spark: SparkSession, *events: tuple[Any, ...]) -> Any:
    """Decoded records: order, event, sequence, second, customer, amount, partition, offset."""
    rows = [(*event[:3], at(event[3]), *event[4:6], Row("t", *event[6:])) for event in events]
    return spark.createDataFrame(rows, SCHEMA)


def test_the_last_event_of_each_order_counts(spark: SparkSession) -> None:
    """Whatever the order of the rows; what an event does not say stays; times are the first and the last."""
    rows = frame(
        spark,
        ("b", "OrderClosed", 9, 9, None, None, 0, 7),
        ("a", "OrderUpdated", 2, 3, None, 20, 0, 5),
        ("a", "OrderCreated", 1, 1, "c1", 10, 0, 2),
        ("a", "OrderCancelled", 3, 2, None, None, 0, 6),
    )
    found = transform(NoParameters(), rows).orderBy("order_id").collect()
    times = [(row.created_at.second, row.changed_at.second) for row in found]
    assert [(row.order_id, row.status, row.customer, row.amount_cents, row.events) for row in found] == [
        ("a", "OrderCancelled", "c1", 20, 3),
        ("b", "OrderClosed", None, None, 1),
    ]
    assert times == [(1, 3), (9, 9)]


def test_offsets_of_two_partitions_say_nothing_of_what_is_last(spark: SparkSession) -> None:
    """The events' own count does."""
    (row,) = transform(NoParameters(), frame(spark, CREATED, UPDATED, AGAIN, CLOSED)).collect()
    assert (row.status, row.customer, row.amount_cents, row.events) == ("OrderClosed", "c2", 20, 4)


@pytest.mark.parametrize(
    "batches",
    [
        [[CREATED, UPDATED], [AGAIN, CLOSED]],
        [[CLOSED, UPDATED], [CREATED, AGAIN]],
        [[CREATED, CLOSED], [UPDATED, AGAIN]],
        [[CLOSED], [AGAIN], [UPDATED], [CREATED]],
    ],
)
def test_an_older_event_of_a_later_batch_changes_nothing(
    spark: SparkSession, server: Server, batches: list[list[tuple[Any, ...]]]
) -> None:
    """One partition is read on before the other; each column is what the last event said of it."""
    database = server.database("orders")
    assert applied(spark, database, batches) == {("a", "OrderClosed", "c2", 20, 4)}


def test_an_event_changes_a_row_of_before(spark: SparkSession, server: Server) -> None:
    """One that holds no count, as of a release that kept none."""
    database = server.database("orders")
    with psycopg.connect(**database) as connection:
        connection.execute(
            "INSERT INTO orders_v1 (order_id, status, customer, amount_cents, events, created_at, changed_at)"
            " VALUES ('a', 'OrderUpdated', 'c1', 20, 2, now(), now())"
        )
    assert applied(spark, database, [[AGAIN]]) == {("a", "OrderUpdated", "c2", 20, 3)}
    assert applied(spark, database, [[CLOSED]]) == {("a", "OrderClosed", "c2", 20, 4)}


def applied(
    spark: SparkSession, database: dict[str, str], batches: list[list[tuple[Any, ...]]]
) -> set[tuple[object, ...]]:
    """The read model after these batches, written as the job does."""
    (sink,) = JOBS["project_orders"].outputs
    assert isinstance(sink, PostgresSink)
    with postgres.connect(Database(database)) as connection:
        for batch in batches:
            rows = transform(NoParameters(), frame(spark, *batch)).toArrow()
            held = postgres.applied(connection, "q")
            until = sum(held.values())
            ranges = {("t", 0): Range(until, until + len(batch))}
            postgres.apply(connection, sink, "q", "id", held, ranges, rows, {})
    return read_model(database)
