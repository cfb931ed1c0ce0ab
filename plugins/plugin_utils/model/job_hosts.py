"""Rules on Spark jobs that several hosts have: jobs that run twice, and standbys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_data import active
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

JOB_TWICE = ProblemKind(
    "JOB_TWICE",
    "also runs on {host}: both hosts read each record, so the results are written twice",
    "set state: stopped on one of the two hosts, or make it a standby, if it can read the job's progress "
    "(docs/glossary.md#standby)",
    warning=True,
)
JOB_TWICE_WAITS = JOB_TWICE.variant(
    message="also runs on {host}: both hosts read each record, and one instance waits for the transactions of the other"
)
JOB_TWICE_SEVERAL = JOB_TWICE.variant(message="{host} and this host both run {writing}: the results are written twice")
JOB_TWICE_SEVERAL_WAIT = JOB_TWICE.variant(
    message="{host} and this host both run {waiting}: one instance waits for the transactions of the other"
)
JOB_TWICE_BOTH = JOB_TWICE.variant(
    message="{host} and this host both run {writing}, whose results are written twice, and {waiting}, of which one "
    "instance waits for the other"
)


def duplicate_jobs(model: Model) -> Iterator[Problem]:
    """Yield a warning for each job that several hosts run with the same input and output."""
    runners: dict[tuple[Any, ...], tuple[SparkNode, Job]] = {}
    doubles: dict[tuple[str, str], list[tuple[Job, bool]]] = {}
    for node in model.spark_nodes:
        for job in active(node):
            local = job.uses.output_directories and not job.writes
            if not job.uses.spark or not job.reads or local:
                continue  # each host has data of its own
            database = job.config.get("database")
            stored = (database.get("host"), database.get("dbname")) if isinstance(database, Mapping) else None
            servers = str(job.kafka.get("bootstrap.servers"))
            key = (job.kind, tuple(job.reads), tuple(job.writes), stored, servers)
            first, _ = runners.setdefault(key, (node, job))
            if first.name != node.name:
                doubles.setdefault((first.name, node.name), []).append((job, stored is not None))
    for (first_name, name), jobs in doubles.items():
        place = "standby" if len(jobs) > 1 else jobs[0][0].variable
        writing, waiting = ([job.name for job, in_database in jobs if in_database is kind] for kind in (False, True))
        kind = _twice_kind(len(jobs) > 1, bool(writing), bool(waiting))
        yield kind.problem((name,), place, host=first_name, writing=writing, waiting=waiting)


def _twice_kind(several: bool, writing: bool, waiting: bool) -> ProblemKind:
    """Return the kind of problem of jobs that two hosts run.

    `several`: more than one job; `writing`: some of them write results twice; `waiting`: some write to a database,
    where one waits for the other.
    """
    if not several:
        return JOB_TWICE_WAITS if waiting else JOB_TWICE
    return JOB_TWICE_BOTH if writing and waiting else JOB_TWICE_SEVERAL if writing else JOB_TWICE_SEVERAL_WAIT


JOB_STANDBY = ProblemKind(
    "JOB_STANDBY",
    "no host runs {jobs}: every host with {jobs} is a standby",
    "remove standby: true from one of these hosts",
    warning=True,
)


def standbys(model: Model) -> Iterator[Problem]:
    """Yield a warning for each job that is declared on standby hosts only, so that no host runs it."""
    running = {job.name for node in model.spark_nodes for job in active(node)}
    waiting: dict[str, list[str]] = {}
    for node in model.spark_nodes:
        for job in node.jobs if node.inputs.on("standby") else ():
            waiting.setdefault(job.name, []).append(node.name)
    with_others = {job.name for node in model.spark_nodes if not node.inputs.on("standby") for job in node.jobs}
    idle: dict[tuple[str, ...], list[str]] = {}
    for name, hosts in waiting.items():
        if name not in running | with_others:
            idle.setdefault(tuple(hosts), []).append(name)
    for standby_hosts, jobs in idle.items():
        yield JOB_STANDBY.problem(standby_hosts, "standby", True, jobs=jobs)
