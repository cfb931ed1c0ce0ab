"""Asks sinks that store offsets whether they accept a start, before a checkpoint is moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg

from millrace_jobs import postgres
from millrace_jobs.config import JOBS, Config
from millrace_jobs.ends import Database, Directory, Topic
from millrace_jobs.errors import JobError
from millrace_jobs.parts import FileSink, PostgresSink
from millrace_jobs.positions import Place
from millrace_jobs.topics import topic_id


def check(config: Config, begins: Mapping[Place, int]) -> None:
    """Return if no sink would refuse a fresh checkpoint that starts there.

    Raises:
        JobError: records between a sink's position and the start would be missing, one line for each partition; a topic
            was recreated; or a sink does not answer.
    """
    outputs = JOBS[config.job].outputs
    topics = [topic for one in config.inputs.values() for topic in one.topics]
    missing: list[str] = []
    for sink in outputs:
        query = config.job if len(outputs) == 1 else f"{config.job}-{sink.name}"
        end = config.outputs[sink.name]
        if isinstance(sink, PostgresSink) and isinstance(end, Database):
            kind, held = "database", _of_database(end, query, topics)
        elif isinstance(sink, FileSink) and isinstance(end, Directory):
            kind, held = "archive", _of_archive(end, query, topics, sink)
        else:
            continue
        missing += [
            f"{query}: the {kind} holds topic {topic} partition {number} up to offset {held[topic, number]}, and "
            f"{begin} is asked for: the records between would be missing; give an earlier start, or where they are "
            f"gone for good say so first: {_way_out(end, query, topic, number, begin)}"
            for (topic, number), begin in begins.items()
            if held.get((topic, number), begin) < begin
        ]
    if missing:
        raise JobError("\n".join(missing))


def _way_out(end: Database | Directory, query: str, topic: str, number: int, begin: int) -> str:
    if isinstance(end, Directory):
        return f'write "{number}": {begin} under "until" of {Path(end.path) / "_positions" / topic}'
    row = f"query = '{query}' AND topic = '{topic}' AND partition = {number}"
    return f"UPDATE job_positions SET until_offset = {begin} WHERE {row}"


def _of_database(end: Database, query: str, topics: Sequence[Topic]) -> Mapping[Place, int]:
    try:
        with postgres.connect(end) as connection:
            held = postgres.applied(connection, query)
            for topic in topics if held else ():
                postgres.check_topic(connection, query, topic.name, topic_id(topic))
            return held
    except psycopg.errors.UndefinedTable:
        return {}  # of a job that never ran
    except psycopg.Error as error:
        raise JobError(f"database: does not say what it holds ({' '.join(str(error).split())}); try again") from None


def _of_archive(end: Directory, query: str, topics: Sequence[Topic], sink: FileSink) -> Mapping[Place, int]:
    from millrace_jobs import archive  # and with it Spark, which takes a second

    try:
        return archive.held(Path(end.path), topics, query, f"{sink.name}_directory")
    except OSError as error:
        raise JobError(f"{sink.name}_directory: {error.filename} cannot be read ({error.strerror})") from None
