"""Maintain the last state of each order in a PostgreSQL table, exactly once, from the events of the topic orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace_jobs.contract import ORDERS
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.lazy import F
from millrace_jobs.parts import KafkaSource, PostgresSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Columns with the value of the last event that sets it: column of the table -> column of the event.
_LAST = {"status": "event", "customer": "customer", "amount_cents": "amount_cents"}


def transform(parameters: NoParameters, input: DataFrame) -> DataFrame:
    """Return one row for each order in a batch of events: the last value of each column.

    A column that an event does not set (customer, amount_cents) keeps the value of the event before. The last event of
    an order is the event with the highest `sequence`, which counts the events of that order. Offsets do not suffice,
    since after an increase of partitions the events of an order are in several partitions. If two events have the same
    sequence, as after a restart of a producer, the event with the higher offset is the last.
    """
    aggregates = []
    for name, source_column in _LAST.items():
        order = F.when(F.col(source_column).isNotNull(), F.struct("sequence", "record.offset"))
        aggregates += [F.max_by(source_column, order).alias(name), F.max(order)["sequence"].alias(f"{name}_sequence")]
    return input.groupBy("order_id").agg(
        *aggregates,
        F.count(F.lit(1)).alias("events"),
        F.min("at").alias("created_at"),
        F.max("at").alias("changed_at"),
    )


def _later(name: str) -> dict[str, str]:
    """Return {column: SQL expression} that merges the column `name` and its sequence: the higher sequence wins.

    The stored row (`held`) may be newer than the events of a batch.
    """
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
