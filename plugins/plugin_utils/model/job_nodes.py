"""Rules on jobs over several nodes: each runs once and somewhere, and a real-time one has room for what it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import overrides
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jobs import READ_BACK, active, end, reads
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

MASTER, PARALLELISM = "spark.master", "spark.default.parallelism"
REAL_TIME = "real-time"  # millrace_jobs.ends
STOP_TIMEOUT = "spark_job_stop_timeout"
INTERVAL = re.compile(r"(\d{1,9}) (millisecond|second|minute|hour)s?")  # millrace_jobs.checks.interval
UNITS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600}


def slots(model: Model) -> Iterator[Problem]:
    """In real time each partition keeps a slot for good, and the job ends at once where there are fewer."""
    partitions = {topic.name: whole(topic.get("partitions")) or 0 for topic in topics_of(model) if topic.made}
    for node in model.spark_nodes:
        for job in node.jobs:
            there = _slots(job)
            wanted = sum(partitions.get(name, 0) for name in reads(job))
            if job.config.get("trigger") == REAL_TIME and there is not None and there[1] < wanted:
                name, number = there
                place, shown = f"{job.variable}.config.spark[{name}]", job.config["spark"][name]
                wrong = (
                    f"{number} slots for {wanted} partitions of {', '.join(reads(job))}, and each keeps one for good"
                )
                advice = f"write local[{wanted}]" if name == MASTER else f"write {wanted}"
                yield node.problem(place, "JOB_SLOTS", shown, wrong, f"{advice}, or take micro-batch")


def stops(model: Model) -> Iterator[Problem]:
    """In real time a stop waits for the end of the interval, and the unit for it (docs/jobs/relay.md)."""
    for node in model.spark_nodes:
        patience, own = node.inputs.whole(STOP_TIMEOUT), {where for where, drop_in in overrides(node) if _ends(drop_in)}
        for job in node.jobs:
            interval = INTERVAL.fullmatch(str(job.config.get("trigger_interval")))
            if job.config.get("trigger") != REAL_TIME or not interval or not patience:
                continue
            seconds = int(interval[1]) * UNITS[interval[2]]
            if seconds >= patience and not own & {"spark_job_unit_overrides", f"{job.variable}.unit_overrides"}:
                wrong = f"a stop waits for its end, and after {patience} s ({STOP_TIMEOUT}) systemd kills the job: "
                wrong += "what it has written since is written again"
                place, advice = f"{job.variable}.config.trigger_interval", f"lower it, or raise {STOP_TIMEOUT}"
                yield node.problem(place, "JOB_STOP", interval[0], wrong, advice, warning=True)


def _ends(drop_in: Mapping[Any, Any]) -> bool:
    """Tell whether a drop-in says how long a stop may take."""
    service = drop_in.get("Service")
    return isinstance(service, Mapping) and bool({"TimeoutStopSec", "TimeoutSec"} & service.keys())


def _slots(job: Job) -> tuple[str, int] | None:
    """Return how many tasks of a job run at once, and which property says so; None where the node's cores do."""
    spark = job.config.get("spark")
    settings: Mapping[Any, Any] = spark if isinstance(spark, Mapping) else {}
    told = whole(settings.get(PARALLELISM))
    if told is not None:
        return PARALLELISM, told
    found = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", str(settings.get(MASTER) or ""))
    return (MASTER, int(found[1] or 1)) if found else None


def twice(model: Model) -> Iterator[Problem]:
    """What one node reads and writes for all, no second one does besides it."""
    seen: dict[tuple[Any, ...], tuple[SparkNode, Job]] = {}
    found: dict[tuple[str, str], list[tuple[Job, bool]]] = {}
    for node in model.spark_nodes:
        for job in active(node):
            written = end(job, "output")
            local = written is not None and written[0] == "directory"
            if job.kind in READ_BACK or (end(job, "input") or ("topic",))[0] != "topic" or not reads(job) or local:
                continue  # each node has data of its own
            database = job.config.get("database")
            kept = (database.get("host"), database.get("dbname")) if isinstance(database, Mapping) else None
            servers = str(job.kafka.get("bootstrap.servers"))
            key = (job.kind, tuple(reads(job)), written, kept, servers)
            first, _ = seen.setdefault(key, (node, job))
            if first.name != node.name:
                found.setdefault((first.name, node.name), []).append((job, kept is not None))
    for (first_name, name), jobs in found.items():
        wrong, advice = _both(first_name, jobs), "say standby: true of one of the two, where the job's state reads it"
        place = "standby" if len(jobs) > 1 else jobs[0][0].variable
        yield Problem((name,), place, "JOB_TWICE", None, wrong, f"{advice}, or state: stopped", warning=True)


def _both(first: str, jobs: Sequence[tuple[Job, bool]]) -> str:
    """Return what comes of jobs that two hosts run; in a database one waits for the other, and rows stay exact."""
    written, waiting = ([job.name for job, by_database in jobs if by_database is kind] for kind in (False, True))
    if len(jobs) == 1:
        what = "one waits for the other" if waiting else "its result written twice"
        return f"runs on {first} too: each record is read there and here, and {what}"
    parts = [f"{', '.join(written)}, whose results are written twice"] if written else []
    parts += [f"{', '.join(waiting)}, of which one waits for the other"] if waiting else []
    return f"{first} and this host both run {', and '.join(parts)}"


def groups(model: Model) -> Iterator[Problem]:
    """Two jobs of one topic tell lag tools of their progress under two names."""
    seen: dict[tuple[str, str], tuple[SparkNode, Job]] = {}
    for node in model.spark_nodes:
        for job in active(node):
            group, said = job.config.get("group"), False
            for topic in reads(job) if group else ():
                first, other = seen.setdefault((str(group), topic), (node, job))
                if other.name != job.name and not said:  # of one job on two nodes JOB_TWICE is said
                    said = True
                    wrong = f"job {other.name} on {first.name} has the same: of {topic} it shows now one's progress, "
                    wrong += "now the other's"
                    place = f"{job.variable}.config.group"
                    yield node.problem(place, "JOB_GROUP", group, wrong, "give each a group of its own")


def nobody(model: Model) -> Iterator[Problem]:
    """A standby waits for a host that runs its jobs."""
    running = {job.name for node in model.spark_nodes for job in active(node)}
    waiting: dict[str, list[str]] = {}
    for node in model.spark_nodes:
        for job in node.jobs if node.inputs.on("standby") else ():
            waiting.setdefault(job.name, []).append(node.name)
    with_others = {job.name for node in model.spark_nodes if not node.inputs.on("standby") for job in node.jobs}
    lost: dict[tuple[str, ...], list[str]] = {}
    for name, hosts in waiting.items():
        if name not in running | with_others:
            lost.setdefault(tuple(hosts), []).append(name)
    for where, jobs in lost.items():
        wrong = f"every host of {', '.join(jobs)} waits for another to be lost, and none runs it"
        yield Problem(where, "standby", "JOB_STANDBY", True, wrong, "take it out of one of them", warning=True)
