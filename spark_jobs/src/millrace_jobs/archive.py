"""Writes a directory of Parquet files that contains each record once, even after kills or a lost checkpoint.

The directory stores its own progress: `_positions/<topic>` contains the offset after the last record of each partition.
Spark, DuckDB, Hive and similar tools ignore names that begin with `_`.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from millrace_jobs import codec, io
from millrace_jobs.contract import Contract
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError
from millrace_jobs.parts import FileSink
from millrace_jobs.paths import exists
from millrace_jobs.positions import Place, Range, check_sink, in_ranges, ranges_of, start_offsets, unapplied
from millrace_jobs.topics import topic_id

_LOG = logging.getLogger(__name__)
_PARTITION_COLUMN = "_partition"  # folder of staged files; the final names contain its value
_COLUMNS = ("topic", "partition", "offset")
# The locks of this process, which end with it; a query that is started again holds them already.
_LOCKS: dict[Path, TextIOWrapper] = {}


@dataclass
class Archive:
    """A query that fills a directory of Parquet files; Spark calls the object for each batch (foreachBatch).

    A batch first writes its files to a folder beside the data, then moves them into place under names that contain
    their offsets, and then writes the offsets in `_positions`. A kill before the last step leaves files with offsets
    that `_positions` does not contain yet; the next start removes them if they are of one batch, and fails if they are
    of several.
    """

    query: str
    job: str
    checkpoint: str
    contract: Contract
    transform: Callable[[DataFrame], DataFrame]
    sink: FileSink
    directory: Path
    sources: list[Topic]
    dead_letters: Topic | None
    dead: dict[str, int] = field(default_factory=dict)  # since the start, by reason

    def check(self, rows: DataFrame) -> None:
        """Check that `rows` can be stored, and that the archive matches the checkpoint and the ids of the topics.

        Files that a killed batch left are removed.

        Raises:
            JobError: a column is missing in `rows`; the directory cannot be written; another process writes the same
                topics to the directory; a topic was deleted and recreated; or the directory was emptied or restored
                from a backup.
        """
        missing = {*_COLUMNS, *self.sink.folders} - set(rows.columns)
        if missing:
            raise JobError(f"{self.sink.name}: rows have no {', '.join(sorted(missing))}, which names the files")
        key = f"{self.sink.name}_directory"
        try:
            (self.directory / "_positions").mkdir(parents=True, exist_ok=True)
            for topic in self.sources:
                _lock(self._file(f".{topic.name}.lock"))
        except BlockingIOError:
            raise JobError(f"{key}: another process archives topic {topic.name} there; stop one of the two") from None
        except OSError as error:
            raise JobError(f"{key}: cannot be written ({error.strerror}:  {error.filename})") from None
        shutil.rmtree(
            self._staged, ignore_errors=True
        )  # left by a batch that was killed before its files were moved into place
        for topic in self.sources:
            self._check_topic(topic, key)
        check_sink(self.checkpoint, self._stored_offsets(), self.query, "archive")

    def _check_topic(self, topic: Topic, key: str) -> None:
        file, current_id = self._file(topic.name), topic_id(topic)
        files = list(self.directory.glob(f"**/topic={topic.name}/**/*-*-*-*.parquet"))
        if not exists(file) and files:
            raise JobError(
                f"{key}: contains {len(files)} files of topic {topic.name}, but {file}, which holds their position, "
                "is missing; restore it too, or give another directory and checkpoint"
            )
        if not exists(file):
            _replace_atomically(file, {"topic_id": current_id, "until": {}})
        stored = _read_json(file)
        _check_id(self.query, topic.name, stored["topic_id"], current_id, key)
        beyond = []
        for data_file in files:
            partition, _, until, *_ = data_file.name.split("-")
            if int(until) > stored["until"].get(partition, 0):
                beyond.append(data_file)
        batches: dict[str, set[str]] = {}
        for data_file in beyond:
            partition, first, until, _ = data_file.name.split("-")
            batches.setdefault(partition, set()).add(f"{first}-{until}")
        for partition, ranges in batches.items():
            position = stored["until"].get(partition)
            if len(ranges) > 1 or (position is not None and not next(iter(ranges)).startswith(f"{position}-")):
                raise JobError(
                    f"{key}: topic {topic.name} partition {partition} has files beyond the position in {file}, of more "
                    f"than one batch ({', '.join(sorted(ranges))}), so that file is too old; restore the one that "
                    "belongs to the files, or give another directory and checkpoint"
                )
        for data_file in beyond:
            data_file.unlink()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Store the records of a batch that the directory does not contain yet.

        Raises:
            JobError: records before the batch are missing in the directory.
        """
        ranges = ranges_of(self.checkpoint, batch_id)
        remaining = unapplied(ranges, self._stored_offsets(), start_offsets(self.checkpoint), self.query, "archive")
        if not remaining:
            _LOG.info("%s: the archive already contains this batch", self.query)
            return
        decoded = codec.decode(in_ranges(batch, remaining, ranges), self.contract)
        dead = self._write(decoded, self._staged)
        if any(dead.values()) and self.dead_letters is not None:
            io.send(codec.dead_letters(decoded, self.contract, self.job), self.dead_letters)
        self._move(self._staged, remaining)
        for name in {topic for topic, _ in remaining}:
            stored = _read_json(self._file(name))
            stored["until"] |= {
                str(partition): range_.until for (topic, partition), range_ in remaining.items() if topic == name
            }
            _replace_atomically(self._file(name), stored)
        for reason, count in dead.items():
            self.dead[reason] = self.dead.get(reason, 0) + count

    def _write(self, decoded: DataFrame, staged: Path) -> dict[str, int]:
        """Write the rows to the folder `staged`; return {reason: number of rejected records}."""
        observation = Observation() if self.contract.codec == "json" else None
        observed = decoded if observation is None else decoded.observe(observation, *codec.reason_counts(self.contract))
        rows = self.transform(codec.valid_rows(observed, self.contract)).withColumn(
            _PARTITION_COLUMN, F.col("partition")
        )
        folders = dict.fromkeys([*self.sink.folders, "topic", _PARTITION_COLUMN])
        rows.write.mode("overwrite").partitionBy(*folders).parquet(str(staged))
        return {} if observation is None else {reason: count for reason, count in observation.get.items() if count}

    def _move(self, staged: Path, remaining: Mapping[Place, Range]) -> None:
        """Move the files of a batch from `staged` into place and fsync them, so that a crash of the host loses none."""
        folders_to_sync: set[Path] = set()
        for file in sorted(staged.rglob("part-*.parquet")):
            *folders, partition_folder = file.relative_to(staged).parent.parts
            number = int(partition_folder.partition("=")[2])
            topic = next(name.partition("=")[2] for name in folders if name.startswith("topic="))
            range_, folder = remaining[topic, number], self.directory.joinpath(*folders)
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{number}-{range_.first}-{range_.until}"
            _fsync(file)
            file.rename(folder / f"{name}-{len([*folder.glob(f'{name}-*')])}.parquet")
            folders_to_sync |= {folder, *folder.parents} - {*self.directory.parents}
        for folder in folders_to_sync:
            _fsync(folder)
        shutil.rmtree(staged)

    @property
    def _staged(self) -> Path:
        return self.directory / f"_staged-{self.sources[0].name}"

    def _stored_offsets(self) -> dict[Place, int]:
        return {
            (topic.name, int(number)): until
            for topic in self.sources
            for number, until in _read_json(self._file(topic.name))["until"].items()
        }

    def _file(self, topic: str) -> Path:
        return self.directory / "_positions" / topic


