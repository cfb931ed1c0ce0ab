"""Average the readings of each sensor over windows of event time: one row for each sensor and window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace_jobs import checks
from millrace_jobs.contract import AVERAGES, READINGS
from millrace_jobs.job import Job, parameter
from millrace_jobs.lazy import F
from millrace_jobs.parts import KafkaSink, KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Parameters:
    """`window` is the length of a window of time, `late_by` how late a reading may arrive to be counted."""

    window: str = parameter(checks.duration, default="1 minute")
    late_by: str = parameter(checks.duration, default="1 minute")


def transform(parameters: Parameters, input: DataFrame) -> DataFrame:
    """Return count, average, least and greatest reading of each sensor and window.

    A window is written once a reading arrives that is `late_by` past the window's end; later readings for the window
    are dropped and counted as late.
    """
    window = F.window("at", parameters.window).alias("window")
    averages = (
        input.withWatermark("at", parameters.late_by)
        .groupBy(window, "sensor_id")
        .agg(
            F.count(F.lit(1)).alias("readings"),
            F.avg("celsius").alias("average"),
            F.min("celsius").alias("least"),
            F.max("celsius").alias("greatest"),
        )
    )
    begin, end = F.col("window.start").alias("window_begin"), F.col("window.end").alias("window_end")
    return averages.select("sensor_id", begin, end, "readings", "average", "least", "greatest")


JOB = Job(
    summary="average the readings of each sensor over windows of time",
    inputs=(KafkaSource(READINGS),),
    outputs=(KafkaSink(AVERAGES, files=True),),
    parameters=Parameters,
    transform=transform,
    shuffles=True,
)
