"""Rules on what Spark jobs read and write.

Subjects: directories, topics, databases, and records that several jobs pass on in a circle.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_limits import limit
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_values import free_connections
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.keystore_permissions import LOCATIONS
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.sandbox_paths import (
    HOMES,
    PRIVATE,
    hidden,
    more_writable,
    services_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import Topic, topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, count_of

RELAY = "relay"
# Jobs that write events, and the key of their records (docs/jobs): many events have the same key.
KEYS = {"generate_orders": "the order", "generate_readings": "the sensor", "publish_lines": "the file's name"}
# Settings of Spark for executors, which a job in one process does not have.
OF_EXECUTORS = re.compile(
    r"spark\.(executor\.(memory|memoryOverhead|cores|instances|extraJavaOptions|defaultJavaOptions)|cores\.max"
    r"|dynamicAllocation\..+|yarn\..+|kubernetes\..+)"
)
MESSAGE = "max.message.bytes"
# The directory to which the unit lets its job write (roles/spark_job); the rest is read-only or a private /tmp.
WRITABLE = "/var/lib/spark-job"
WRITTEN = ("checkpoint", "output_directory")
LOCAL_DIR = "spark.local.dir"


def active(node: SparkNode) -> list[Job]:
    """Return the jobs of a host whose state is neither stopped nor absent."""
    stopped = {
        str(entry.get("name")) for entry in node.inputs.entries("spark_job_jobs") if entry.get("state") == "stopped"
    }
    return [job for job in node.jobs if job.name not in stopped]


JOB_DIRECTORY = ProblemKind(
    "JOB_DIRECTORY",
    "the job's unit may write only below {writable}",
    "use a directory below /var/lib/spark-job, or add this directory to ReadWritePaths in unit_overrides of the job",
)
JOB_DIRECTORY_HIDDEN = JOB_DIRECTORY.variant(
    message="the unit does not see the host's {folder}: files of the job would not remain there",
    advice="use a directory below /var/lib/spark-job, or add another directory to ReadWritePaths in unit_overrides "
    "of the job",
)
JOB_DIRECTORY_UNREADABLE = JOB_DIRECTORY.variant(
    message="the unit does not see the host's {folder}: the job would find nothing there",
    advice="use a path below /var/lib/spark-job or /srv, or add this path to BindReadOnlyPaths in unit_overrides of "
    "the job",
)
JOB_DIRECTORY_PARENT = JOB_DIRECTORY.variant(
    message="contains .., which leads elsewhere if a folder before it is a link", advice="write {plain}"
)
JOB_DIRECTORY_RELATIVE = JOB_DIRECTORY.variant(
    message="not an absolute path: the job runs in /, where it may not write (Spark replaces no ~)",
    advice="write an absolute path, such as /var/lib/spark-job/{job}/tmp",
)
JOB_CHECKPOINT_NESTED = ProblemKind(
    "JOB_CHECKPOINT_NESTED",
    "the same directory as {other} of job {job}, or one is inside the other",
    "give each job its own checkpoint, such as /var/lib/spark-job/<job>/checkpoint",
)


def directories(model: Model) -> Iterator[Problem]:
    """Yield a problem for each directory that a job cannot read or write, because its systemd unit denies it.

    Also yield a problem if the checkpoint of a job is inside the checkpoint of another job.
    """
    for node in model.spark_nodes:
        checkpoints: list[tuple[Job, str]] = []
        for job in node.jobs:
            services = services_of(node, "spark_job_unit_overrides", f"{job.variable}.unit_overrides")
            writable = [WRITABLE, *more_writable(services)]
            for key in WRITTEN:
                path = job.config.get(key)
                if not isinstance(path, str) or not path.startswith("/"):
                    continue  # reported by the job itself
                plain = os.path.normpath(path)
                folder, inside = hidden(plain, services), below(plain, *writable)
                if not inside or ".." in path.split("/") or folder:
                    kind = JOB_DIRECTORY_HIDDEN if folder else JOB_DIRECTORY_PARENT if inside else JOB_DIRECTORY
                    allowed, place = " and ".join(writable), f"{job.variable}.config.{key}"
                    yield node.report(kind, place, path, folder=folder, writable=allowed, plain=plain)
                elif key == "checkpoint":
                    checkpoints.append((job, path))
            yield from _unreadable(node, job, services)
            yield from _temporary(node, job, writable)
        for (job, path), (other_job, other_path) in combinations(checkpoints, 2):
            nested = below(path, other_path) or below(other_path, path)
            if nested and path != other_path and job.name != other_job.name:
                place = f"{other_job.variable}.config.checkpoint"
                yield node.report(JOB_CHECKPOINT_NESTED, place, other_path, job=job.name, other=path)


def _unreadable(node: SparkNode, job: Job, services: list[Mapping[Any, Any]]) -> Iterator[Problem]:
    """Yield a problem for each path that a job reads, but that its systemd unit hides from it.

    `services` are the [Service] sections that apply to the unit.
    """
    paths: dict[str, Any] = {"input_directory": job.config.get("input_directory")}
    for name in ("kafka", "database"):
        login = job.config.get(name)
        paths |= {f"{name}[{key}]": login.get(key) for key in LOCATIONS} if isinstance(login, Mapping) else {}
    for key, path in paths.items():
        if isinstance(path, str) and path.startswith("/") and (folder := hidden(path, services)):
            yield node.report(JOB_DIRECTORY_UNREADABLE, f"{job.variable}.config.{key}", path, folder=folder)


def _temporary(node: SparkNode, job: Job, writable: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each directory in spark.local.dir that is not absolute, or to which the job may not write.

    `writable` are the directories to which the job's unit lets it write, besides the unit's own /tmp.
    """
    spark = job.config.get("spark")
    value = spark.get(LOCAL_DIR) if isinstance(spark, Mapping) else None
    for path in [part.strip() for part in value.split(",")] if isinstance(value, str) else ():
        place = f"{job.variable}.config.spark[{LOCAL_DIR}]"
        if not path.startswith("/"):
            yield node.report(JOB_DIRECTORY_RELATIVE, place, path, job=job.name)
        elif below(path, *HOMES) or not below(path, *writable, *PRIVATE):
            yield node.report(JOB_DIRECTORY, place, path, writable=" and ".join(writable))


