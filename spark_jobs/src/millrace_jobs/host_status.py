"""Reads the status of all jobs of this host: their configuration files, status files and systemd units.

Implements the command `status`, whose JSON the health page of the Ansible collection reads.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from millrace_jobs.config import JOBS
from millrace_jobs.errors import JobError
from millrace_jobs.status import FILE, RUNNING, STARTING, seconds_of

Facts = dict[str, Any]
OLD_FILE_SECONDS = 60
"""Age of a status file above which its process hangs: it writes the file every 10 s."""
WAIT_SECONDS = 30
"""How long a job may wait, as after a start, before that is a problem."""
PROGRESS_SECONDS = 120
"""How long a job may make no progress, beside its trigger interval, before that is a problem."""
_PROPERTIES = "ActiveState,UnitFileState,ActiveEnterTimestampMonotonic"
_HEADLINE = ("job", "runs on", "state", "batch", "age", "rows/s", "lag", "lag s", "watermark", "state rows", "size")
_QUERY = ("batch", "rows", "rows_per_second", "seconds", "lag_records", "lag_seconds", "watermark", "late",
          "state_rows", "state_bytes")  # fmt: skip


def read(directory: Path, runtime: Path) -> list[Facts]:
    """Return the facts of each job of this host, sorted by name, as docs/jobs/README.md describes them.

    `directory` has the configuration files of the jobs, `runtime` a directory for each job with its status file.

    Raises:
        JobError: the directory cannot be read.
    """
    try:
        files = sorted(file for file in directory.iterdir() if file.suffix == ".json")
    except OSError as error:
        raise JobError(f"{directory}: cannot be read ({error.strerror}); run as root, or give --directory") from None
    units = _units([file.stem for file in files])
    now, uptime = time.time(), time.monotonic()
    return [
        facts(file.stem, _object(file), _program(file), units.get(file.stem, {}),
              _object(runtime / file.stem / FILE), now, uptime)
        for file in files
    ]  # fmt: skip


def facts(
    job: str, config: Facts, program: str, unit: Mapping[str, str], status: Facts, now: float, uptime: float
) -> Facts:
    """Return the facts of one job.

    `config` is its configuration, `program` the job that it runs, `unit` the properties of its systemd unit ({}: they
    are unknown), `status` its status file ({}: there is none), `now` the seconds since 1970, `uptime` the seconds since
    the host's start (CLOCK_MONOTONIC).
    """
    active = unit.get("ActiveState", "unknown")
    running = active in ("active", "unknown") and bool(status)
    shown = status if running else {}
    young = active == "active" and uptime - int(unit.get("ActiveEnterTimestampMonotonic") or 0) / 1e6 < WAIT_SECONDS
    standby = active == "inactive" and unit.get("UnitFileState") != "enabled"
    state = shown.get("state") or ("stopped" if standby else STARTING if young else active)
    ages = {f"{name}_age": _age(shown.get(name), now) for name in ("since", "written", "progress")}
    found: Facts = {
        "job": job,
        "program": program,
        "runs_on": _place(config, program),
        "unit": active,
        "state": state,
        **ages,
        "watchdog_seconds": shown.get("watchdog_seconds"),
        "records_sent": shown.get("records_sent"),
        "queries": [
            {"query": query.get("query"), "batch_age": _age(query.get("ended"), now)}
            | {name: query.get(name) for name in _QUERY}
            for query in shown.get("queries") or []
        ],
    }
    quiet = standby or (young and not shown)
    return {**found, "problem": None if quiet else _problem(found, float(shown.get("trigger_seconds") or 0))}


def _problem(job: Facts, trigger: float) -> str | None:
    """Return what is wrong with a job, as text; None if it is well."""
    if job["unit"] not in ("active", "unknown"):
        return f"its unit is {job['unit']}"
    if job["written_age"] is None:
        return "it has written no status file"
    if job["written_age"] > OLD_FILE_SECONDS:
        return f"it has written no status for {job['written_age']:.0f} s: its process hangs"
    if job["state"] not in (STARTING, RUNNING):
        return f"it is {job['state']} for {job['since_age']:.0f} s" if job["since_age"] > WAIT_SECONDS else None
    if job["progress_age"] > trigger + PROGRESS_SECONDS:
        return f"it has made no progress for {job['progress_age']:.0f} s ({job['state']})"
    return None


def table(jobs: Sequence[Facts]) -> list[str]:
    """Return the lines of the table of all jobs, a row for each query, and below it the problems."""
    rows = [_HEADLINE, *(row for job in jobs for row in _rows(job))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADLINE))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return lines + [f"{job['job']}: {job['problem']}" for job in jobs if job["problem"]]


def as_json(jobs: Sequence[Facts]) -> str:
    """Return the facts of all jobs as a JSON list on one line."""
    return json.dumps(list(jobs))


def _rows(job: Facts) -> Iterator[tuple[str, ...]]:
    for query in job["queries"] or [{}]:
        name = job["job"] if len(job["queries"]) < 2 else f"{job['job']} {query['query']}"
        yield (
            name, job["runs_on"], job["state"], _text(query.get("batch")), _text(query.get("batch_age"), " s"),
            _text(query.get("rows_per_second")), _text(query.get("lag_records")), _text(query.get("lag_seconds")),
            _text(query.get("watermark")), _text(query.get("state_rows")), _size(query.get("state_bytes")),
        )  # fmt: skip


def _text(value: Any, unit: str = "") -> str:
    if value is None:
        return "-"
    return f"{value:.{int(0 < value < 10)}f}{unit}" if isinstance(value, float) else f"{value}{unit}"


def _size(value: int | None) -> str:
    return "-" if value is None else f"{value / 2**20:.1f} MiB"


def _age(moment: str | None, now: float) -> float | None:
    """Return the seconds since a time, at least 0; None without a time."""
    return None if not moment else round(max(0.0, now - seconds_of(moment)), 1)


def _place(config: Facts, program: str) -> str:
    """Return where the tasks of a job run: `local[N]`, `cluster`, or `-` for a job without Spark."""
    if program in JOBS and JOBS[program].loop is not None:
        return "-"
    spark = config.get("spark")
    master = str(spark.get("spark.master", "local[*]")) if isinstance(spark, Mapping) else "local[*]"
    return master if master.startswith("local") else "cluster"


def _program(file: Path) -> str:
    """Return the program that a job runs, from its environment file; the default is the name of the job."""
    try:
        lines = file.with_suffix(".env").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return file.stem
    return next((line[len("JOB=") :] for line in lines if line.startswith("JOB=")), file.stem)


def _object(file: Path) -> Facts:
    """Return the JSON object that a file contains; {} if there is none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _units(jobs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return {job: properties of its systemd unit}; {} on a host without systemd."""
    names = [f"spark-job@{job}.service" for job in jobs]
    if not names:
        return {}
    try:
        done = subprocess.run(
            ["systemctl", "show", "-p", _PROPERTIES, *names], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return {}
    parts = done.stdout.strip().split("\n\n")
    return {
        job: dict(line.split("=", 1) for line in part.splitlines() if "=" in line)
        for job, part in zip(jobs, parts, strict=True)
    }
