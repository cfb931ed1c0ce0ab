"""Join closed orders with their shipments.

The output has a row for each shipment, and a row for each order without a shipment in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace_jobs import checks
from millrace_jobs.contract import ORDERS, SHIPMENTS, SHIPPED_ORDERS
from millrace_jobs.job import Job, parameter
from millrace_jobs.lazy import F
from millrace_jobs.parts import KafkaSink, KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Parameters:
    """The time limits of the join, each a number and a unit such as `2 hours`.

    A shipment counts if it leaves at most `within` after its order was closed. An event counts if it arrives at most
    `late_by` after newer events.
    """

    within: str = parameter(checks.duration, default="2 hours")
    late_by: str = parameter(checks.duration, default="10 minutes")


def transform(parameters: Parameters, input: DataFrame, shipments: DataFrame) -> DataFrame:
    """Return a row for each pair of a closed order and one of its shipments.

    An order without a shipment in time has one row, whose columns of the shipment are null. `input` has the events of
    orders. Events are kept in the state for `within` plus `late_by`, which limits the size of the state.
    """
    closed = (
        input.where("event = 'OrderClosed'")
        .select("order_id", F.col("at").alias("closed_at"))
        .withWatermark("closed_at", parameters.late_by)
    )
    left = shipments.select(
        "shipment_id", F.col("order_id").alias("shipped_order"), "carrier", F.col("at").alias("shipped_at")
    ).withWatermark("shipped_at", parameters.late_by)
    theirs = F.expr(
        "order_id = shipped_order AND shipped_at >= closed_at"
        f" AND shipped_at <= closed_at + INTERVAL {parameters.within}"
    )
    return closed.join(left, theirs, "leftOuter").drop("shipped_order")


JOB = Job(
    summary="join closed orders with their shipments",
    inputs=(KafkaSource(ORDERS), KafkaSource(SHIPMENTS, "shipments")),
    outputs=(KafkaSink(SHIPPED_ORDERS, files=True),),
    parameters=Parameters,
    transform=transform,
    shuffles=True,
)
