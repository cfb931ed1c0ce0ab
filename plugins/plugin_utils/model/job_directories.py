"""Rules on the folders and files of jobs: where their unit may write, and what it sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.keystore_permissions import LOCATIONS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.sandbox_paths import hidden, services_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# What the unit lets its job write to (roles/spark_job); everything else is read-only or another /tmp.
WRITABLE = "/var/lib/spark-job"
WRITTEN = ("checkpoint", "output_directory")


def directories(model: Model) -> Iterator[Problem]:
    """A job writes where its unit may, and its checkpoint is its own, however it is written."""
    for node in model.spark_nodes:
        found: list[tuple[Job, str]] = []
        for job in node.jobs:
            services = services_of(node, "spark_job_unit_overrides", f"{job.variable}.unit_overrides")
            writable = [WRITABLE, *_more_writable(services)]
            for key in WRITTEN:
                path = job.config.get(key)
                if not isinstance(path, str) or not path.startswith("/"):
                    continue  # said by the job itself
                unseen = hidden(path, services)
                if not below(path, *writable) or ".." in path.split("/") or unseen:
                    wrong = f"the job's unit may not write there: below {' and '.join(writable)} alone"
                    advice = f"put it below {WRITABLE}, or name it in ReadWritePaths of its unit_overrides"
                    if unseen:
                        wrong = f"the unit does not see the host's {unseen}, and keeps nothing there"
                        advice = f"put it below {WRITABLE}, or another folder that ReadWritePaths names"
                    yield node.problem(f"{job.variable}.config.{key}", "JOB_DIRECTORY", path, wrong, advice)
                elif key == "checkpoint":
                    found.append((job, path))
            yield from _unseen(node, job, services)
        for (one, first), (other, second) in combinations(found, 2):
            alike = below(first, second) or below(second, first)
            if alike and first != second and one.name != other.name:
                wrong = f"the directory of job {one.name}, {first}, or inside it or around it"
                place, advice = f"{other.variable}.config.checkpoint", "give each job a checkpoint of its own"
                yield node.problem(place, "JOB_CHECKPOINT_NESTED", second, wrong, advice)


def _unseen(node: SparkNode, job: Job, services: list[Mapping[Any, Any]]) -> Iterator[Problem]:
    """Yield what a job reads and its unit does not see."""
    told: dict[str, Any] = {"input_directory": job.config.get("input_directory")}
    for name in ("kafka", "database"):
        given = job.config.get(name)
        told |= {f"{name}[{key}]": given.get(key) for key in LOCATIONS} if isinstance(given, Mapping) else {}
    for key, path in told.items():
        if isinstance(path, str) and path.startswith("/") and (folder := hidden(path, services)):
            wrong = f"the unit does not see the host's {folder}: there is nothing for the job"
            advice = f"put it below {WRITABLE} or /srv, or name it in BindReadOnlyPaths of its unit_overrides"
            yield node.problem(f"{job.variable}.config.{key}", "JOB_DIRECTORY", path, wrong, advice)


def _more_writable(services: list[Mapping[Any, Any]]) -> list[str]:
    texts: list[Any] = []
    for service in services:
        for given in (service.get("ReadWritePaths"), service.get("BindPaths")):
            texts += given if isinstance(given, (list, tuple)) else [given] if given else []
    paths = [path.lstrip("+-").rpartition(":")[2] for text in texts for path in str(text).split()]
    return [path for path in paths if path.startswith("/")]
