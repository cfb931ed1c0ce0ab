"""The read model of orders: its transform on rows written by hand."""

from datetime import datetime, timezone

from millrace_jobs.job import NoParameters
from millrace_jobs.jobs.project_orders import transform
from pyspark.sql import Row, SparkSession

SCHEMA = (
    "order_id string, event string, at timestamp, customer string, amount_cents bigint, record struct<offset:bigint>"
)


def at(second: int) -> datetime:
    """A moment."""
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)


def test_the_last_event_of_each_order_counts(spark: SparkSession) -> None:
    """Whatever the order of the rows; what an event does not say stays; times are the first and the last."""
    rows = [
        ("b", "OrderClosed", at(9), None, None, Row(offset=7)),
        ("a", "OrderUpdated", at(3), None, 20, Row(offset=5)),
        ("a", "OrderCreated", at(1), "c1", 10, Row(offset=2)),
        ("a", "OrderCancelled", at(2), None, None, Row(offset=6)),
    ]
    found = transform(NoParameters(), spark.createDataFrame(rows, SCHEMA)).orderBy("order_id").collect()
    times = [(row.created_at.second, row.changed_at.second) for row in found]
    assert [(row.order_id, row.status, row.customer, row.amount_cents, row.events) for row in found] == [
        ("a", "OrderCancelled", "c1", 20, 3),
        ("b", "OrderClosed", None, None, 1),
    ]
    assert times == [(1, 3), (9, 9)]