JOB_OUTPUT_SHARED = ProblemKind(
    "JOB_OUTPUT_SHARED",
    "job {job} writes to the same directory: the second job is rejected, or each corrupts the data of the other",
    "give each job its own directory",
)
JOB_OUTPUT_SHARED_TOPICS = JOB_OUTPUT_SHARED.variant(
    message="job {job} writes to the same directory and also reads {topics}: the second job is rejected, or each "
    "corrupts the data of the other"
)


def shared_outputs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each pair of jobs on a host that write to the same directory.

    Each job also stores its progress in its output directory.
    """
    for node in model.spark_nodes:
        for job, other in combinations(active(node), 2):
            directories = other.uses.output_directories
            shared = [path for path in directories if path in job.uses.output_directories and job.name != other.name]
            by_topic = job.uses.archive and other.uses.archive
            topics = sorted({*job.reads} & {*other.reads})
            for path in shared if topics or not by_topic else ():
                kind = JOB_OUTPUT_SHARED_TOPICS if by_topic else JOB_OUTPUT_SHARED
                place = f"{other.variable}.config.{directories[path]}"
                yield node.report(kind, place, path, job=job.name, topics=topics)


JOB_MESSAGE = ProblemKind(
    "JOB_MESSAGE",
    "this topic accepts records up to {output_bytes} bytes, but records of {topic} may have {input_bytes}: a larger "
    "record stops the job",
    "set max.message.bytes of {output} to at least {input_bytes}",
)


def message_sizes(model: Model) -> Iterator[Problem]:
    """Yield a problem for each relay (a job that copies records) that may read larger records than it can write.

    This is so if max.message.bytes of the relay's output topic is less than max.message.bytes of an input topic.
    """
    made = [topic for topic in topics_of(model) if topic.present]
    sizes = {topic.name: topic.number(MESSAGE) or limit(model.brokers[0], "message.max.bytes") for topic in made}
    sized = (topic for topic in made if topic.number(MESSAGE) is not None)
    declared = {topic.name for topic in sized if topic.own_place(topic.property_place(MESSAGE)) != topic.variable}
    for node in model.spark_nodes:
        for job in node.jobs if sizes else ():
            for name, written in product(job.reads, job.writes) if job.kind == RELAY else ():
                if sizes.get(name, 0) > sizes.get(written, sizes.get(name, 0)):
                    yield node.report(
                        JOB_MESSAGE,
                        f"{job.variable}.config.output_topic",
                        written,
                        warning=name not in declared,
                        topic=name,
                        output=written,
                        input_bytes=sizes[name],
                        output_bytes=sizes[written],
                    )


TOPIC_COMPACTED = ProblemKind(
    "TOPIC_COMPACTED",
    "the topic is compacted, but job {jobs} sends it records that the job cannot process: Kafka rejects records "
    "without a key, which stops the job, and compaction keeps only the last record of a key",
    "use another profile, such as event_log",
)
WRITE_POLICY = "write delete there, and profile: event_log for this topic"
USE_PROFILE = "set profile: event_log for this topic ({place} is for all topics)"
TOPIC_COMPACTED_POLICY = TOPIC_COMPACTED.variant(advice=WRITE_POLICY)
TOPIC_COMPACTED_FOR_ALL = TOPIC_COMPACTED.variant(advice=USE_PROFILE)
TOPIC_COMPACTED_EVENTS = TOPIC_COMPACTED.variant(
    message="the topic is compacted, but holds events (written by {writers}): compaction keeps only the last event "
    "of a key"
)
TOPIC_COMPACTED_EVENTS_POLICY = TOPIC_COMPACTED_EVENTS.variant(advice=WRITE_POLICY)
TOPIC_COMPACTED_EVENTS_FOR_ALL = TOPIC_COMPACTED_EVENTS.variant(advice=USE_PROFILE)


def compacted_topics(model: Model) -> Iterator[Problem]:
    """Yield a problem for each compacted topic that holds events or dead letters.

    Compaction would remove all records of a key but the last.
    """
    compacted = {topic.name: topic for topic in topics_of(model) if topic.present and "compact" in topic.policy}
    writers: dict[str, dict[str, str]] = {}
    for node in model.spark_nodes:
        for job in node.jobs:
            for name in compacted.keys() & job.writes if job.kind in KEYS else ():
                writers.setdefault(name, {})[job.name] = KEYS[job.kind]
    hosts = names(model.brokers)
    for name, jobs in writers.items():
        texts = [f"job {job}, whose key is {key}" for job, key in jobs.items()]
        kinds = (TOPIC_COMPACTED_EVENTS, TOPIC_COMPACTED_EVENTS_POLICY, TOPIC_COMPACTED_EVENTS_FOR_ALL)
        place, kind = _policy_place(compacted[name], *kinds)
        variable = compacted[name].own_place(place)
        yield kind.problem(hosts, variable, warning=True, writers=texts, place=place)
    for name, senders in _dead_letter_jobs(model).items():
        if name in compacted:
            kinds = (TOPIC_COMPACTED, TOPIC_COMPACTED_POLICY, TOPIC_COMPACTED_FOR_ALL)
            place, kind = _policy_place(compacted[name], *kinds)
            yield kind.problem(hosts, compacted[name].own_place(place), jobs=list(senders), place=place)


def _policy_place(
    topic: Topic, of_profile: ProblemKind, of_config: ProblemKind, for_all: ProblemKind
) -> tuple[str, ProblemKind]:
    """Return where a topic's cleanup.policy is set in the inventory, and the kind of problem for this place.

    The topic's profile sets it, its own `config`, or kafka_topic_defaults, for all topics.
    """
    place = topic.property_place("cleanup.policy")
    if topic.own_place(place) != place:
        return place, for_all
    return place, of_profile if place.endswith(".profile") else of_config


def _dead_letter_jobs(model: Model) -> dict[str, dict[str, None]]:
    """Return {dead-letter topic: jobs that send records to the topic}.

    The jobs are a dict {job name: None}, used as a set that keeps the order.
    """
    jobs: dict[str, dict[str, None]] = {}
    for node in model.spark_nodes:
        for job in node.jobs:
            for name in job.dead_letters:
                jobs.setdefault(name, {})[job.name] = None
    return jobs


JOB_SPARK_SUSPECT = ProblemKind(
    "JOB_SPARK_SUSPECT",
    "Spark accepts any name, but reads no setting of this name",
    "did you mean {near}?",
    warning=True,
)
JOB_SPARK_SUSPECT_EXECUTOR = JOB_SPARK_SUSPECT.variant(
    message="has no effect: the tasks of a job run in its driver, without executors",
    advice="remove it, and use spark.driver.memory for memory, or spark.master for the number of parallel tasks",
)
JOB_CHECKPOINT_DATA = ProblemKind(
    "JOB_CHECKPOINT_DATA",
    "inside {path}: the job would read Spark's temporary files as its data",
    "use a directory outside {path}",
)


def local_files(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Spark setting of executors, which has no effect because jobs have no executors.

    Also yield a problem if spark.local.dir, the directory of Spark's temporary files, is a directory of the job
    (checkpoint, input, output), or is inside one.
    """
    for node in model.spark_nodes:
        for job in node.jobs:
            spark = job.config.get("spark")
            for name, value in spark.items() if isinstance(spark, Mapping) else ():
                place = f"{job.variable}.config.spark[{name}]"
                if OF_EXECUTORS.fullmatch(str(name)) and not job.cluster:
                    yield node.report(JOB_SPARK_SUSPECT_EXECUTOR, place)
                data = [job.config.get(key) for key in ("checkpoint", "input_directory", "output_directory")]
                temporary = [path.strip() for path in str(value).split(",")]
                around = (
                    path
                    for path in data
                    if isinstance(path, str) and path and any(below(folder, path) for folder in temporary if folder)
                )
                if name == LOCAL_DIR and (path := next(around, None)):
                    yield node.report(JOB_CHECKPOINT_DATA, place, value, path=path)


