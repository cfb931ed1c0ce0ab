"""Checks the configurations of Spark jobs with the code in the wheel that would be installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.job_text import job_text, not_json
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

WHEEL = "spark_job_wheel"
Answers = tuple[list[str], list[list[str]], str]
"""The jobs of a wheel, its problems of each configuration (`KEY: what is wrong; what to do`), and an error or ''."""


@cache
def checked(wheel: str, modified: int, configurations: str) -> Answers:
    """Run the configuration check in a wheel, and return (names of its jobs, problems, error).

    `configurations` is JSON: [[job, configuration], ...]. The problems are one list of texts per configuration. `error`
    is "" or the reason why the wheel could not be run. `modified` is the time of the wheel's last change in ns: results
    are cached, and a changed wheel is run again.
    """
    done = subprocess.run(
        [sys.executable, "-c", "import json, sys; from millrace_jobs.config import JOBS, problems; "
         "print(json.dumps([sorted(JOBS), [problems(job, config) for job, config in json.load(sys.stdin)]]))"],
        input=configurations, capture_output=True, text=True,
        env={"PYTHONPATH": wheel, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    try:
        if done.returncode == 0:
            jobs, answers = json.loads(done.stdout)
            return jobs, answers, ""
    except ValueError:
        return [], [], f"it printed {done.stdout[:80]!r}"
    return [], [], (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]


WHEEL_ABSENT = ProblemKind(
    "WHEEL_ABSENT", "the control node has no such file", "run `make archives`, or set the path of another wheel"
)
WHEEL_UNFIT = ProblemKind("WHEEL_UNFIT", "cannot check configurations of jobs: {error}", "rebuild it: `make archives`")
JOB_CONFIG = ProblemKind("JOB_CONFIG", "{reason}", "{solution}")
JOB_CONFIG_OTHER = JOB_CONFIG.variant(advice="see spark_jobs/README.md")
JOB_CONFIG_DATE = JOB_CONFIG.variant(
    message="YAML reads it as a date, which the configuration of a job cannot contain", advice="put it in quotes"
)
JOB_CONFIG_TYPE = JOB_CONFIG.variant(
    message="a {type}, which the configuration of a job cannot contain",
    advice="use a text, a number, a list or a mapping",
)
JOB_UNKNOWN = ProblemKind(
    "JOB_UNKNOWN", "the wheel has no job of this name", "set `job` of this entry to one of {known}"
)
JOB_UNKNOWN_TYPO = JOB_UNKNOWN.variant(advice="did you mean {near}?")


def job_problems(model: Model) -> Iterator[Problem]:
    """Yield the problems that the wheel of the jobs finds in the configurations of Spark jobs.

    A job without a configuration is skipped, because the validation of role inputs reports it.
    """
    for node in model.spark_nodes:
        wheel = node.inputs.values.get(WHEEL)
        jobs = [job for job in node.jobs if job.configured]
        if not wheel or not jobs:
            continue
        if not Path(wheel).is_file():
            yield node.report(WHEEL_ABSENT, WHEEL, wheel)
            continue
        foreign = [list(not_json(job.config)) for job in jobs]
        for job, places in zip(jobs, foreign, strict=True):
            for place, value in places:
                kind = JOB_CONFIG_DATE if isinstance(value, date) else JOB_CONFIG_TYPE
                where = f"{job.variable}.config.{place}"
                yield node.report(kind, where, value, type=type(value).__name__)
        jobs = [job for job, places in zip(jobs, foreign, strict=True) if not places]
        configurations = job_text([[job.kind, job.config] for job in jobs])
        known, answers, error = checked(str(wheel), Path(wheel).stat().st_mtime_ns, configurations)
        if error:
            yield node.report(WHEEL_UNFIT, WHEEL, wheel, error=error)
            continue
        for job, texts in zip(jobs, answers, strict=True):
            yield from _of_job(node, job, known, texts)


def _of_job(node: SparkNode, job: Job, known: Sequence[str], texts: Sequence[str]) -> Iterator[Problem]:
    """Yield the problems of one job: an unknown job, or the errors `texts` that the wheel reports.

    `known` are the jobs of the wheel.
    """
    if job.kind not in known:
        near = nearest(job.kind, known)
        if re.fullmatch(r"[\w.-]+", job.kind):  # else reported as JOB_NAME
            kind = JOB_UNKNOWN_TYPO if near else JOB_UNKNOWN
            yield node.report(kind, f"{job.variable}.job", job.kind, near=near, known=known)
        return
    for text in texts:
        reason, _, solution = text.rpartition("; ")
        details: dict[str, Any] = {"key": text.partition(":")[0], "reason": reason or text, "solution": solution}
        yield node.report(JOB_CONFIG if reason else JOB_CONFIG_OTHER, f"{job.variable}.config", **details)
