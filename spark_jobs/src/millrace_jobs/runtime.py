"""The runtime of all jobs: from a configuration to running queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millrace_jobs import codec, io
from millrace_jobs.config import JOBS, Config
from millrace_jobs.ends import Database, Directory, Topic
from millrace_jobs.errors import JobError
from millrace_jobs.job import Job
from millrace_jobs.parts import FileSink, KafkaSink, PostgresSink
from millrace_jobs.read_model import ReadModel


@dataclass
class Running:
    """A started query; `failure` is what its batch said before Spark wrapped it, `dead` what it left out."""

    query: StreamingQuery
    failure: list[JobError] = field(default_factory=list)
    dead: Mapping[str, int] = field(default_factory=dict)


def start(spark: SparkSession, config: Config, stopping: Event) -> list[Running]:
    """Start one query for each output of the job; several keep their progress in folders below the checkpoint.

    Raises:
        JobError: rows do not fit the contract of an output, or a database has another schema.
    """
    job = JOBS[config.job]
    return [_start(spark, config, job, sink, stopping) for sink in job.outputs]


def _start(
    spark: SparkSession, config: Config, job: Job, sink: KafkaSink | FileSink | PostgresSink, stopping: Event
) -> Running:
    name = config.job if len(job.outputs) == 1 else f"{config.job}-{sink.name}"
    checkpoint = config.checkpoint if len(job.outputs) == 1 else str(Path(config.checkpoint) / sink.name)
    failure: list[JobError] = []
    dead: Mapping[str, int] = {}
    if isinstance(sink, PostgresSink):
        model = _read_model(config, job, sink, name, checkpoint, stopping)
        model.check()
        source = config.inputs[job.inputs[0].name]
        writer = io.read(spark, source, checkpoint, headers=True).writeStream.foreachBatch(_kept(model, failure))
        dead = model.dead
    else:
        assert job.transform is not None
        rows = _one(job.transform(config.parameters, **_inputs(spark, config, job, checkpoint)), sink.name)
        writer = _writer(rows, sink, config.outputs[sink.name])
    writer = writer.queryName(name).option("checkpointLocation", checkpoint)
    return Running(writer.trigger(processingTime=config.trigger_interval).start(), failure, dead)


def _inputs(spark: SparkSession, config: Config, job: Job, checkpoint: str) -> dict[str, DataFrame]:
    """Each input as the job's function takes it: decoded by its contract, files as they are."""
    frames = {}
    for part in job.inputs:
        records = io.read(spark, config.inputs[part.name], checkpoint, headers=False)
        frames[part.name] = records if part.contract is None else codec.decode(records, part.contract)
    return frames


def _writer(rows: DataFrame, sink: KafkaSink | FileSink, end: Topic | Directory | Database) -> DataStreamWriter:
    records = rows if sink.contract is None else codec.encode(rows, sink.contract, sink.name)
    if isinstance(end, Topic):
        return io.to_topic(records, end, sink.mode)
    assert isinstance(end, Directory)
    return io.to_directory(records, end.path, sink.mode)


def _read_model(config: Config, job: Job, sink: PostgresSink, name: str, checkpoint: str, stopping: Event) -> ReadModel:
    (part,) = job.inputs
    source, database = config.inputs[part.name], config.outputs[sink.name]
    function = job.transform
    assert part.contract is not None and isinstance(database, Database) and isinstance(source.end, Topic)
    assert function is not None

    def transform(rows: DataFrame) -> DataFrame:
        return _one(function(config.parameters, **{part.name: rows}), sink.name)

    return ReadModel(
        query=name, job=config.job, checkpoint=checkpoint, contract=part.contract, transform=transform, sink=sink,
        database=database, source=source.end, dead_letters=source.dead_letters, stopping=stopping,
    )  # fmt: skip


def _one(made: Any, name: str) -> DataFrame:
    frame: DataFrame = made[name] if isinstance(made, Mapping) else made
    return frame


def _kept(model: ReadModel, failure: list[JobError]) -> Any:
    """The batch function, whose own words outlive Spark's wrapping of them."""

    def batch(frame: DataFrame, batch_id: int) -> None:
        try:
            model(frame, batch_id)
        except JobError as error:
            failure.append(error)
            raise

    return batch