def stored_offsets(directory: Path, topics: Sequence[Topic], query: str, key: str) -> dict[Place, int]:
    """Return {(topic, partition): offset after the last record} of the archive in `directory`.

    Topics that the archive does not contain are absent. Messages contain `query`, the name of the query, and `key`, the
    configuration key of the directory.

    Raises:
        JobError: a topic was deleted and recreated.
        OSError: the directory cannot be read.
    """
    offsets: dict[Place, int] = {}
    for topic in topics:
        file = directory / "_positions" / topic.name
        if exists(file):
            content = _read_json(file)
            _check_id(query, topic.name, content["topic_id"], topic_id(topic), key)
            offsets |= {(topic.name, int(number)): until for number, until in content["until"].items()}
    return offsets


def _check_id(query: str, topic: str, old: str, new: str, key: str) -> None:
    if old != new:
        raise JobError(
            f"{query}: topic {topic} was deleted and recreated since its records were archived (its id was {old} and "
            f"is {new}), so stored offsets refer to other records; give another {key} and checkpoint"
        )


def _read_json(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def _replace_atomically(file: Path, content: Mapping[str, object]) -> None:
    """Write `content` as JSON to a file. After a crash of the host the file has the old or the new content."""
    temporary = file.with_name(f".{file.name}.new")
    temporary.write_text(json.dumps(content), encoding="utf-8")
    _fsync(temporary)
    temporary.rename(file)
    _fsync(file.parent)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(path: Path) -> None:
    """Lock the file `path` against other processes, until this process ends.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    if path not in _LOCKS:
        file = path.open("w", encoding="utf-8")
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _LOCKS[path] = file
