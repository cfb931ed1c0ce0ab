"""Send the lines of text files to a topic: key = the file's base name, value = the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace_jobs.codec import as_headers
from millrace_jobs.contract import LINES
from millrace_jobs.job import Job, NoParameters
from millrace_jobs.lazy import F, T
from millrace_jobs.parts import FileSource, KafkaSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def stamp(records: DataFrame) -> DataFrame:
    """Return the rows with a column `headers` that has the header `sent_at`: UTC, ISO 8601, microseconds.

    The clock is read for each row when the row is sent; Spark's `now()` would give all rows of a batch the same time.
    """
    clock = F.reflect(F.lit("java.time.Instant"), F.lit("now")).cast(T.TimestampType())
    sent_at = F.date_format(clock, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")
    header = F.struct(F.lit("sent_at").alias("key"), sent_at.cast(T.BinaryType()).alias("value"))
    return records.withColumn("headers", as_headers(F.array(header)))


def transform(parameters: NoParameters, input: DataFrame) -> DataFrame:
    """Return a row for each line, with key, `line` and the header `sent_at`.

    If the job is killed in a batch, it sends the lines of that batch again (at least once).
    """
    return stamp(input.select("key", F.col("value").cast(T.StringType()).alias("line")))


JOB = Job(
    summary="send the lines of new files in a directory to a topic",
    inputs=(FileSource(),),
    outputs=(KafkaSink(LINES, files=True),),
    transform=transform,
)
