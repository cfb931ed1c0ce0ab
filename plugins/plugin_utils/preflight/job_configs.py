"""What is wrong with the jobs of an inventory, as the very wheel that would be installed judges them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.job_text import job_text, strangers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

UNKNOWN = re.compile(r"job: is unknown; .* \(known: (.*)\)")


@cache
def judged(wheel: str, written: int, asked: str) -> tuple[list[list[str]], str]:
    """Return what a wheel, `written` then (ns), says of [[job, configuration], ...] as JSON.

    And why it cannot judge, "" where it can.
    """
    done = subprocess.run(
        [sys.executable, "-c", "import json, sys; from millrace_jobs.config import problems; "
         "print(json.dumps([problems(job, config) for job, config in json.load(sys.stdin)]))"],
        input=asked, capture_output=True, text=True, env={"PYTHONPATH": wheel, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    try:
        if done.returncode == 0:
            return json.loads(done.stdout), ""
    except ValueError:
        return [], f"it printed {done.stdout[:80]!r}"
    return [], (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]


def job_problems(model: Model) -> Iterator[Problem]:
    """Yield what is wrong with the jobs' configurations; a job without one is reported with the role's inputs."""
    for node in model.spark_nodes:
        wheel, variable = node.inputs.values.get("spark_job_wheel"), "spark_job_wheel"
        jobs = [job for job in node.jobs if job.configured]
        if not wheel or not jobs:
            continue
        if not Path(wheel).is_file():
            wrong, advice = "no such file on the control node", "run `make archives`, or name another"
            yield node.problem(variable, "WHEEL_ABSENT", wheel, wrong, advice)
            continue
        unwritten = [(job, list(strangers(job.config))) for job in jobs]
        for job, foreign in unwritten:
            for place, value in foreign:
                dated = isinstance(value, date)
                wrong = "YAML makes a date of it, which" if dated else f"a {type(value).__name__}, which"
                advice = "put it in quotes" if dated else "write a text, a number, a list or a mapping"
                where = f"{job.variable}.config.{place}"
                yield node.problem(where, "JOB_CONFIG", value, f"{wrong} no configuration of a job can hold", advice)
        jobs = [job for job, foreign in unwritten if not foreign]
        asked = job_text([[job.kind, job.config] for job in jobs])
        answers, error = judged(str(wheel), Path(wheel).stat().st_mtime_ns, asked)
        if error:
            wrong = f"cannot judge job configurations: {error}"
            yield node.problem(variable, "WHEEL_UNFIT", wheel, wrong, "build it anew: `make archives`")
            continue
        for job, found in zip(jobs, answers, strict=True):
            for text in found:
                if unknown := UNKNOWN.fullmatch(text):
                    near = nearest(job.kind, unknown[1].split(", "))
                    advice = f"did you mean {near}?" if near else f"one of {unknown[1]}, as job beside the name"
                    if not re.fullmatch(r"[\w.-]+", job.kind):
                        continue  # said as JOB_NAME
                    yield node.problem(f"{job.variable}.job", "JOB_UNKNOWN", job.kind, "no job of the wheel", advice)
                    continue
                wrong, _, advice = text.rpartition("; ")
                advice = advice if wrong else "see spark_jobs/README.md"
                yield node.problem(f"{job.variable}.config", "JOB_CONFIG", None, wrong or text, advice)
