"""Copy the records of a topic to another topic with key, value and headers unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace_jobs.contract import ANYTHING
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.parts import KafkaSink, KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def transform(parameters: NoParameters, input: DataFrame) -> DataFrame:
    """Return key, value and headers of each record. The job has no state, so no record waits for another record."""
    return input.select("key", "value", "record.headers")


JOB = Job(
    summary="copy the records of a topic to another, unchanged",
    inputs=(KafkaSource(ANYTHING),),
    outputs=(KafkaSink(ANYTHING),),
    transform=transform,
    real_time=True,
)
