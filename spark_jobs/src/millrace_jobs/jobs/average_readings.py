"""Average the readings of each sensor over windows of event time: a row for each pair of sensor and window."""

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
    """The times of the windows, each a number and a unit such as `1 minute`.

    `window` is the length of a window. A reading counts if it arrives at most `late_by` after newer readings.
    """

    window: str = parameter(checks.duration, default="1 minute")
    late_by: str = parameter(checks.duration, default="1 minute")


def transform(parameters: Parameters, input: DataFrame) -> DataFrame:
    """Return a row for each sensor and window: number, average, least and greatest of its readings.

    A window is written once a reading arrives whose time is `late_by` past the end of the window. Readings for the
    window that arrive later are dropped and counted as late.
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
