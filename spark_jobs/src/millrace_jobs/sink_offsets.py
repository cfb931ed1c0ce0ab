"""Checks that the databases and archives of a job accept another start of the job.

Each database and archive stores the offsets up to which it holds records.
"""

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


def check(config: Config, starts: Mapping[Place, int]) -> None:
    """Check that no records would be missing in a database or archive if the job began at `starts`.

    `starts` is {(topic, partition): first offset to read}. A database or archive accepts a start at or before the
    offset that it has stored for the partition.

    Raises:
        JobError: records between the stored offset and the start would be missing (the message has a line for each
            partition), a topic was deleted and recreated, or a database or archive cannot be read.
    """
    outputs = JOBS[config.job].outputs
    topics = [topic for source in config.inputs.values() for topic in source.topics]
    lines: list[str] = []
    for sink in outputs:
        query = config.job if len(outputs) == 1 else f"{config.job}-{sink.name}"
        end = config.outputs[sink.name]
        if isinstance(sink, PostgresSink) and isinstance(end, Database):
            kind, stored = "database", _offsets_in_database(end, query, topics)
        elif isinstance(sink, FileSink) and isinstance(end, Directory):
            kind, stored = "archive", _offsets_in_archive(end, query, topics, sink)
        else:
            continue
        lines += [
            f"{query}: the {kind} holds topic {topic} partition {number} up to offset {stored[topic, number]}, but "
            f"the start is {start}: the records between would be missing; give an earlier start, or if they are lost "
            f"confirm that first: {_statement_to_skip(end, query, topic, number, start)}"
            for (topic, number), start in starts.items()
            if stored.get((topic, number), start) < start
        ]
    if lines:
        raise JobError("\n".join(lines))


def _statement_to_skip(end: Database | Directory, query: str, topic: str, number: int, start: int) -> str:
    if isinstance(end, Directory):
        return f'write "{number}": {start} under "until" of {Path(end.path) / "_positions" / topic}'
    condition = f"query = '{query}' AND topic = '{topic}' AND partition = {number}"
    return f"UPDATE job_positions SET until_offset = {start} WHERE {condition}"


def _offsets_in_database(end: Database, query: str, topics: Sequence[Topic]) -> Mapping[Place, int]:
    try:
        with postgres.connect(end) as connection:
            stored = postgres.applied(connection, query)
            for topic in topics if stored else ():
                postgres.check_topic(connection, query, topic.name, topic_id(topic))
            return stored
    except psycopg.errors.UndefinedTable:
        return {}  # of a job that never ran
    except psycopg.Error as error:
        raise JobError(f"database: does not answer ({' '.join(str(error).split())}); try again") from None


def _offsets_in_archive(end: Directory, query: str, topics: Sequence[Topic], sink: FileSink) -> Mapping[Place, int]:
    from millrace_jobs import archive  # here, because it imports Spark, which takes a second

    try:
        return archive.stored_offsets(Path(end.path), topics, query, f"{sink.name}_directory")
    except OSError as error:
        raise JobError(f"{sink.name}_directory: {error.filename} cannot be read ({error.strerror})") from None