DATABASE_CONNECTIONS = ProblemKind(
    "DATABASE_CONNECTIONS",
    "{jobs} and a migration need more than the unreserved connections ({free}): the server would reject some of them",
    "raise max_connections by at least {missing}, and by 1 for each other client",
)


def database_connections(model: Model) -> Iterator[Problem]:
    """Yield a problem for each database server whose max_connections is too low for its jobs plus a migration."""
    logins = [job.config.get("database") for node in model.spark_nodes for job in active(node)]
    hosts = [str(login.get("host")) for login in logins if isinstance(login, Mapping)]
    for machine in (model.machines[name] for name in model.groups.get("database", ())):
        jobs = sum(host in {*map(str, machine.addresses), machine.name} for host in hosts)
        version, config = machine.inputs.text("postgresql_version") or "", machine.inputs.mapping("postgresql_config")
        specs = {name.lower(): spec for name, spec in definitions(version).items()}
        free = free_connections({str(name).lower(): value for name, value in config.items()}, specs)
        if jobs and 0 < free <= jobs:
            value = next((value for name, value in config.items() if str(name).lower() == "max_connections"), 100)
            place, missing = "postgresql_config[max_connections]", f"{jobs + 1 - free:.0f}"
            yield machine.report(
                DATABASE_CONNECTIONS, place, value, free=f"{free:.0f}", jobs=count_of(jobs, "job"), missing=missing
            )


