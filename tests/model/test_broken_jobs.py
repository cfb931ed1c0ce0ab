"""A module of a site's own job that cannot be loaded is named, and hides nothing of other jobs; so is an old wheel."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from made_archives import made_archives, own_wheel

from model.mistakes.base import JOB
from model.test_reached import said

FINE = "from millrace_jobs.job import Job\nJOB = Job('-', outputs=(), loop=print)\n"
BROKEN = {
    "own_columns": '"""Columns."""\n\nfrom pyspark.sql import functions as F\n',
    "own_http": "import requests_of_nobody\n",
    "own_syntax": "x = 1\nif x\n    pass\n",
    "own_none": "print('loaded')\n",
    "own_exit": "import sys\nsys.exit(3)\n",
    "own_helper": "from millrace_jobs.job import Job\nJOB = Job('-', outputs=(), loop=print, parameters=1)\n",
}
PLACE = "spark_jobs/src/millrace_jobs/jobs"


def test_modules_that_cannot_be_loaded(tmp_path: Path) -> None:
    wheel = own_wheel({**BROKEN, "own_fine": FINE})
    kinds = ["count_words", "own_columns", "own_helper", "own_fine"]
    jobs = [
        {**JOB, "name": "count_words", "config": {**JOB["config"], "trigger_interval": "soon"}},
        *({"name": kind, "job": kind, "config": {}} for kind in kinds[1:]),
    ]
    group = {"spark_job_wheel": str(wheel), "spark_job_jobs": jobs}
    lines = [line.replace(str(wheel), "WHEEL") for line in said({"spark": group}, tmp_path)]
    unfit = [line for line in lines if line.startswith("WHEEL_UNFIT")]
    start = "WHEEL_UNFIT group spark/spark_job_wheel = WHEEL: the module of the job"
    rebuild = "rebuild the wheel: `packaging/build.sh jobs`"
    assert sorted(unfit) == [
        f"{start} own_columns ({PLACE}/own_columns.py, line 3) imports PySpark when it is loaded, but the control node "
        "has no PySpark; use `from millrace_jobs.lazy import F`, import types below TYPE_CHECKING "
        f"(docs/write-a-job.md), and {rebuild}",
        f"{start} own_exit ({PLACE}/own_exit.py, line 2) fails: SystemExit: 3; correct the module, and {rebuild}",
        f"{start} own_helper ({PLACE}/own_helper.py) fails: TypeError: must be called with a dataclass type or "
        f"instance; correct the module, and {rebuild}",
        f"{start} own_http ({PLACE}/own_http.py, line 1) fails: ModuleNotFoundError: No module named "
        "'requests_of_nobody'; correct the name, or import the package in the function that uses it, and "
        f"{rebuild}",
        f"{start} own_none ({PLACE}/own_none.py) fails: AttributeError: module 'millrace_jobs.jobs.own_none' has no "
        f"attribute 'JOB'; correct the module, and {rebuild}",
        f"{start} own_syntax ({PLACE}/own_syntax.py, line 2) fails: SyntaxError: expected ':'; correct the module, and "
        f"{rebuild}",
    ]
    assert any("JOB_CONFIG" in line and "trigger_interval: 'soon'" in line for line in lines), lines
    assert not any("JOB_UNKNOWN" in line for line in lines), lines


def checkout(folder: Path) -> tuple[Path, Path]:
    """Return (the wheel, the sources) of a checkout that has built its jobs."""
    (built,) = made_archives().glob("*.whl")
    wheel, sources = folder / "checkout/.build/archives" / built.name, folder / "checkout/spark_jobs/src"
    wheel.parent.mkdir(parents=True)
    shutil.copyfile(built, wheel)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sources)
    return wheel, sources / "millrace_jobs"


def test_sources_that_are_newer_than_the_wheel(tmp_path: Path) -> None:
    """The run would install the jobs as they were when the wheel was built."""
    wheel, sources = checkout(tmp_path)
    assert said({"spark": {"spark_job_wheel": str(wheel)}}, tmp_path / "1") == []
    (sources / "jobs" / "own_job.py").write_text("")
    (sources / "io.py").write_text("")
    (sources / "__pycache__").mkdir()
    (sources / "__pycache__" / "io.cpython-311.pyc").write_text("")
    (line,) = said({"spark": {"spark_job_wheel": str(wheel)}}, tmp_path / "2")
    assert line.startswith(f"warn WHEEL_UNFIT group spark/spark_job_wheel = {wheel}: built from other sources"), line
    assert "does not have the changes of src/millrace_jobs/io.py and 1 more file; rebuild it: `pack" in line, line


def test_a_wheel_from_elsewhere_has_no_sources(tmp_path: Path) -> None:
    """A wheel outside of the folder .build of a checkout causes no warning."""
    wheel, sources = checkout(tmp_path)
    (sources / "io.py").write_text("")
    other = wheel.rename(tmp_path / wheel.name)
    assert said({"spark": {"spark_job_wheel": str(other)}}, tmp_path / "1") == []
