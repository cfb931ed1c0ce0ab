"""Opens the topics and directories that a job reads and writes as streams; no other module does so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millrace_jobs import starts
from millrace_jobs.codec import as_headers
from millrace_jobs.ends import Input, Topic
from millrace_jobs.errors import JobError
from millrace_jobs.paths import exists
from millrace_jobs.positions import has_begun
from millrace_jobs.topics import admin_properties, retries

# Spark silently skips files that are older than the newest one by more than this. Its default is 7 days, less than the
# age of many copied files.
_MAX_FILE_AGE = "36500d"
# Milliseconds. Fuller batches cost brokers a third of the CPU.
LINGER = "20"
# Bytes of a request, and so of a record. It is above any sane topic, so that only max.message.bytes of the topic limits
# the size of a record. A larger record would end the job with the producer's default, 1 MiB.
_MAX_REQUEST = "16777216"
# After each poll Spark requests the first and the last offset of the partition. By default a poll returns 500 records;
# one response of a broker (max.partition.fetch.bytes, 1 MiB) contains more, if they are small.
_POLL_RECORDS = "10000"
_ENVELOPE = ("topic", "partition", "offset", "timestamp", "headers", "key")


def read(spark: SparkSession, source: Input, checkpoint: str, headers: bool) -> DataFrame:
    """Open a source as a stream with the columns key and value (bytes); for topics also `record`, see `codec`.

    `source.start` applies only while `checkpoint` is new. Headers are read only if `headers` is true. If records were
    deleted before the query read them, the query fails. In a directory each file is read once: each line, also an empty
    one, gives a row with the base name of the file as its key and the line as its value.

    Raises:
        JobError: the checkpoint began with another isolation level, or the start cannot be resolved to offsets.
    """
    if isinstance(source.end, Topic):
        options = {
            "kafka.isolation.level": _isolation(source, checkpoint),
            "kafka.max.poll.records": _POLL_RECORDS,  # the job's properties override it
            **client_options(source.end.client),
            "subscribe": ",".join(topic.name for topic in source.topics),
            **_start(source, source.end, checkpoint),
            "failOnDataLoss": "true",
            **({} if source.max_offsets is None else {"maxOffsetsPerTrigger": str(source.max_offsets)}),
            "includeHeaders": str(headers).lower(),
        }
        records = spark.readStream.format("kafka").options(**options).load()
        if not headers:
            records = records.withColumn("headers", as_headers(F.lit(None)))
        return records.select("key", "value", F.struct(*_ENVELOPE).alias("record"))
    reader = spark.readStream.format("text").option("maxFileAge", _MAX_FILE_AGE)
    files = reader.option("maxFilesPerTrigger", source.max_files).load(source.end.path)
    return files.select(
        _file_name().cast(T.BinaryType()).alias("key"),
        F.col("value").cast(T.BinaryType()).alias("value"),
    )


def to_topic(records: DataFrame, sink: Topic, mode: str, linger: str = LINGER) -> DataStreamWriter:
    """Return a stream writer that sends records to a topic: at least once, acknowledged by all in-sync replicas.

    `mode` is Spark's output mode, `linger` the producer's linger.ms. If `records` have a column `topic`, it names the
    topic of each record instead of `sink`.
    """
    options = _sink_options(sink, linger)
    if "topic" in records.columns:
        del options["topic"]  # it would override the column
    return records.writeStream.outputMode(mode).format("kafka").options(**options)


def to_directory(records: DataFrame, path: str, mode: str, dead_letters: Topic | None) -> DataStreamWriter:
    """Return a stream writer that writes each batch as JSON lines to a folder of its own below `path`.

    A batch that runs again replaces its folder. `mode` is Spark's output mode. Records whose column `topic` is not null
    are dead letters and go to the topic `dead_letters`; None means that there are none.
    """

    def write_json_lines(batch: DataFrame, batch_id: int) -> None:
        batch_records = batch if dead_letters is None else batch.persist()
        output_records = batch_records if dead_letters is None else batch_records.where("topic IS NULL")
        text = output_records.select(F.col("key").cast(T.StringType()), F.col("value").cast(T.StringType()))
        text.write.mode("overwrite").json(f"{path}/batch={batch_id}")
        if dead_letters is not None:
            send(batch_records.where("topic IS NOT NULL"), dead_letters)
            batch_records.unpersist()

    return records.writeStream.outputMode(mode).foreachBatch(write_json_lines)


def send(records: DataFrame, sink: Topic) -> None:
    """Send the records of one batch to the topic `sink`.

    If `records` have a column `topic`, it names the topic of each record instead of `sink`.
    """
    options = _sink_options(sink)
    if "topic" in records.columns:
        del options["topic"]
    records.write.format("kafka").options(**options).save()


def client_options(client: Mapping[str, str]) -> dict[str, str]:
    """Return properties of Kafka's client as options of Spark: each name with the prefix `kafka.`."""
    return {f"kafka.{name}": value for name, value in client.items()}


def _sink_options(sink: Topic, linger: str = LINGER) -> dict[str, str]:
    # The job's properties override these.
    defaults = {"acks": "all", "linger.ms": linger, "batch.size": "131072", "max.request.size": _MAX_REQUEST}
    return {**client_options({**defaults, **retries(sink.client), **sink.client}), "topic": sink.name}


def _isolation(source: Input, checkpoint: str) -> str:
    """Return the isolation level of a source. A new checkpoint stores it, a begun checkpoint must keep it.

    The level must not change because the offsets of a batch depend on it. A checkpoint without a stored level is from a
    release that read uncommitted records.

    Raises:
        JobError: the configuration sets another level than the checkpoint.
    """
    configured, names = source.isolation, [topic.name for topic in source.topics]
    files = [Path(checkpoint) / f"isolation-{name}" for name in names]
    if not has_begun(checkpoint):
        Path(checkpoint).mkdir(parents=True, exist_ok=True)
        for file in files:
            file.write_text(configured or "read_committed")
    stored = next((file.read_text().strip() for file in files if exists(file)), "read_uncommitted")
    if configured not in (None, stored):
        raise JobError(
            f"checkpoint {checkpoint} began to read {', '.join(names)} with {stored}; {configured} would end at "
            f"another offset; keep {stored}, or start with a new checkpoint"
        )
    return stored


def _start(source: Input, topic: Topic, checkpoint: str) -> dict[str, str]:
    start = source.start
    if has_begun(checkpoint):
        return {"startingOffsets": "earliest"}
    if (stored_start := starts.stored_start(checkpoint, source)) is not None:
        return {"startingOffsets": stored_start}
    if start.at in ("earliest", "latest"):
        return {"startingOffsets": start.at}
    if start.at == "group":
        return {"startingOffsets": starts.of_group(admin_properties(topic.client), start.of, source)}
    return {
        "startingTimestamp": str(starts.milliseconds(start.of)),
        "startingOffsetsByTimestampStrategy": "latest",  # for a partition without a record after that time
    }


def _file_name() -> Column:
    """Return the base name of a row's file as the directory lists it.

    Spark encodes the name as in a URI, `a%20b` for `a b`, but leaves `+` as it is.
    """
    return F.url_decode(F.replace(F.col("_metadata.file_name"), F.lit("+"), F.lit("%2B")))