Place = tuple[str, str]
"""Where records are: (cluster or host, topic or directory there)."""


@dataclass(frozen=True)
class Flow:
    """The flow of records of one job, from a place that the job reads (source) to a place that it writes (sink).

    A place is (cluster or host, topic or directory).
    """

    source: Place
    sink: Place
    job: str
    kind: str
    node: str
    dead: bool
    """True if the sink is a dead-letter topic: it gets only records that the job cannot process."""


JOB_LOOP = ProblemKind(
    "JOB_LOOP",
    "this job copies records of {topic} to {output}, and they return ({path}): they would circulate without end",
    "write to a topic that none of these jobs reads, or stop one of the jobs",
)
JOB_LOOP_DEAD_LETTERS = JOB_LOOP.variant(
    message="records that this job reads from {topic} return to {topic} if they cannot be processed ({path}): they "
    "would circulate without end"
)


def loops(model: Model) -> Iterator[Problem]:
    """Yield a problem for each loop in which several jobs would pass the same records on without end.

    The configuration check of the job itself reports a single job that writes to its own input.
    """
    own_cluster = {listener.advertised for broker in model.brokers for listener in broker.listeners}
    flows = [flow for node in model.spark_nodes for job in active(node) for flow in _flows(node, job, own_cluster)]
    reported: set[frozenset[str]] = set()
    # A relay, or else the job that is declared last, closes the loop: it is the one that is reported.
    for last in sorted(reversed(flows), key=lambda flow: flow.kind != RELAY):
        loop = _loop(last, flows)
        jobs = frozenset(flow.job for flow in loop)
        if len(jobs) < 2 or jobs in reported or any(jobs >= other for other in reported):
            continue
        reported.add(jobs)
        path = ", ".join(f"{flow.job} on {flow.node} copies {flow.source[1]} to {flow.sink[1]}" for flow in loop[1:])
        dead = any(flow.dead for flow in loop)
        hosts = tuple(dict.fromkeys(flow.node for flow in flows if (flow.job, flow.sink) == (last.job, last.sink)))
        kind = JOB_LOOP_DEAD_LETTERS if dead else JOB_LOOP
        place = f"spark_job_jobs[{last.job}]"
        yield kind.problem(
            hosts, place, last.sink[1], warning=dead, topic=last.source[1], output=last.sink[1], path=path
        )


