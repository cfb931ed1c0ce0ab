"""The command `status`: what it finds out about each job of a host, and what it takes for a problem."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from millrace_jobs.host_status import facts, table
from millrace_jobs.status import time_text

from .helpers import MILLRACE, environment

NOW, UPTIME = 1_800_000_000.0, 5000.0
ACTIVE = {"ActiveState": "active", "UnitFileState": "enabled", "ActiveEnterTimestampMonotonic": "1000000000"}
QUERY = {"query": "words", "batch": 7, "ended": time_text(NOW - 4), "rows": 30, "rows_per_second": 15.0}
QUERY |= {"seconds": 2.0, "lag_records": 12, "lag_seconds": 3.5, "watermark": None, "late": None}
QUERY |= {"state_rows": 9, "state_bytes": 3 * 2**20}


def written(state: str = "running", **ages: float) -> dict[str, Any]:
    """A status file; each time is that many seconds ago."""
    ages = {"since": 1000, "written": 1, "progress": 2, **ages}
    times = {name: time_text(NOW - age) for name, age in ages.items()}
    return {"state": state, "trigger_seconds": 1, "watchdog_seconds": 600, "records_sent": None,
            "queries": [QUERY], **times}  # fmt: skip


def found(
    unit: dict[str, str] | None = None, status: dict[str, Any] | None = None, program: str = "count_words", **spark: str
) -> dict[str, Any]:
    """The facts of one job."""
    config = {"spark": {name.replace("_", "."): value for name, value in spark.items()}}
    return facts("words", config, program, ACTIVE if unit is None else unit, written() if status is None else status,
                 NOW, UPTIME)  # fmt: skip


def test_a_job_that_is_well() -> None:
    job = found(spark_master="local[2]")
    assert (job["job"], job["program"], job["runs_on"], job["unit"]) == ("words", "count_words", "local[2]", "active")
    assert (job["state"], job["since_age"], job["written_age"], job["progress_age"]) == ("running", 1000.0, 1.0, 2.0)
    (query,) = job["queries"]
    assert (query["batch"], query["batch_age"], query["lag_records"], query["lag_seconds"]) == (7, 4.0, 12, 3.5)
    assert job["problem"] is None
    assert table([job]) == [
        "job    runs on   state    batch  age    rows/s  lag  lag s  watermark  state rows  size",
        "words  local[2]  running  7      4.0 s  15      12   3.5    -          9           3.0 MiB",
    ]


@pytest.mark.parametrize(
    ("program", "master", "place"),
    [
        ("count_words", {}, "local[*]"),
        ("count_words", {"spark_master": "spark://10.0.0.1:7077"}, "cluster"),
        ("generate_orders", {}, "-"),
        ("of_another_release", {}, "local[*]"),
    ],
)
def test_where_a_job_runs(program: str, master: dict[str, str], place: str) -> None:
    assert found(program=program, **master)["runs_on"] == place


@pytest.mark.parametrize(
    ("unit", "status", "state", "problem"),
    [
        ({**ACTIVE, "ActiveState": "failed"}, written(), "failed", "its unit is failed"),
        ({"ActiveState": "activating", "UnitFileState": "enabled"}, {}, "activating", "its unit is activating"),
        ({"ActiveState": "inactive", "UnitFileState": "enabled"}, {}, "inactive", "its unit is inactive"),
        ({"ActiveState": "inactive", "UnitFileState": "disabled"}, {}, "stopped", None),
        (ACTIVE, {}, "active", "it has written no status file"),
        ({**ACTIVE, "ActiveEnterTimestampMonotonic": "4990000000"}, {}, "starting", None),
        ({}, {}, "unknown", "it has written no status file"),
        ({}, written(), "running", None),
        (ACTIVE, written(written=61), "running", "it has written no status for 61 s: its process hangs"),
        (ACTIVE, written("waiting for brokers", since=29), "waiting for brokers", None),
        (ACTIVE, written("waiting for brokers", since=31), "waiting for brokers", "it is waiting for brokers for 31 s"),
        (ACTIVE, written(progress=120), "running", None),
        (ACTIVE, written(progress=122), "running", "it has made no progress for 122 s (running)"),
        (ACTIVE, written("starting", progress=122), "starting", "it has made no progress for 122 s (starting)"),
        (ACTIVE, {**written(progress=3700), "trigger_seconds": 3600}, "running", None),
    ],
)
def test_what_is_a_problem(unit: dict[str, str], status: dict[str, Any], state: str, problem: str | None) -> None:
    job = found(unit, status)
    assert (job["state"], job["problem"]) == (state, problem)
    assert table([job])[2:] == ([f"words: {problem}"] if problem else [])


def test_several_queries_have_a_row_each() -> None:
    job = found(status={**written(), "queries": [{**QUERY, "query": "a"}, {**QUERY, "query": "b", "lag_records": 0}]})
    assert [line.split()[:2] for line in table([job])[1:]] == [["words", "a"], ["words", "b"]]


SYSTEMCTL = """#!/bin/sh
for unit; do case $unit in
  spark-job@a.service) printf 'ActiveState=active\\nUnitFileState=enabled\\nActiveEnterTimestampMonotonic=1\\n\\n';;
  spark-job@*) printf 'ActiveState=%s\\nUnitFileState=enabled\\nActiveEnterTimestampMonotonic=0\\n\\n' $STATE;;
esac; done
"""


@pytest.mark.parametrize(("state", "code"), [("active", 0), ("failed", 1)])
def test_the_command(state: str, code: int, tmp_path: Path) -> None:
    """Its exit status tells whether all are well; passwords of configurations are not printed."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"kafka": {"ssl.key.password": "geheim"}}))
        (tmp_path / f"{name}.env").write_text("JOB=count_words\nCONFIG_DIGEST=0\n")
        (tmp_path / "run" / name).mkdir(parents=True)
        times = dict.fromkeys(("since", "written", "progress"), "2100-01-01T00:00:00.000Z")  # as if it were now
        (tmp_path / "run" / name / "status.json").write_text(json.dumps({**written(), **times}))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "systemctl").write_text(SYSTEMCTL)
    (tmp_path / "bin" / "systemctl").chmod(0o755)
    path = {**environment(), "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "STATE": state}
    command = [MILLRACE, "status", "--directory", str(tmp_path), "--runtime", str(tmp_path / "run")]
    shown = subprocess.run([*command, "--json"], capture_output=True, text=True, env=path, check=False)
    assert [job["unit"] for job in json.loads(shown.stdout)] == ["active", state]
    text = subprocess.run(command, capture_output=True, text=True, env=path, check=False)
    assert (shown.returncode, text.returncode) == (code, code)
    assert text.stdout.splitlines()[0].startswith("job  runs on")
    assert "geheim" not in shown.stdout + text.stdout


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    command = [MILLRACE, "status", "--directory", str(tmp_path / "none")]
    shown = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "cannot be read (No such file or directory)" in shown.stderr
