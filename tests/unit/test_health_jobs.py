"""The section of the health page about Spark jobs, and how the probe asks for it."""

import json
from pathlib import Path
from typing import Any

import pytest
from unit.healthy import cluster, declared, probes

from ansible_collections.millrace.kafka.plugins.module_utils.host import probe
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.html import tables
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import as_json, page

QUERY = {"query": "count_words", "batch": 7, "batch_age": 4.25, "rows": 30, "rows_per_second": 15.0, "seconds": 2.0}
QUERY |= {"lag_records": 12, "lag_seconds": None, "watermark": None, "late": None, "state_rows": 9}
QUERY |= {"state_bytes": 3 * 2**20}
WAITS = "it is waiting for brokers for 90 s"
HINT = "see `journalctl -u spark-job@count_words` on that host"


def answers(problem: str | None = None, unit: str = "active", **more: Any) -> dict[str, Any]:
    """What the hosts answer, with the status of a job."""
    job = {"job": "count_words", "program": "count_words", "runs_on": "cluster", "unit": unit, "state": "running"}
    found = probes()
    found["spark1"] |= {"jobs": [{**job, "queries": [QUERY], "problem": problem}], "jobs_error": "", **more}
    return found


def test_a_job_that_is_well() -> None:
    text, problems = page(declared(), answers(), cluster())
    assert problems == []
    assert text.partition("Spark jobs\n")[2].splitlines()[:2] == [
        "  host    job          runs on  state    batch  age  rows/s  lag  lag s  watermark  state size",
        "  spark1  count_words  cluster  running  7      4.2  15.0    12   -      -          3.0 MiB",
    ]


def test_a_job_without_queries() -> None:
    found = answers()
    found["spark1"]["jobs"][0]["queries"] = []
    text, _ = page(declared(), found, cluster())
    assert "  spark1  count_words  cluster  running  -      -    -       -    -      -          -" in text


@pytest.mark.parametrize(
    ("unit", "problems"), [("active", [f"job count_words on spark1: {WAITS}; {HINT}"]), ("failed", [])]
)
def test_a_problem_of_a_job(unit: str, problems: list[str]) -> None:
    """A unit that does not run is reported with the units."""
    assert page(declared(), answers(WAITS, unit), cluster())[1] == problems


def test_a_status_that_is_not_known() -> None:
    found = answers(jobs=[], jobs_error="no output")
    assert page(declared(), found, cluster())[1] == ["the status of the jobs on spark1 is not known: no output"]


def test_programs_and_browsers_get_the_same() -> None:
    facts = json.loads(as_json(declared(), answers(WAITS), cluster()))
    (job,) = facts["jobs"]
    assert (job["host"], job["job"], job["problem"], job["queries"]) == ("spark1", "count_words", WAITS, [QUERY])
    (table,) = [table for table in tables(facts) if table[0] == "Spark jobs"]
    assert [row[:5] for row in table[2]] == [("spark1", "count_words", "cluster", "running", "7")]


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ('echo \'[{"job": "a"}]\'; exit 1', {"jobs": [{"job": "a"}], "jobs_error": ""}),
        ("echo \"argument JOB: invalid choice: 'status'\" >&2; exit 2", {"jobs": [], "jobs_error": ""}),
        (
            "echo /etc: cannot be read >&2; exit 2",
            {"jobs": [], "jobs_error": "/etc: cannot be read"},
        ),
        ("exit 1", {"jobs": [], "jobs_error": "no output"}),
        (None, {"jobs": [], "jobs_error": ""}),
    ],
)
def test_the_probe(script: str | None, answer: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older release has no such command, which is no problem; a job that is not well is no error."""
    program = tmp_path / "millrace-jobs"
    if script is not None:
        program.write_text(f'#!/bin/sh\n[ "$*" = "status --json" ] || exit 9\n{script}\n')
        program.chmod(0o755)
    monkeypatch.setattr(probe, "JOBS", str(program))
    assert probe.job_statuses() == answer