def _flows(node: SparkNode, job: Job, own_cluster: set[str]) -> Iterator[Flow]:
    """Yield a Flow from each input of a job to its output, and to each of its dead-letter topics.

    `own_cluster` has the "address:port" of all listeners of the declared brokers.
    """
    servers = {entry.strip() for entry in str(job.kafka.get("bootstrap.servers")).split(",")}
    cluster = "" if servers & own_cluster else ",".join(sorted(servers))
    uses = job.uses
    sources = [(cluster, topic) for topic in uses.reads] if uses.spark else []  # else it passes on no record
    sources += [(node.name, path) for path in uses.input_directories]
    sinks = [((cluster, topic), False) for topic in uses.writes]
    sinks += [((node.name, path), False) for path in uses.output_directories]
    for start in sources:
        for place, dead in [*sinks, *(((cluster, topic), True) for topic in uses.dead_letters)]:
            if start != place:
                yield Flow(start, place, job.name, job.kind, node.name, dead)


def _loop(first: Flow, flows: list[Flow]) -> list[Flow]:
    """Return the shortest chain of flows that begins with `first` and ends at its source; [] if there is none."""
    reached, paths = {first.sink}, [[first]]
    for path in paths:  # the list grows: shorter paths come first
        for flow in flows:
            if flow.source == path[-1].sink:
                if flow.sink == first.source:
                    return [*path, flow]
                if flow.sink not in reached:
                    reached.add(flow.sink)
                    paths.append([*path, flow])
    return []
