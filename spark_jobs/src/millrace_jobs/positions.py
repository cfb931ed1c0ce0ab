"""Reads the offsets of batches from a checkpoint, and compares them with the offsets that a sink has stored.

The comparison prevents that a batch is written twice, when Spark repeats it or after the checkpoint was lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from millrace_jobs import commands
from millrace_jobs.errors import JobError
from millrace_jobs.lazy import F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Place = tuple[str, int]  # topic and partition
# Where the operator confirms to a sink that records are lost: its stored position.
_POSITION_PLACES = {
    "database": "until_offset of the query's row in job_positions",
    "archive": "until of the partition in _positions/{topic}",
}


@dataclass(frozen=True)
class Range:
    """The records of a partition from the offset `first` to the one before `until`."""

    first: int
    until: int


def ranges_of(checkpoint: str, batch: int) -> dict[Place, Range]:
    """Return {(topic, partition): Range} of the records in a batch, from the plan that Spark wrote before the batch.

    Partitions without records in the batch are absent. Spark writes the plan to the file offsets/<batch>: a version, a
    line about the query, and a line of end offsets for each source. The batch begins at the end offsets of the batch
    before; batch 0 begins at the offsets in sources/<number>/0. Partitions that were added later begin at 0.
    """
    folder = Path(checkpoint)
    until = _planned(folder / "offsets" / str(batch))
    first = _planned(folder / "offsets" / str(batch - 1)) if batch > 0 else start_offsets(checkpoint)
    ranges = {place: Range(first.get(place, 0), end) for place, end in until.items()}
    return {place: range_ for place, range_ in ranges.items() if range_.first < range_.until}


def unapplied(
    ranges: Mapping[Place, Range],
    applied: Mapping[Place, int],
    began: Mapping[Place, int],
    query: str,
    sink: str = "database",
) -> dict[Place, Range]:
    """Return the parts of `ranges`, the records of a batch, that the sink does not hold yet.

    `applied` is {(topic, partition): offset up to which the sink holds records}. `began` is {(topic, partition): offset
    at which the checkpoint began}; it applies to a partition that is not in `applied`. Messages contain `query`, the
    name of the query, and `sink`, which is database or archive.

    Raises:
        JobError: a range begins after the records that the sink holds, so the records between would be missing.
    """
    remaining: dict[Place, Range] = {}
    for (topic, partition), range_ in ranges.items():
        stored_until = applied.get((topic, partition), began_offset := began.get((topic, partition), 0))
        if range_.first > stored_until:
            way_out = ""
            if (topic, partition) in applied:
                state = f"holds topic {topic} partition {partition} up to offset {stored_until}, but the checkpoint"
                place = _POSITION_PLACES[sink].format(topic=topic)
                way_out = f"; if the topic no longer has them, first set {place} to the first remaining offset"
            else:
                state = f"holds nothing of topic {topic} partition {partition}, but the checkpoint, which began at "
                state += f"offset {began_offset},"
            raise JobError(
                f"{query}: the {sink} {state} continues at {range_.first}: the records between would be missing; "
                f"restore the {sink}'s newer state, or let the job read them again: "
                f"{commands.reposition(query, '--to-earliest --apply')}{way_out}"
            )
        if range_.until > stored_until:
            remaining[topic, partition] = Range(stored_until, range_.until)
    return remaining


def check_sink(checkpoint: str, applied: Mapping[Place, int], query: str, sink: str = "database") -> None:
    """Check that the sink holds all records of the batches that the checkpoint has finished.

    `applied` is {(topic, partition): offset up to which the sink holds records}. Messages contain `query`, the name of
    the query, and `sink`, which is database or archive.

    Raises:
        JobError: the sink holds fewer records: it was emptied, or restored to an older state.
    """
    finished = {place: Range(at, at) for place, at in next_offsets(checkpoint).items()}
    unapplied(finished, applied, start_offsets(checkpoint), query, sink)


def has_begun(checkpoint: str) -> bool:
    """Tell whether the query of a checkpoint has planned a batch: there is a file offsets/<number>.

    The folder `offsets` alone does not show that: it exists as soon as a query has tried to start.
    """
    return any((Path(checkpoint) / "offsets").glob("[0-9]*"))


def start_offsets(checkpoint: str) -> dict[Place, int]:
    """Return {(topic, partition): offset at which the query of a checkpoint began to read}.

    Partitions that were added to a topic later are absent; the query began to read them at offset 0.
    """
    offsets: dict[Place, int] = {}
    for file in sorted(Path(checkpoint).glob("sources/*/0")):
        offsets |= _offsets(file.read_text(encoding="utf-8"))
    return offsets


def next_offsets(checkpoint: str) -> dict[Place, int]:
    """Return {(topic, partition): offset at which the query of a checkpoint continues}.

    The query continues after its last finished batch; before its first batch has finished, at the offsets at which it
    began. The result is {} if there is no checkpoint.
    """
    folder = Path(checkpoint)
    finished = [int(file.name) for file in (folder / "commits").glob("[0-9]*") if file.name.isdigit()]
    if finished:
        return _planned(folder / "offsets" / str(max(finished)))
    return start_offsets(checkpoint)


def in_ranges(batch: DataFrame, ranges: Mapping[Place, Range], planned: Mapping[Place, Range]) -> DataFrame:
    """Return the records of `batch` that are in `ranges`; `planned` are the ranges of the whole batch.

    If `ranges` equals `planned`, return `batch` without a filter, since Spark compiles the code of each new filter.
    """
    if ranges == planned:
        return batch
    wanted = F.lit(False)
    for (topic, partition), range_ in ranges.items():
        place = (F.col("record.topic") == topic) & (F.col("record.partition") == partition)
        wanted = wanted | (place & F.col("record.offset").between(range_.first, range_.until - 1))
    return batch.where(wanted)


def _planned(file: Path) -> dict[Place, int]:
    offsets: dict[Place, int] = {}
    for line in file.read_text(encoding="utf-8").splitlines()[2:]:
        offsets |= _offsets(line)
    return offsets


def _offsets(text: str) -> dict[Place, int]:
    begin = text.find("{")
    if begin < 0:
        return {}
    return {
        (topic, int(number)): int(offset)
        for topic, partitions in json.loads(text[begin:]).items()
        for number, offset in partitions.items()
    }
