"""`millrace-jobs new-job NAME`: writes the two files of a new job, its module and its test."""

from __future__ import annotations

import re
from pathlib import Path

from millrace_jobs.config import JOBS
from millrace_jobs.errors import JobError

_JOB = '''"""Describe in one line what the job does: readers see it first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace_jobs import checks
from millrace_jobs.contract import LINES, Contract
from millrace_jobs.job import Job, parameter
from millrace_jobs.lazy import F
from millrace_jobs.parts import KafkaSink, KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The default name of the topic that this job writes, and the columns of its records.
OUTPUT = Contract("{topic}", "line STRING")


@dataclass(frozen=True)
class Parameters:
    """The parameters that the configuration can set, each with its check."""

    least_length: int = parameter(checks.at_least(0), default=1)


def transform(parameters: Parameters, input: DataFrame) -> DataFrame:
    """Return lines that are long enough, in capitals. A transform is pure: rows in, rows out."""
    long = input.where(F.length("line") >= parameters.least_length)
    return long.select(F.upper("line").alias("line"))


JOB = Job(
    summary="describe in a few words what it does",
    inputs=(KafkaSource(LINES, files=True),),
    outputs=(KafkaSink(OUTPUT, files=True),),
    parameters=Parameters,
    transform=transform,
)
'''

_TEST = '''"""Tests {name}: its transform on rows written by hand, and a real stream on files."""

import threading
from pathlib import Path

from millrace_jobs.config import parse
from millrace_jobs.jobs.{name} import Parameters, transform
from millrace_jobs.runtime import start
from pyspark.sql import SparkSession

from .helpers import files_config, put, records


def test_transform(spark: SparkSession) -> None:
    """One row of each kind."""
    lines = spark.createDataFrame([("short",), ("long enough",), (None,)], "line string")
    assert [row.line for row in transform(Parameters(least_length=6), lines).collect()] == ["LONG ENOUGH"]


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """From the configuration to the written records."""
    (tmp_path / "in").mkdir()
    put(tmp_path / "in", "one.txt", "a b\\n\\nc\\n")
    (running,) = start(spark, parse("{name}", files_config(tmp_path)), threading.Event())
    running.query.processAllAvailable()
    running.query.stop()
    assert [value for _, value in records(tmp_path / "out")] == ["A B", "C"]
'''


def new_job(name: str, repository: Path) -> list[Path]:
    """Create the module and the test of the new job `name` below the folder `repository`; return the two paths.

    Raises:
        JobError: the name is invalid or taken, or `repository` is not the top folder of a checkout.
    """
    if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name):
        raise JobError(f"{name}: is not a valid job name; write a verb and a noun, like count_words")
    module = repository / "spark_jobs" / "src" / "millrace_jobs" / "jobs" / f"{name}.py"
    test = repository / "tests" / "spark" / f"test_{name}.py"
    if not module.parent.is_dir() or not test.parent.is_dir():
        raise JobError(f"{repository}: is not the top folder of a checkout; change to it")
    if name in JOBS or module.exists() or test.exists():
        raise JobError(f"{name}: exists already; choose another name")
    texts = {module: _JOB, test: _TEST}
    for file, text in texts.items():
        file.write_text(text.replace("{name}", name).replace("{topic}", name.replace("_", "-")), encoding="utf-8")
    return [*texts]
