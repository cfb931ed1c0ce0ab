"""The only place where a stream is opened or started: a topic, or files that stand in for it."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from millrace_jobs.config import Config, Topic

# Spark forgets files this much older than the newest one it saw, and then skips them without a word. Its
# default is 7 days, less than the age of many a copied file.
_MAX_FILE_AGE = "36500d"


def read(spark: SparkSession, config: Config) -> DataFrame:
    """Open the source of `config` as a stream of `schemas.RECORD`, in batches of what its limit allows.

    A topic is read from its first record; offsets that vanished stop the query. Of a directory, each file is
    read once: the key is its base name, the value one line of it, empty lines included.
    """
    source = config.source
    if isinstance(source, Topic):
        options = {
            **_client_options(source),
            "subscribe": source.name,
            "startingOffsets": "earliest",
            "failOnDataLoss": "true",
            "maxOffsetsPerTrigger": str(config.max_offsets_per_trigger),
        }
        return spark.readStream.format("kafka").options(**options).load().select("key", "value")
    reader = spark.readStream.format("text").option("maxFileAge", _MAX_FILE_AGE)
    files = reader.option("maxFilesPerTrigger", config.max_files_per_trigger).load(source.path)
    return files.select(
        _file_name().cast("binary").alias("key"),
        F.col("value").cast("binary").alias("value"),
    )


def start(records: DataFrame, config: Config, mode: str) -> StreamingQuery:
    """Start the query that sends `records` to the sink, in output mode `mode` (append or update).

    Columns: `key` and `value` (text or bytes), optionally `headers` (`schemas.HEADERS`), which a
    directory drops. A topic acknowledges from all replicas in sync. A batch that was killed goes to a topic
    again, and replaces what it wrote to a directory.
    """
    writer = records.writeStream.queryName(config.job).outputMode(mode)
    writer = writer.option("checkpointLocation", config.checkpoint)
    writer = writer.trigger(processingTime=config.trigger_interval)
    sink = config.sink
    if isinstance(sink, Topic):
        options = {"kafka.acks": "all", **_client_options(sink), "topic": sink.name}
        return writer.format("kafka").options(**options).start()

    def write_json_lines(batch: DataFrame, batch_id: int) -> None:
        text = batch.select(F.col("key").cast("string"), F.col("value").cast("string"))
        text.write.mode("overwrite").json(f"{sink.path}/batch={batch_id}")

    return writer.foreachBatch(write_json_lines).start()


def _client_options(topic: Topic) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in topic.client.items()}


def _file_name() -> Column:
    """The base name as the directory lists it. Spark gives it as in a URI: `a%20b` for `a b`, a plain `+`."""
    return F.url_decode(F.replace(F.col("_metadata.file_name"), F.lit("+"), F.lit("%2B")))
