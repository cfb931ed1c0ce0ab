"""A new job: two files, found by their name, whose tests pass as they are."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import millrace_jobs.jobs
import pytest
from millrace_jobs.config import JOBS
from millrace_jobs.errors import JobError
from millrace_jobs.job import discover_jobs
from millrace_jobs.new_job import new_job
from pyspark.sql import SparkSession


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What is needed of one."""
    for folder in ("spark_jobs/src/millrace_jobs/jobs", "tests/spark"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def module_of(file: Path) -> ModuleType:
    """The test beside the others, as pytest imports it."""
    spec = importlib.util.spec_from_file_location(f"{__package__}.{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_files_are_enough(
    spark: SparkSession, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is listed, its configuration is checked, its transform and its stream run."""
    module, test = new_job("shout_lines", checkout)
    monkeypatch.setattr(millrace_jobs.jobs, "__path__", [*millrace_jobs.jobs.__path__, str(module.parent)])
    try:
        found = discover_jobs()
        assert found.keys() == {*JOBS, "shout_lines"}
        monkeypatch.setitem(JOBS, "shout_lines", found["shout_lines"])
        tests = module_of(test)
        tests.test_transform(spark)
        (tmp_path / "stream").mkdir()
        tests.test_a_stream(spark, tmp_path / "stream")
    finally:
        sys.modules.pop("millrace_jobs.jobs.shout_lines", None)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("shout", "shout: is not a valid job name; write a verb and a noun, like count_words"),
        ("Shout_lines", "Shout_lines: is not a valid job name; write a verb and a noun, like count_words"),
        ("count_words", "count_words: exists already; choose another name"),
    ],
)
def test_a_name_that_cannot_be(checkout: Path, name: str, problem: str) -> None:
    """Nothing is written."""
    with pytest.raises(JobError, match=f"^{problem}$"):
        new_job(name, checkout)
    assert not [path for path in checkout.rglob("*") if path.is_file()]


def test_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    """Said with its name."""
    with pytest.raises(JobError, match=f"^{tmp_path}: is not the top folder of a checkout"):
        new_job("shout_lines", tmp_path)
