"""Writes a directory of Parquet files that holds each record once, even after kills or a lost checkpoint.

The directory keeps its own progress, by offsets: `_positions/<topic>` holds the offset after the last record of each
partition. Spark, DuckDB, Hive and similar tools ignore names that begin with `_`.
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
from millrace_jobs.paths import there
from millrace_jobs.positions import Place, Range, began_at, between, check_sink, ranges_of, unapplied
from millrace_jobs.topics import topic_id

_LOG = logging.getLogger(__name__)
_NUMBER = "_partition"  # folder of the staged files, which the names of the kept ones hold
_COLUMNS = ("topic", "partition", "offset")
# The locks of this process, which end with it: queries that begin again have them already.
_LOCKS: dict[Path, TextIOWrapper] = {}


@dataclass
class Archive:
    """A query that fills a directory; `__call__` is its foreachBatch.

    A batch is first written beside the data. Then its files are moved into place under names derived from its
    offsets, and the positions are written last. A kill in between leaves files of one batch, which begins at the
    positions; the next start removes them. Any other file beyond the positions is refused.
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
        """Return if `rows` can be stored, and the directory holds the checkpoint's records of these very topics.

        Raises:
            JobError: a column is missing; the directory cannot be written, or another process writes the same topics;
                a topic was deleted and recreated; the directory was emptied or restored from a backup.
        """
        missing = {*_COLUMNS, *self.sink.folders} - set(rows.columns)
        if missing:
            raise JobError(f"{self.sink.name}: rows lack {', '.join(sorted(missing))}, by which files are named")
        key = f"{self.sink.name}_directory"
        try:
            (self.directory / "_positions").mkdir(parents=True, exist_ok=True)
            for topic in self.sources:
                _lock(self._file(f".{topic.name}.lock"))
        except BlockingIOError:
            raise JobError(f"{key}: another process archives topic {topic.name} there; stop one of the two") from None
        except OSError as error:
            raise JobError(f"{key}: cannot be written ({error.strerror}: {error.filename})") from None
        shutil.rmtree(self._staged, ignore_errors=True)  # of a batch that was killed before its files had their places
        for topic in self.sources:
            self._check_topic(topic, key)
        check_sink(self.checkpoint, self._held(), self.query, "archive")

    def _check_topic(self, topic: Topic, key: str) -> None:
        file, now = self._file(topic.name), topic_id(topic)
        files = list(self.directory.glob(f"**/topic={topic.name}/**/*-*-*-*.parquet"))
        if not there(file) and files:
            raise JobError(
                f"{key}: holds {len(files)} files of topic {topic.name}, and {file}, which says how far they go, "
                "is not there; bring it back as well, or give another directory and checkpoint"
            )
        if not there(file):
            _replace(file, {"topic_id": now, "until": {}})
        held = _read(file)
        _check_id(self.query, topic.name, held["topic_id"], now, key)
        beyond = [one for one in files if int(one.name.split("-")[2]) > held["until"].get(one.name.split("-")[0], 0)]
        batches: dict[str, set[str]] = {}
        for one in beyond:
            number, first, until, _ = one.name.split("-")
            batches.setdefault(number, set()).add(f"{first}-{until}")
        for number, ranges in batches.items():
            begin = held["until"].get(number)
            if len(ranges) > 1 or (begin is not None and not next(iter(ranges)).startswith(f"{begin}-")):
                raise JobError(
                    f"{key}: of topic {topic.name}, partition {number}, there are files beyond what {file} says, of "
                    f"more than one batch ({', '.join(sorted(ranges))}): it is older than they are; bring back the one "
                    "that belongs to them, or give another directory and checkpoint"
                )
        for one in beyond:
            one.unlink()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Store the records of a batch that the directory does not hold yet."""
        ranges = ranges_of(self.checkpoint, batch_id)
        left = unapplied(ranges, self._held(), began_at(self.checkpoint), self.query, "archive")
        if not left:
            _LOG.info("%s: the archive holds all of this batch already", self.query)
            return
        decoded = codec.decode(between(batch, left, ranges), self.contract)
        dead = self._write(decoded, self._staged)
        if any(dead.values()) and self.dead_letters is not None:
            io.send(codec.dead_letters(decoded, self.contract, self.job), self.dead_letters)
        self._move(self._staged, left)
        for name in {topic for topic, _ in left}:
            held = _read(self._file(name))
            held["until"] |= {str(number): one.until for (topic, number), one in left.items() if topic == name}
            _replace(self._file(name), held)
        for reason, number in dead.items():
            self.dead[reason] = self.dead.get(reason, 0) + number

    def _write(self, decoded: DataFrame, staged: Path) -> dict[str, int]:
        """Write the rows beside the data; return the number of records that did not fit, by reason."""
        seen = Observation() if self.contract.codec == "json" else None
        watched = decoded if seen is None else decoded.observe(seen, *codec.counted(self.contract))
        rows = self.transform(codec.fitting(watched, self.contract)).withColumn(_NUMBER, F.col("partition"))
        folders = dict.fromkeys([*self.sink.folders, "topic", _NUMBER])
        rows.write.mode("overwrite").partitionBy(*folders).parquet(str(staged))
        return {} if seen is None else {reason: number for reason, number in seen.get.items() if number}

    def _move(self, staged: Path, left: Mapping[Place, Range]) -> None:
        """Move the files of a batch into place and sync them: the host may crash right after."""
        places: set[Path] = set()
        for file in sorted(staged.rglob("part-*.parquet")):
            *folders, last = file.relative_to(staged).parent.parts
            number = int(last.partition("=")[2])
            topic = next(name.partition("=")[2] for name in folders if name.startswith("topic="))
            one, place = left[topic, number], self.directory.joinpath(*folders)
            place.mkdir(parents=True, exist_ok=True)
            name = f"{number}-{one.first}-{one.until}"
            _to_disk(file)
            file.rename(place / f"{name}-{len([*place.glob(f'{name}-*')])}.parquet")
            places |= {place, *place.parents} - {*self.directory.parents}
        for place in places:
            _to_disk(place)
        shutil.rmtree(staged)

    @property
    def _staged(self) -> Path:
        return self.directory / f"_staged-{self.sources[0].name}"

    def _held(self) -> dict[Place, int]:
        return {
            (topic.name, int(number)): until
            for topic in self.sources
            for number, until in _read(self._file(topic.name))["until"].items()
        }

    def _file(self, topic: str) -> Path:
        return self.directory / "_positions" / topic


def held(directory: Path, topics: Sequence[Topic], query: str, key: str) -> dict[Place, int]:
    """Return the offset after the last record in an archive, by partition; empty if the topic has none yet.

    Raises:
        JobError: a topic was deleted and recreated.
        OSError: the directory cannot be read.
    """
    found: dict[Place, int] = {}
    for topic in topics:
        file = directory / "_positions" / topic.name
        if there(file):
            known = _read(file)
            _check_id(query, topic.name, known["topic_id"], topic_id(topic), key)
            found |= {(topic.name, int(number)): until for number, until in known["until"].items()}
    return found


def _check_id(query: str, topic: str, was: str, now: str, key: str) -> None:
    if was != now:
        raise JobError(
            f"{query}: topic {topic} was deleted and made anew since its records were archived (its id was {was} and "
            f"is {now}), so offsets mean others; give another {key} and checkpoint"
        )


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _replace(file: Path, held: Mapping[str, object]) -> None:
    """Replace a file atomically, so that it survives a crash of the host."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(json.dumps(held), encoding="utf-8")
    _to_disk(new)
    new.rename(file)
    _to_disk(file.parent)


def _to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _lock(path: Path) -> None:
    """Lock the directory against other processes.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    if path not in _LOCKS:
        file = path.open("w", encoding="utf-8")
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _LOCKS[path] = file
