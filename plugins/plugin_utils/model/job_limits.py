"""Where the unit of a job ends, and the drivers that ask for more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

DRIVER = "spark.driver.memory"
OF_NODE = "spark_job_memory_max"


def limit_of(node: SparkNode, job: Job, limit: Any) -> tuple[int | None, str]:
    """Return at how many bytes a job's unit ends, None where it does not, and what says so."""
    entry = next(entry for entry in node.inputs.entries("spark_job_jobs") if str(entry.get("name")) == job.name)
    sections = entry.get("unit_overrides")
    service = sections.get("Service") if isinstance(sections, Mapping) else None
    own = service.get("MemoryMax") if isinstance(service, Mapping) else None
    return (size(limit), OF_NODE) if own is None else (size(own), "MemoryMax of its unit_overrides")


def over(node: SparkNode, place: str, jobs: Sequence[tuple[Job, Any, int]]) -> list[Problem]:
    """Return what is said of jobs whose drivers do not fit: of the node's one limit where it is too low for several.

    Each job with its driver's memory as it is written, and the bytes at which its unit ends.
    """
    code, part = "JOB_MEMORY_MAX", "of which Python and Java's own need a part"
    if place == OF_NODE and len(jobs) > 1:
        told = ", ".join(f"{job.name} {shown or 'Spark as by default'}" for job, shown, _ in jobs)
        wrong = f"every unit ends there, {part}, and drivers ask for: {told}"
        return [node.problem(place, code, node.inputs.get(place), wrong, f"raise it, or lower {DRIVER} of the jobs")]
    return [
        node.problem(
            f"{job.variable}.config.spark[{DRIVER}]",
            code,
            shown,
            f"the unit ends at {most >> 20} MiB ({place}), {part}",
            f"lower it, or raise {place}",
        )
        for job, shown, most in jobs
    ]
