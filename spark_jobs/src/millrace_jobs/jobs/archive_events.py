"""Archive the records of topics as Parquet files in folders by date and topic.

Each record is stored once, with key, value and headers unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace_jobs.contract import ANYTHING
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.lazy import F
from millrace_jobs.parts import FileSink, KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def transform(parameters: NoParameters, input: DataFrame) -> DataFrame:
    """Return the columns of each record for the archive.

    They are topic, partition, offset, timestamp, headers, key, value and `date` (the day of the timestamp in UTC).
    """
    envelope = [f"record.{name}" for name in ("topic", "partition", "offset", "timestamp", "headers")]
    return input.select(F.to_date("record.timestamp").alias("date"), *envelope, "key", "value")


JOB = Job(
    summary="keep the records of topics as Parquet files, by date and topic",
    inputs=(KafkaSource(ANYTHING, several=True),),
    outputs=(FileSink(folders=("date", "topic")),),
    transform=transform,
)
