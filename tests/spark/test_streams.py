"""Each job as a real stream on files, in this process."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from millrace_jobs.config import parse
from millrace_jobs.runtime import start
from pyspark.sql import SparkSession

from .helpers import counts, eventually, files_config, put, records, records_of


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """The directory that the job watches."""
    directory = tmp_path / "in"
    directory.mkdir()
    return directory


@contextmanager
def running(spark: SparkSession, job: str, tmp_path: Path, **keys: object) -> Iterator[None]:
    """A query of `job` on the files of `tmp_path`, stopped at the end."""
    (started,) = start(spark, parse(job, {**files_config(tmp_path), **keys}), threading.Event())
    query = started.query
    try:
        yield
        assert query.exception() is None
    finally:
        query.stop()


def test_count_words_goes_on_counting(spark: SparkSession, tmp_path: Path, inbox: Path) -> None:
    """A later batch adds to the counts and sends only what it changed; so does a restart."""
    out = tmp_path / "out"
    put(inbox, "one.txt", "To be, or not to be\n\nNaïve\r\n")
    with running(spark, "count_words", tmp_path):
        eventually(lambda: counts(out), {"to": "2", "be": "2", "or": "1", "not": "1", "naïve": "1"})
        put(inbox, "two.txt", "be there\n")
        eventually(lambda: sorted(records(out)[5:]), [("be", "3"), ("there", "1")])
    put(inbox, "three.txt", "to to there")
    with running(spark, "count_words", tmp_path):
        eventually(lambda: sorted(records(out)[7:]), [("there", "2"), ("to", "4")])


def test_publish_lines_sends_each_line_of_each_file_once(spark: SparkSession, tmp_path: Path, inbox: Path) -> None:
    """Keys are base names as written, values whole lines; hidden files and known files are left alone."""
    out = tmp_path / "out"
    strange = "a b+c%20d é.txt"
    put(inbox, strange, "first\r\n\r\n  Größe  \nlast, without an end")
    put(inbox, "_hidden", "no\n")
    (inbox / ".hidden").write_text("no\n")
    expected = Counter({(strange, "first"): 1, (strange, ""): 1, (strange, "  Größe  "): 1})
    expected[strange, "last, without an end"] = 1
    with running(spark, "publish_lines", tmp_path):
        eventually(lambda: Counter(records(out)), expected)
        put(inbox, "two.txt", "same\nsame\n")
        expected["two.txt", "same"] = 2
        eventually(lambda: Counter(records(out)), expected)
    put(inbox, "three.txt", "after a restart\n")
    expected["three.txt", "after a restart"] = 1
    with running(spark, "publish_lines", tmp_path):
        eventually(lambda: Counter(records(out)), expected)


def test_a_file_with_an_old_date_is_read(spark: SparkSession, tmp_path: Path, inbox: Path) -> None:
    """A copy that kept its date of years ago is as new to the job as any."""
    out = tmp_path / "out"
    put(inbox, "new.txt", "new\n")
    with running(spark, "publish_lines", tmp_path):
        eventually(lambda: records(out), [("new.txt", "new")])
        old = tmp_path / "old.txt"
        old.write_text("old\n")
        os.utime(old, (1_000_000_000, 1_000_000_000))
        old.rename(inbox / "old.txt")
        eventually(lambda: records(out), [("new.txt", "new"), ("old.txt", "old")])


def test_a_backlog_of_files_is_sent_in_limited_batches(spark: SparkSession, tmp_path: Path, inbox: Path) -> None:
    """Never more files at a time than the limit, and no line twice."""
    out = tmp_path / "out"
    for name in "abc":
        put(inbox, name, f"{name}\n")
    with running(spark, "publish_lines", tmp_path, max_files_per_trigger=2):
        eventually(lambda: sorted(records(out)), [("a", "a"), ("b", "b"), ("c", "c")])
    assert [len(list(records_of(batch))) for batch in sorted(out.iterdir())] == [2, 1]
