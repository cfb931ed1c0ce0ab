"""Rules on what jobs read and write: folders, topics and databases, and records that come back to where they were."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_limits import limit
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_values import free
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jobs import (
    READ_BACK,
    active,
    dead_letters,
    end,
    reads,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.keystore_permissions import LOCATIONS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.sandbox_paths import hidden, services_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import Topic, topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Its folder says of each topic how far it is (docs/jobs/archive_events.md): jobs of other topics may share it.
BY_TOPIC = "archive_events"
RELAY = "relay"
# Jobs that write events, and what of them is the record's key (docs/jobs): many events have the same.
KEYS = {"generate_orders": "the order", "generate_readings": "the sensor", "publish_lines": "the file's name"}
# What Spark asks of executors, which a job in one process does not have.
ELSEWHERE = re.compile(
    r"spark\.(executor\.(memory|memoryOverhead|cores|instances|extraJavaOptions|defaultJavaOptions)|cores\.max"
    r"|dynamicAllocation\..+|yarn\..+|kubernetes\..+)"
)
MESSAGE = "max.message.bytes"

# What the unit lets its job write to (roles/spark_job); everything else is read-only or another /tmp.
WRITABLE = "/var/lib/spark-job"
WRITTEN = ("checkpoint", "output_directory")
Place = tuple[str, str]
"""Where records are: a cluster or a host, and the topic or directory there."""


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


def shared(model: Model) -> Iterator[Problem]:
    """A folder that a job writes is its own: each keeps there how far it is."""
    for node in model.spark_nodes:
        for one, other in combinations(active(node), 2):
            written = end(other, "output")
            if not written or written[0] != "directory" or end(one, "output") != written or one.name == other.name:
                continue
            alike = sorted({*reads(one)} & {*reads(other)}) if one.kind == other.kind == BY_TOPIC else ["all"]
            if alike:
                what = "" if alike == ["all"] else f", of {', '.join(alike)}"
                wrong = f"job {one.name} writes there as well{what}: the second is refused, or each spoils the other's"
                place, advice = f"{other.variable}.config.output_directory", "give each a directory of its own"
                yield node.problem(place, "JOB_OUTPUT_SHARED", written[1], wrong, advice)


def messages(model: Model) -> Iterator[Problem]:
    """What hands records on as they are sends them to a topic that takes as large ones."""
    made = [topic for topic in topics_of(model) if topic.made]
    sizes = {topic.name: topic.number(MESSAGE) or limit(model.brokers[0], "message.max.bytes") for topic in made}
    said = (topic for topic in made if topic.number(MESSAGE) is not None)
    declared = {topic.name for topic in said if topic.own(topic.property_place(MESSAGE)) != topic.variable}
    for node in model.spark_nodes:
        for job in node.jobs if sizes else ():
            written = (end(job, "output") or ("", ""))[1]
            for name in reads(job) if job.kind == RELAY else ():
                if sizes.get(name, 0) > sizes.get(written, sizes.get(name, 0)):
                    wrong = f"records of {name} are of up to {sizes[name]} bytes, and it takes {sizes[written]}"
                    wrong += ": a larger one stops the job"
                    advice = f"give {written} the same {MESSAGE}"
                    place = f"{job.variable}.config.output_topic"
                    default = name not in declared
                    yield node.problem(place, "JOB_MESSAGE", written, wrong, advice, warning=default)


def compacted(model: Model) -> Iterator[Problem]:
    """A topic of events keeps each of them: compaction takes all but the last of a key."""
    kept = {topic.name: topic for topic in topics_of(model) if topic.made and "compact" in topic.policy}
    writers: dict[str, dict[str, str]] = {}
    for node in model.spark_nodes:
        for job in node.jobs:
            written = (end(job, "output") or ("", ""))[1]
            if job.kind in KEYS and written in kept:
                writers.setdefault(written, {})[job.name] = KEYS[job.kind]
    for name, jobs in writers.items():
        listed = ", ".join(f"job {job}, whose key is {key}" for job, key in jobs.items())
        wrong = f"compacted, and written by {listed}: of its records only the last of each key would stay"
        place, advice = _compacted(kept[name])
        yield Problem(names(model.brokers), place, "TOPIC_COMPACTED", None, wrong, advice, warning=True)
    for name, those in _dead(model).items():
        if name in kept:
            wrong = f"compacted, and takes what does not fit of job {', '.join(those)}: Kafka refuses a record without "
            wrong += "a key there, which ends the job, and of those with one key only the last would stay"
            place, advice = _compacted(kept[name])
            yield Problem(names(model.brokers), place, "TOPIC_COMPACTED", None, wrong, advice)


def _compacted(topic: Topic) -> tuple[str, str]:
    """Return where a topic says that it is compacted, itself where that is said of all, and what to do."""
    said = topic.property_place("cleanup.policy")
    own = topic.own(said)
    return own, "use another profile, as event_log" if own == said else f"give it profile: event_log ({said} is of all)"


def _dead(model: Model) -> dict[str, dict[str, None]]:
    """Return the topics to which jobs send records that do not fit, with the jobs."""
    found: dict[str, dict[str, None]] = {}
    for node in model.spark_nodes:
        for job in node.jobs:
            for name in dead_letters(job) if reads(job) else ():
                found.setdefault(name, {})[job.name] = None
    return found


def local(model: Model) -> Iterator[Problem]:
    """A job runs in one process: nothing is said of others, and what it puts aside is not among what it keeps."""
    for node in model.spark_nodes:
        for job in node.jobs:
            spark = job.config.get("spark")
            for name, value in spark.items() if isinstance(spark, Mapping) else ():
                place = f"{job.variable}.config.spark[{name}]"
                if ELSEWHERE.fullmatch(str(name)):
                    wrong = "does nothing: the tasks of a job run in its driver, and it has no executors"
                    advice = "take it out; memory is spark.driver.memory, how many run at once spark.master"
                    yield node.problem(place, "JOB_SPARK_SUSPECT", None, wrong, advice, warning=True)
                kept = [job.config.get(key) for key in ("checkpoint", "input_directory", "output_directory")]
                aside = [path.strip() for path in str(value).split(",")]
                near = (
                    path
                    for path in kept
                    if isinstance(path, str) and path and any(below(one, path) for one in aside if one)
                )
                if name == "spark.local.dir" and (path := next(near, None)):
                    wrong = f"in {path}: what Spark puts aside would be taken for what is kept there"
                    yield node.problem(place, "JOB_CHECKPOINT_DATA", value, wrong, "put the two beside each other")


def database_connections(model: Model) -> Iterator[Problem]:
    """A database lets in all jobs at once, and who makes their tables."""
    logins = [job.config.get("database") for node in model.spark_nodes for job in active(node)]
    told = [str(login.get("host")) for login in logins if isinstance(login, Mapping)]
    for machine in (model.machines[name] for name in model.groups.get("database", ())):
        jobs = sum(host in {*map(str, machine.addresses), machine.name} for host in told)
        version, said = machine.inputs.text("postgresql_version") or "", machine.inputs.mapping("postgresql_config")
        known = {name.lower(): spec for name, spec in definitions(version).items()}
        left = free({str(name).lower(): value for name, value in said.items()}, known)
        if jobs and 0 < left <= jobs:
            wrong = f"leaves {left:.0f} for the jobs ({jobs}) and who makes their tables: some are turned away"
            advice = f"raise it by {jobs + 1 - left:.0f} at least, and by one for each other reader"
            shown = next((value for name, value in said.items() if str(name).lower() == "max_connections"), 100)
            yield machine.problem("postgresql_config[max_connections]", "DATABASE_CONNECTIONS", shown, wrong, advice)


@dataclass(frozen=True)
class Way:
    """A job that takes records from one place to another."""

    source: Place
    sink: Place
    job: str
    kind: str
    node: str
    dead: bool
    """Whether it takes those alone that do not fit."""


def loops(model: Model) -> Iterator[Problem]:
    """Several jobs do not hand records round: they would breed without end. Of one alone the job itself says it."""
    ours = {listener.advertised for broker in model.brokers for listener in broker.listeners}
    ways = [way for node in model.spark_nodes for job in active(node) for way in _ways(node, job, ours)]
    said: set[frozenset[str]] = set()
    for last in sorted(reversed(ways), key=lambda one: one.kind != RELAY):  # it, or who was added last, closes it
        way = _back(last, ways)
        jobs = frozenset(one.job for one in way)
        if len(jobs) < 2 or jobs in said or any(jobs >= other for other in said):
            continue
        said.add(jobs)
        told = "; ".join(f"{one.job} ({one.node}) hands {one.source[1]} on to {one.sink[1]}" for one in way[1:])
        what = "records that do not fit" if any(one.dead for one in way) else "records"
        wrong = f"what it reads from {last.source[1]} comes back there, for {told}: {what} would go round without end"
        advice = "write to where none of these jobs reads, or stop one of them"
        hosts = tuple(dict.fromkeys(one.node for one in ways if (one.job, one.sink) == (last.job, last.sink)))
        place = f"spark_job_jobs[{last.job}]"
        warning = any(one.dead for one in way)
        yield Problem(hosts, place, "JOB_LOOP", last.sink[1], wrong, advice, warning)


def _ways(node: SparkNode, job: Job, ours: set[str]) -> Iterator[Way]:
    if job.kind in READ_BACK:
        return
    servers = {entry.strip() for entry in str(job.kafka.get("bootstrap.servers")).split(",")}
    cluster = "" if servers & ours else ",".join(sorted(servers))
    source, sink = end(job, "input"), end(job, "output")
    sources = [(cluster, topic) for topic in reads(job)]
    sources += [(node.name, source[1])] if source and source[0] == "directory" else []
    sinks = [((node.name if sink[0] == "directory" else cluster, sink[1]), False)] if sink else []
    for one in sources:
        for other, unfit in [*sinks, *(((cluster, topic), True) for topic in dead_letters(job))]:
            if one != other:
                yield Way(one, other, job.name, job.kind, node.name, unfit)


def _back(first: Way, ways: list[Way]) -> list[Way]:
    """Return the shortest way on which records come back to where a job took them, with it before all others."""
    known, found = {first.sink}, [[first]]
    for path in found:  # which grows: all of one length before those that are longer
        for way in ways:
            if way.source == path[-1].sink:
                if way.sink == first.source:
                    return [*path, way]
                if way.sink not in known:
                    known.add(way.sink)
                    found.append([*path, way])
    return []
