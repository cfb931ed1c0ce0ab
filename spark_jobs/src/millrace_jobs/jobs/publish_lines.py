"""Send the lines of text files to a topic: key = the file's base name, value = the line."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from millrace_jobs.config import Config
from millrace_jobs.io import read, start
from millrace_jobs.schemas import HEADERS


def run(spark: SparkSession, config: Config) -> StreamingQuery:
    """Start the query. Sending is at least once: a batch that was killed on its way is sent again."""
    return start(stamp(read(spark, config)), config, mode="append")


def stamp(records: DataFrame) -> DataFrame:
    """`RECORD` -> `RECORD` with `headers`: one `sent_at`, UTC in ISO 8601 with microseconds.

    The clock is read for each row as it goes out; Spark's own `now()` stands still for a whole batch.
    """
    clock = F.reflect(F.lit("java.time.Instant"), F.lit("now")).cast("timestamp")
    sent_at = F.date_format(clock, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")
    header = F.struct(F.lit("sent_at").alias("key"), sent_at.cast("binary").alias("value"))
    return records.withColumn("headers", F.array(header).cast(HEADERS))
