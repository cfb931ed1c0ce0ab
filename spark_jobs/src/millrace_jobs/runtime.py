"""Starts the Spark queries of a job from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millrace_jobs import checkpoint_origin, codec, io, starts
from millrace_jobs.archive import Archive
from millrace_jobs.config import JOBS, Config
from millrace_jobs.contract import Contract
from millrace_jobs.ends import Database, Directory, Topic
from millrace_jobs.errors import JobError
from millrace_jobs.job import Job
from millrace_jobs.parts import FileSink, KafkaSink, KafkaSource, PostgresSink, Sink
from millrace_jobs.read_model import ReadModel

DEAD = "dead "  # prefix of the metric in a query's progress that counts dead letters; the input's name follows


@dataclass
class Running:
    """A query that was started.

    `failure` contains the JobError that a batch has raised, since Spark wraps it in errors of its own; otherwise it is
    empty. `dead` is {reason: number of dead letters}; it stays empty if the output is a topic.
    """

    query: StreamingQuery
    failure: list[JobError] = field(default_factory=list)
    dead: Mapping[str, int] = field(default_factory=dict)


def start(spark: SparkSession, config: Config, stopping: Event, ending: Event | None = None) -> list[Running]:
    """Start a query for each output of the job, and return these queries.

    A job with several outputs keeps the checkpoint of each query in a folder with the name of the output. `stopping`
    ends waits during the start. `ending` (default: `stopping`) ends waits inside batches.

    Raises:
        Stopped: `stopping` was set while the start waited.
        JobError: rows do not fit the contract of an output; a checkpoint, database or archive belongs to other topics
            or offsets; or a real-time job has too few task slots.
    """
    job = JOBS[config.job]
    if config.real_time:
        _check_slots(spark, config)
    return [_start(spark, config, job, sink, stopping, ending or stopping) for sink in job.outputs]


def _start(spark: SparkSession, config: Config, job: Job, sink: Sink, stopping: Event, ending: Event) -> Running:
    single_output = len(job.outputs) == 1
    name = config.job if single_output else f"{config.job}-{sink.name}"
    checkpoint = config.checkpoint if single_output else str(Path(config.checkpoint) / sink.name)
    failure: list[JobError] = []
    dead: Mapping[str, int] = {}
    if isinstance(sink, KafkaSink):
        checkpoint_origin.check(config, checkpoint, name)  # other sinks store the topics' ids themselves
        writer = _writer(spark, config, job, sink, checkpoint)
    else:
        batches: ReadModel | Archive
        records = io.read(spark, config.inputs[job.inputs[0].name], checkpoint, headers=True)
        if isinstance(sink, PostgresSink):
            batches = _read_model(config, job, sink, name, checkpoint, ending)
            batches.check(stopping)
        else:
            batches = _archive(config, job, sink, name, checkpoint)
            batches.check(
                batches.transform(codec.valid_rows(codec.decode(records, batches.contract), batches.contract))
            )
        writer = records.writeStream.foreachBatch(_keep_error(batches, failure))
        dead = batches.dead
    writer = writer.queryName(name).option("checkpointLocation", checkpoint)
    trigger = {"realTime" if config.real_time else "processingTime": config.trigger_interval}
    return Running(writer.trigger(**trigger).start(), failure, dead)


def _writer(spark: SparkSession, config: Config, job: Job, sink: KafkaSink, checkpoint: str) -> DataStreamWriter:
    """Return the stream writer for an output; for the first output it also writes dead letters of all inputs."""
    frames, dead = {}, []
    for part in job.inputs:
        source, contract = config.inputs[part.name], part.contract
        enveloped = contract is not None and contract.codec != "text"
        frames[part.name] = io.read(spark, source, checkpoint, headers=enveloped)
        if contract is None:
            continue
        decoded = codec.decode(frames[part.name], contract)
        frames[part.name] = codec.valid_rows(decoded, contract)
        if source.dead_letters is not None and sink is job.outputs[0]:
            bad_records = decoded.where("reason IS NOT NULL").observe(
                f"{DEAD}{part.name}", *codec.reason_counts(contract)
            )
            bad_records = codec.dead_letters(bad_records, contract, config.job)
            dead.append((bad_records, source.dead_letters))
    assert job.transform is not None
    rows = _frame_of(job.transform(config.parameters, **frames), sink.name)
    records = codec.encode(rows, sink.contract, sink.name)
    end, mode = config.outputs[sink.name], "update" if config.real_time else sink.mode
    if dead:
        output_topic = end.name if isinstance(end, Topic) else None
        records = codec.with_dead_letters(
            records, output_topic, [(bad_records, topic.name) for bad_records, topic in dead]
        )
    if isinstance(end, Topic):
        return io.to_topic(records, end, mode, linger="0" if config.real_time else io.LINGER)
    assert isinstance(end, Directory)
    return io.to_directory(records, end.path, mode, Topic("", config.kafka) if dead else None)


def _read_model(config: Config, job: Job, sink: PostgresSink, name: str, checkpoint: str, ending: Event) -> ReadModel:
    part, contract = _only_source(job)
    source, database = config.inputs[part.name], config.outputs[sink.name]
    assert isinstance(database, Database) and isinstance(source.end, Topic)
    return ReadModel(
        query=name, job=config.job, checkpoint=checkpoint, contract=contract,
        transform=_transform_of(config, job, sink), sink=sink, database=database, source=source.end,
        dead_letters=source.dead_letters, ending=ending,
    )  # fmt: skip


def _archive(config: Config, job: Job, sink: FileSink, name: str, checkpoint: str) -> Archive:
    part, contract = _only_source(job)
    source, directory = config.inputs[part.name], config.outputs[sink.name]
    assert isinstance(directory, Directory)
    return Archive(
        query=name, job=config.job, checkpoint=checkpoint, contract=contract,
        transform=_transform_of(config, job, sink), sink=sink, directory=Path(directory.path), sources=source.topics,
        dead_letters=source.dead_letters,
    )  # fmt: skip


def _only_source(job: Job) -> tuple[KafkaSource, Contract]:
    """Return the single source of a job, and its contract; sinks that store offsets allow only one source."""
    (part,) = job.inputs
    assert isinstance(part, KafkaSource)
    return part, part.contract


def _transform_of(config: Config, job: Job, sink: Sink) -> Callable[[DataFrame], DataFrame]:
    function, (part,) = job.transform, job.inputs
    assert function is not None

    def transform(rows: DataFrame) -> DataFrame:
        return _frame_of(function(config.parameters, **{part.name: rows}), sink.name)

    return transform


def _check_slots(spark: SparkSession, config: Config) -> None:
    """Check that a real-time job has a task slot for each partition; without a slot a partition is never read.

    Raises:
        JobError: there are fewer slots than partitions.
    """
    partitions = sum(len(starts.partitions(source)) for source in config.inputs.values())
    slots = spark.sparkContext.defaultParallelism
    if slots < partitions:
        raise JobError(
            f"trigger: real-time needs a task slot for each of {partitions} partitions, but there are {slots}; set "
            f'"spark.master": "local[{partitions}]" under spark (on a cluster, its cores), or use micro-batch'
        )


def _frame_of(result: Any, name: str) -> DataFrame:
    frame: DataFrame = result[name] if isinstance(result, Mapping) else result
    return frame


def _keep_error(write_batch: ReadModel | Archive, failure: list[JobError]) -> Any:
    """Return a batch function that appends a JobError of `write_batch` to `failure` before Spark wraps it."""

    def batch(frame: DataFrame, batch_id: int) -> None:
        try:
            write_batch(frame, batch_id)
        except JobError as error:
            failure.append(error)
            raise

    return batch
