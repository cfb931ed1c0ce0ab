"""Keep the last state of each order in PostgreSQL: a read model of topic orders, exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace_jobs.contract import ORDERS
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.lazy import F
from millrace_jobs.parts import KafkaSource, PostgresSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# What the last event that says it says.
_LAST = {"status": "event", "customer": "customer", "amount_cents": "amount_cents"}


def transform(parameters: NoParameters, input: DataFrame) -> DataFrame:
    """Events of some batch -> one row for each of their orders.

    What an event does not say, customer or amount, stays as the one before said it. Which is before, the events' own
    count says, which is kept of each column: they stand in several partitions where a topic got more of them. Of two
    with the same count, as of a producer that began anew, the later record of a partition is taken.
    """
    last = []
    for name, said in _LAST.items():
        by = F.when(F.col(said).isNotNull(), F.struct("sequence", "record.offset"))
        last += [F.max_by(said, by).alias(name), F.max(by)["sequence"].alias(f"{name}_sequence")]
    return input.groupBy("order_id").agg(
        *last,
        F.count(F.lit(1)).alias("events"),
        F.min("at").alias("created_at"),
        F.max("at").alias("changed_at"),
    )


def _later(name: str) -> dict[str, str]:
    """How a column and its count are merged: a batch may hold older events than the row, of another partition."""
    count = f"{name}_sequence"
    older = f"excluded.{count} IS NULL OR excluded.{count} < held.{count}"
    return {
        name: f"CASE WHEN {older} THEN held.{name} ELSE excluded.{name} END",
        count: f"greatest(held.{count}, excluded.{count})",
    }


JOB = Job(
    summary="keep the last state of each order in PostgreSQL",
    inputs=(KafkaSource(ORDERS),),
    outputs=(
        PostgresSink(
            table="orders_v1",
            key=("order_id",),
            migrations="orders",
            merge={
                **_later("status"),
                **_later("customer"),
                **_later("amount_cents"),
                "events": "held.events + excluded.events",
                "created_at": "least(held.created_at, excluded.created_at)",
                "changed_at": "greatest(held.changed_at, excluded.changed_at)",
            },
        ),
    ),
    transform=transform,
)
