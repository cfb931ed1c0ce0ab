"""Checks the configurations of Spark jobs with the code in the wheel that would be installed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import is_url
from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.job_text import not_json
from ansible_collections.millrace.kafka.plugins.plugin_utils.job_wheel import changed_sources
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import WHEEL, Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, count_of

WHEEL_ABSENT = ProblemKind(
    "WHEEL_ABSENT",
    "the control node has no such file",
    "run `packaging/build.sh jobs`, or set the path of another wheel",
)
WHEEL_ABSENT_URL = WHEEL_ABSENT.variant(
    message="a URL, but the wheel of the jobs has to be a file of the control node (default: in the folder archives)",
    advice="download the wheel, and set spark_job_wheel to its path",
)
WHEEL_UNFIT = ProblemKind(
    "WHEEL_UNFIT", "cannot check configurations of jobs: {error}", "rebuild it: `packaging/build.sh jobs`"
)
WHEEL_UNFIT_OLD = WHEEL_UNFIT.variant(
    message="an older version of this project built this wheel: it does not list the topics of its jobs",
    advice="rebuild it with this version: `packaging/build.sh jobs`",
)
WHEEL_UNFIT_STALE = WHEEL_UNFIT.variant(
    message="built from other sources than those in spark_jobs: the wheel does not have the changes of {files}",
    advice="rebuild it: `packaging/build.sh jobs`, or keep it if the hosts are to get the sources of its build",
)
WHEEL_UNFIT_JOB = WHEEL_UNFIT.variant(
    message="the module of the job {job} (spark_jobs/src/millrace_jobs/jobs/{job}.py{line}) fails: {error}",
    advice="correct the module, and rebuild the wheel: `packaging/build.sh jobs`",
)
WHEEL_UNFIT_PYSPARK = WHEEL_UNFIT_JOB.variant(
    message="the module of the job {job} (spark_jobs/src/millrace_jobs/jobs/{job}.py{line}) imports PySpark when it is "
    "loaded, but the control node has no PySpark",
    advice="use `from millrace_jobs.lazy import F`, import types below TYPE_CHECKING (docs/write-a-job.md), and "
    "rebuild the wheel: `packaging/build.sh jobs`",
)
WHEEL_UNFIT_PACKAGE = WHEEL_UNFIT_JOB.variant(
    advice="correct the name, or import the package in the function that uses it, and rebuild the wheel: "
    "`packaging/build.sh jobs`"
)
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
        if not wheel or not any(job.configured for job in node.jobs):
            continue
        if node.wheel is None:
            if str(wheel).startswith("/") or is_url(str(wheel)):  # else reported as PATH_RELATIVE
                yield node.report(WHEEL_ABSENT_URL if is_url(str(wheel)) else WHEEL_ABSENT, WHEEL, wheel)
            continue
        if changed := changed_sources(node.wheel):
            yield node.report(WHEEL_UNFIT_STALE, WHEEL, wheel, warning=True, files=_some(changed))
        if node.answers.error:
            kind = WHEEL_UNFIT_OLD if node.answers.error.endswith("'millrace_jobs.uses'") else WHEEL_UNFIT
            yield node.report(kind, WHEEL, wheel, error=node.answers.error)
        for name, broken in node.answers.broken.items():
            package = (broken.missing or "").partition(".")[0]
            kind = WHEEL_UNFIT_PYSPARK if package == "pyspark" else WHEEL_UNFIT_PACKAGE if package else WHEEL_UNFIT_JOB
            line = f", line {broken.line}" if broken.line else ""
            yield node.report(kind, WHEEL, wheel, job=name, line=line, error=broken.error)
        for job in node.jobs:
            for place, value in not_json(job.config):
                kind = JOB_CONFIG_DATE if isinstance(value, date) else JOB_CONFIG_TYPE
                where = f"{job.variable}.config.{place}"
                yield node.report(kind, where, value, type=type(value).__name__)
        for job, texts in zip(node.jobs, node.answers.problems, strict=False):
            if job.configured and not any(not_json(job.config)):
                yield from _of_job(node, job, node.answers.jobs, texts)


def _some(files: Sequence[str]) -> str:
    """Return the first of several files, and the number of the others."""
    return files[0] if len(files) == 1 else f"{files[0]} and {count_of(len(files) - 1, 'more file')}"


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
