"""Which records a batch holds, and which of them are applied already."""

import json
from pathlib import Path

import pytest
from millrace_jobs.errors import JobError
from millrace_jobs.positions import Range, check_sink, in_ranges, ranges_of, unapplied
from pyspark.sql import SparkSession


def planned(checkpoint: Path, batch: int, **partitions: int) -> None:
    """What Spark writes before a batch begins."""
    (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
    offsets = {name.removeprefix("p"): offset for name, offset in partitions.items()}
    (checkpoint / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{json.dumps({"t": offsets})}')


def test_ranges_are_read_from_the_checkpoint(tmp_path: Path) -> None:
    """The first from where the query began, later ones from the batch before; a new partition from its first record."""
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "0").write_bytes(b'\0v1\n{"t":{"0":5,"1":0}}')
    planned(tmp_path, 0, p0=9, p1=0)
    planned(tmp_path, 1, p0=9, p1=4, p2=2)
    assert ranges_of(str(tmp_path), 0) == {("t", 0): Range(5, 9)}
    assert ranges_of(str(tmp_path), 1) == {("t", 1): Range(0, 4), ("t", 2): Range(0, 2)}


@pytest.mark.parametrize(
    ("first", "until", "holds", "left"),
    [
        (0, 10, None, Range(0, 10)),
        (4, 10, None, Range(4, 10)),
        (4, 10, 4, Range(4, 10)),
        (0, 10, 4, Range(4, 10)),
        (0, 10, 10, None),
        (0, 10, 25, None),
    ],
)
def test_what_is_applied_is_left_out(first: int, until: int, holds: int | None, left: Range | None) -> None:
    """By offsets, whatever the batch's number is."""
    applied = {} if holds is None else {("t", 0): holds}
    assert unapplied({("t", 0): Range(first, until)}, applied, {("t", 0): first}, "q") == (
        {} if left is None else {("t", 0): left}
    )


def test_a_gap_is_refused() -> None:
    """The database was put back to an older state, and the checkpoint was not."""
    with pytest.raises(JobError, match=r"^q: the database holds topic t partition 0 up to offset 3, .* continues at 4"):
        unapplied({("t", 0): Range(4, 10)}, {("t", 0): 3}, {}, "q")


@pytest.mark.parametrize(
    ("sink", "way_out"),
    [
        ("database", "until_offset of the query's row in job_positions"),
        ("archive", "until of the partition in _positions/t"),
    ],
)
def test_a_gap_that_nothing_fills_has_a_way_out(sink: str, way_out: str) -> None:
    """An outage longer than retention: to read again from the first record that is left changes nothing."""
    end = f"; if the topic no longer has them, first set {way_out} to the first remaining offset"
    with pytest.raises(JobError, match=f"^project_orders: the {sink} .* --to-earliest --apply{end}$"):
        unapplied({("t", 0): Range(60, 110)}, {("t", 0): 50}, {("t", 0): 60}, "project_orders", sink)


@pytest.mark.parametrize(
    ("began", "done", "holds", "refused"),
    [
        (5, None, {}, None),  # a start by time, by group, at the end: what is before it, nobody wants
        (5, 5, {}, None),  # nothing came yet
        (5, 9, {}, "holds nothing of topic t partition 0, but the checkpoint, which began at offset 5, continues at 9"),
        (5, 9, {("other", 0): 9}, "holds nothing of topic t partition 0"),
        (5, 9, {("t", 0): 8}, "holds topic t partition 0 up to offset 8, but the checkpoint continues at 9"),
        (5, 9, {("t", 0): 9}, None),
        (5, 9, {("t", 0): 20}, None),
    ],
)
def test_a_sink_that_lacks_what_the_checkpoint_has_done_is_refused(
    tmp_path: Path, began: int, done: int | None, holds: dict[tuple[str, int], int], refused: str | None
) -> None:
    """Before anything is read: it was emptied or put back, and the checkpoint was not."""
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "0").write_bytes(b'\0v1\n{"t":{"0":%d}}' % began)
    (tmp_path / "commits").mkdir()
    if done is not None:
        planned(tmp_path, 3, p0=done)
        (tmp_path / "commits" / "3").touch()
    if refused is None:
        check_sink(str(tmp_path), holds, "q")
    else:
        with pytest.raises(JobError, match=f"^q: the database {refused}.*millrace-jobs reposition q .*--to-earliest"):
            check_sink(str(tmp_path), holds, "q")


def test_a_batch_that_is_wanted_whole_stays_as_it_is(spark: SparkSession) -> None:
    """Its offsets would make a new query of each batch, for Spark to compile."""
    columns = "record struct<topic:string,partition:int,offset:bigint>"
    batch = spark.createDataFrame([(("t", 0, offset),) for offset in range(4, 9)], columns)
    whole = {("t", 0): Range(4, 9)}
    assert in_ranges(batch, whole, whole) is batch
    left = in_ranges(batch, {("t", 0): Range(6, 9)}, whole)
    assert [row.record.offset for row in left.collect()] == [6, 7, 8]
