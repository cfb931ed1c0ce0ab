"""Which records a batch holds, and which of them are applied already."""

import json
from pathlib import Path

import pytest
from millrace_jobs.errors import JobError
from millrace_jobs.positions import Range, ranges_of, unapplied


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
    assert unapplied({("t", 0): Range(first, until)}, applied, "q") == ({} if left is None else {("t", 0): left})


def test_a_gap_is_refused() -> None:
    """The database was put back to an older state, and the checkpoint was not."""
    with pytest.raises(JobError, match=r"^q: the database holds topic t partition 0 up to offset 3, .* goes on at 4"):
        unapplied({("t", 0): Range(4, 10)}, {("t", 0): 3}, "q")
