"""Keep the last state of each order in PostgreSQL: a read model of topic orders, exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace_jobs.contract import ORDERS
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.lazy import F
from millrace_jobs.parts import KafkaSource, PostgresSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def transform(parameters: NoParameters, input: DataFrame) -> DataFrame:
    """Events of some batch -> one row for each of their orders.

    All events of an order stand in one partition, so its last one has the greatest offset. What an event does not
    say, customer or amount, stays as the one before said it.
    """
    offset = F.col("record.offset")
    last = [
        F.max_by(name, F.when(F.col(name).isNotNull(), offset)).alias(name) for name in ("customer", "amount_cents")
    ]
    return input.groupBy("order_id").agg(
        F.max_by("event", offset).alias("status"),
        *last,
        F.count(F.lit(1)).alias("events"),
        F.min("at").alias("created_at"),
        F.max("at").alias("changed_at"),
    )


JOB = Job(
    summary="keep the last state of each order in PostgreSQL",
    inputs=(KafkaSource(ORDERS),),
    outputs=(
        PostgresSink(
            table="orders_v1",
            key=("order_id",),
            migrations="orders",
            merge={
                "customer": "coalesce(excluded.customer, held.customer)",
                "amount_cents": "coalesce(excluded.amount_cents, held.amount_cents)",
                "events": "held.events + excluded.events",
                "created_at": "least(held.created_at, excluded.created_at)",
                "changed_at": "greatest(held.changed_at, excluded.changed_at)",
            },
        ),
    ),
    transform=transform,
)
