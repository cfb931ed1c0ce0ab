"""A new job: two files, found by their name, whose tests pass as they are."""

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import millrace_jobs.jobs
import pytest
from millrace_jobs import contract
from millrace_jobs.config import JOBS
from millrace_jobs.contract import Contract
from millrace_jobs.errors import JobError
from millrace_jobs.job import discover_jobs
from millrace_jobs.new_job import new_job
from pyspark.sql import SparkSession

from .broker import Broker

DOCS = Path(__file__).resolve().parents[2] / "docs"


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


@contextmanager
def added(name: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], ModuleType]]:
    """Find the new job as every job is found; yield what imports its test."""
    folder = str(checkout / "spark_jobs/src/millrace_jobs/jobs")
    monkeypatch.setattr(millrace_jobs.jobs, "__path__", [*millrace_jobs.jobs.__path__, folder])
    try:
        found = discover_jobs()
        assert found.keys() == {*JOBS, name}
        monkeypatch.setitem(JOBS, name, found[name])
        yield module_of
    finally:
        sys.modules.pop(f"millrace_jobs.jobs.{name}", None)


def test_two_files_are_enough(
    spark: SparkSession, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is listed, its configuration is checked, its transform and its stream run."""
    _, test = new_job("shout_lines", checkout)
    with added("shout_lines", checkout, monkeypatch) as imported:
        tests = imported(test)
        tests.test_transform(spark)
        (tmp_path / "stream").mkdir()
        tests.test_a_stream(spark, tmp_path / "stream")


def shown(part: str) -> str:
    """Return the code in a part of docs/write-a-job.md."""
    found = re.search(rf"<!-- {part}: begin.*?```python\n(.*?)```", (DOCS / "write-a-job.md").read_text(), re.DOTALL)
    assert found
    return found.group(1)


def test_the_job_of_the_page(
    spark: SparkSession, broker: Broker, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It replaces the files that new-job writes, and its test passes."""
    module, test = new_job("find_large_orders", checkout)
    module.write_text(shown("job"))
    test.write_text(shown("test"))
    with added("find_large_orders", checkout, monkeypatch) as imported:
        tests = imported(test)
        tests.test_transform(spark)
        tests.test_a_stream(spark, broker, tmp_path)


def test_the_columns_in_the_page_are_those_of_the_contracts() -> None:
    page = (
        (DOCS / "jobs" / "README.md").read_text().partition("<!-- contracts: begin")[2].partition("<!-- contracts: end")
    )
    rows = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \| `(.*)` \| `([\w-]+)` \|$", page[0], re.MULTILINE)
    contracts = [one for one in vars(contract).values() if isinstance(one, Contract) and one.codec == "json"]
    assert rows == [(one.topic, one.key, one.schema, one.dead_letters) for one in contracts]


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
