"""The only place where a stream is opened or a sink written: topics, or files that stand in for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millrace_jobs.ends import Input, Topic
from millrace_jobs.errors import JobError
from millrace_jobs.groups import committed
from millrace_jobs.topics import admin_properties

# Spark forgets files this much older than the newest one it saw, and then skips them without a word. Its
# default is 7 days, less than the age of many a copied file.
_MAX_FILE_AGE = "36500d"
_ENVELOPE = ("topic", "partition", "offset", "timestamp", "headers", "key")


def read(spark: SparkSession, source: Input, checkpoint: str, headers: bool) -> DataFrame:
    """Open a source as a stream of key, value and `record` (the envelope), in batches of what its limit allows.

    Offsets of a topic that vanished stop the query. `source.start` counts while `checkpoint` is new. Of a directory,
    each file is read once: the key is its base name, the value one line of it, empty lines included.
    """
    if isinstance(source.end, Topic):
        options = {
            "kafka.isolation.level": _isolation(source.isolation, source.end, checkpoint),
            **client_options(source.end.client),
            "subscribe": source.end.name,
            **_start(source, source.end, checkpoint),
            "failOnDataLoss": "true",
            "maxOffsetsPerTrigger": str(source.max_offsets),
            "includeHeaders": str(headers).lower(),
        }
        records = spark.readStream.format("kafka").options(**options).load()
        if not headers:
            records = records.withColumn("headers", F.lit(None).cast("array<struct<key:string,value:binary>>"))
        return records.select("key", "value", F.struct(*_ENVELOPE).alias("record"))
    reader = spark.readStream.format("text").option("maxFileAge", _MAX_FILE_AGE)
    files = reader.option("maxFilesPerTrigger", source.max_files).load(source.end.path)
    return files.select(
        _file_name().cast("binary").alias("key"),
        F.col("value").cast("binary").alias("value"),
    )


def to_topic(records: DataFrame, sink: Topic, mode: str) -> DataStreamWriter:
    """A writer of records to a topic: acknowledged by all replicas in sync, at least once."""
    return records.writeStream.outputMode(mode).format("kafka").options(**_sink_options(sink))


def to_directory(records: DataFrame, path: str, mode: str) -> DataStreamWriter:
    """A writer of records to a directory, as text; a batch that is repeated replaces what it wrote."""

    def write_json_lines(batch: DataFrame, batch_id: int) -> None:
        text = batch.select(F.col("key").cast("string"), F.col("value").cast("string"))
        text.write.mode("overwrite").json(f"{path}/batch={batch_id}")

    return records.writeStream.outputMode(mode).foreachBatch(write_json_lines)


def send(records: DataFrame, sink: Topic) -> None:
    """Write the records of one batch to a topic."""
    records.write.format("kafka").options(**_sink_options(sink)).save()


def client_options(client: Mapping[str, str]) -> dict[str, str]:
    """Client properties as Spark's options."""
    return {f"kafka.{name}": value for name, value in client.items()}


def _sink_options(sink: Topic) -> dict[str, str]:
    # Fuller batches cost brokers a third of the CPU; what the job says wins.
    defaults = {"kafka.acks": "all", "kafka.linger.ms": "20", "kafka.batch.size": "131072"}
    return {**defaults, **client_options(sink.client), "topic": sink.name}


def _has_begun(checkpoint: str) -> bool:
    """Whether a batch was planned. The directory of the plans is there as soon as a query tried to start."""
    return any((Path(checkpoint) / "offsets").glob("[0-9]*"))


def _isolation(said: str | None, topic: Topic, checkpoint: str) -> str:
    """The isolation level of a topic: kept beside the checkpoint, for another one has other last offsets.

    A checkpoint that says none is of a release that read uncommitted records.

    Raises:
        JobError: the checkpoint began with another one.
    """
    kept = Path(checkpoint) / f"isolation-{topic.name}"
    if not _has_begun(checkpoint):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(said or "read_committed")
    began = kept.read_text().strip() if kept.exists() else "read_uncommitted"
    if said not in (None, began):
        raise JobError(
            f"checkpoint {checkpoint} began to read {topic.name} with {began}, and {said} would end at another offset; "
            "keep that, or begin with a new checkpoint"
        )
    return began


def _start(source: Input, topic: Topic, checkpoint: str) -> dict[str, str]:
    start = source.start
    if _has_begun(checkpoint) or start.at in ("earliest", "latest"):
        return {"startingOffsets": start.at if start.at in ("earliest", "latest") else "earliest"}
    if start.at == "group":
        return {"startingOffsets": committed(admin_properties(topic.client), start.of, topic.name)}
    moment = datetime.fromisoformat(start.of.replace("Z", "+00:00"))
    return {
        "startingTimestamp": str(round(moment.timestamp() * 1000)),
        "startingOffsetsByTimestampStrategy": "latest",  # a partition with no record so late
    }


def _file_name() -> Column:
    """The base name as the directory lists it. Spark gives it as in a URI: `a%20b` for `a b`, a plain `+`."""
    return F.url_decode(F.replace(F.col("_metadata.file_name"), F.lit("+"), F.lit("%2B")))
