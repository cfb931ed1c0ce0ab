"""Rules on jobs as the cluster, their node and other nodes see them: login, listener, memory, tasks, standbys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import (
    LEAST_MEMORY,
    UNITS,
    overrides,
    size,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import plain_path, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Where jobs read and write when not told (spark_jobs/README.md).
TOPICS = {
    "archive_events": (None, None),
    "average_readings": ("readings", "readings-averages"),
    "count_words": ("streams-plaintext-input", "streams-wordcount-output"),
    "generate_orders": (None, "orders"),
    "generate_readings": (None, "readings"),
    "generate_shipments": (None, "shipments"),
    "join_shipments": ("orders", "orders-shipped"),
    "measure_latency": (None, "canaries"),
    "project_orders": ("orders", None),
    "publish_lines": (None, "streams-plaintext-input"),
    "relay": (None, None),
}
# Of jobs that read more than one topic: the keys of the others, and their topics when they are not told.
MORE_TOPICS = {"join_shipments": {"shipments_topic": "shipments"}}
# Keys that name topics to read, and have no default.
MORE_KEYS = {"archive_events": "input_topics", "measure_latency": "arrives_topic"}
# Jobs that read what they write, unless they are told another topic; without Spark, and in no group.
READ_BACK = ("measure_latency",)
# Where they send records that do not fit.
DEAD_LETTERS = {
    "average_readings": ("readings-dead",),
    "join_shipments": ("orders-dead", "shipments-dead"),
    "project_orders": ("orders-dead",),
}
SPARK = (
    "spark.driver.memory",
    "spark.driver.memoryOverhead",
    "spark.driver.maxResultSize",
    "spark.driver.extraJavaOptions",
    "spark.driver.defaultJavaOptions",
    "spark.executor.memory",
    "spark.local.dir",
    "spark.master",
    "spark.ui.enabled",
    "spark.ui.port",
    "spark.memory.fraction",
    "spark.memory.offHeap.size",
)
HEAPS = ("spark.driver.memory", "spark.executor.memory")  # of these Spark's launcher makes -Xmx as they are
MEMORY = (*HEAPS, "spark.driver.memoryOverhead", "spark.memory.offHeap.size")
PORT = r"0|102[4-9]|10[3-9]\d|1[1-9]\d\d|[2-9]\d{3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]"
NUMBER, SWITCH, SHARE = r"[1-9]\d*", "true|false", r"0?\.\d+|0|1|[01]\.0*"
# Other settings of Spark (docs/configuration.md of Spark): how their values look, in words too.
FORMS = {
    "spark.driver.cores": (NUMBER, "a whole number"),
    "spark.driver.maxResultSize": (r"\d+[kmgtp]?b?", "a size, as 1g"),
    "spark.memory.fraction": (SHARE, "a number from 0 to 1"),
    "spark.memory.storageFraction": (SHARE, "a number from 0 to 1"),
    "spark.memory.offHeap.enabled": (SWITCH, "true or false"),
    "spark.sql.adaptive.enabled": (SWITCH, "true or false"),
    "spark.sql.shuffle.partitions": (NUMBER, "a whole number"),
    "spark.default.parallelism": (NUMBER, "a whole number"),
    "spark.ui.enabled": (SWITCH, "true or false"),
    "spark.ui.port": (PORT, "a port from 1024 to 65535, or 0 for any"),
}
LEAST_DRIVER = 471859200  # bytes (org.apache.spark.memory.UnifiedMemoryManager)
DRIVER = 2**30  # spark.driver.memory where it is not said
OF_NODE = "spark_job_memory_max"
MASTER, PARALLELISM = "spark.master", "spark.default.parallelism"
REAL_TIME = "real-time"  # millrace_jobs.ends
STOP_TIMEOUT = "spark_job_stop_timeout"
INTERVAL = re.compile(r"(\d{1,9}) (millisecond|second|minute|hour)s?")  # millrace_jobs.checks.interval
SECONDS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600}


def active(node: SparkNode) -> list[Job]:
    """Return the jobs that run; a standby does not."""
    stopped = {
        str(entry.get("name")) for entry in node.inputs.entries("spark_job_jobs") if entry.get("state") == "stopped"
    }
    return [job for job in node.jobs if job.name not in stopped]


def end(job: Job, side: str) -> tuple[str, str] | None:
    """Return what a job reads (input) or writes (output): kind (directory, topic) and name; None for nothing known."""
    for kind in ("directory", "topic"):
        value = job.config.get(f"{side}_{kind}")
        if isinstance(value, str) and value:
            return kind, plain_path(value) if kind == "directory" else value
    default = TOPICS.get(job.kind, (None, None))[side == "output"]
    return ("topic", default) if default else None


def reads(job: Job) -> list[str]:
    """Return the topics that a job reads."""
    source = end(job, "input")
    found = [source[1]] if source and source[0] == "topic" else []
    said = job.config.get(MORE_KEYS.get(job.kind, ""))
    found += [str(name) for name in (said if isinstance(said, list) else [said]) if name]
    for key, default in MORE_TOPICS.get(job.kind, {}).items():
        found.append(str(job.config.get(key) or default))
    back = end(job, "output") if job.kind in READ_BACK and not found else None
    if back:
        found.append(back[1])
    return list(dict.fromkeys(found))


def dead_letters(job: Job) -> Sequence[str]:
    """Return the topics to which a job sends records that do not fit."""
    if job.kind in READ_BACK:
        return ()
    given = job.config.get("dead_letter_topic")
    return (str(given),) if given else DEAD_LETTERS.get(job.kind, ())


def consumer_groups(model: Model) -> Iterator[Problem]:
    """Two jobs of one consumer group would each get a part of the records."""
    holders: dict[str, tuple[SparkNode, Job]] = {}
    for node in model.spark_nodes:
        for job in active(node):
            group = job.kafka.get("group.id")
            if not group or (end(job, "input") or ("", ""))[0] != "topic":
                continue
            first, other = holders.setdefault(str(group), (node, job))
            if (first.name, other.name) != (node.name, job.name):
                wrong = f"job {other.name} on {first.name} has the same: each would disturb the other's reading"
                place = f"{job.variable}.config.kafka[group.id]"
                yield node.problem(place, "JOB_GROUP", group, wrong, "leave it out, or stop one of the two")


def connections(model: Model) -> Iterator[Problem]:
    """A job speaks to a listener for clients, in its protocol and with one of its mechanisms."""
    if not model.brokers or not model.brokers[0].listeners:
        return
    inner = str(model.brokers[0].inter_broker)
    places = {item.advertised: item for broker in model.brokers for item in broker.listeners}
    outer = [item for item in model.brokers[0].listeners if item.name != inner] or model.brokers[0].listeners
    for node in model.spark_nodes:
        client = node.inputs.mapping("kafka_client")
        ours = [entry.strip() for entry in str(client.get("bootstrap.servers") or "").split(",")]
        for job in node.jobs:
            known = any(found and found[0] == "topic" for found in (end(job, "input"), end(job, "output")))
            if not known and (job.kind in TOPICS or not job.kafka):
                continue
            told = [entry.strip() for entry in str(job.kafka.get("bootstrap.servers") or "").split(",")]
            asked = [places[entry] for entry in told if entry in places]
            alone = len(model.brokers[0].listeners) == 1
            if any(item.name == inner for item in asked) and not alone:
                wrong = "the listener of the brokers among themselves, where clients are not served"
                place, advice = f"{job.variable}.config.kafka[bootstrap.servers]", "name a listener for clients"
                yield node.problem(place, "JOB_LISTENER", inner, wrong, advice)
            elif asked or told == ours:  # else it is another cluster that the job speaks to
                yield from _connection(node, job, list({item.name: item for item in asked or outer}.values()))


def _connection(node: SparkNode, job: Job, asked: Sequence[Listener]) -> Iterator[Problem]:
    place, names = f"{job.variable}.config.kafka", " and ".join(item.name for item in asked)
    protocol = str(job.kafka.get("security.protocol") or "PLAINTEXT").upper()
    fitting = [item for item in asked if item.protocol == protocol]
    if not fitting:
        wanted = " or ".join(sorted({item.protocol for item in asked}))
        wrong = f"listener {names} speaks {wanted}"
        yield node.problem(f"{place}[security.protocol]", "JOB_PROTOCOL", protocol, wrong, f"use {wanted}")
    elif protocol.startswith("SASL"):
        mechanism = str(job.kafka.get("sasl.mechanism") or "GSSAPI")
        taken = sorted({name for item in fitting for name in item.mechanisms})
        if taken and mechanism not in taken:
            wrong, key = f"listener {names} takes {', '.join(taken)}", "sasl.mechanism"
            advice = "use one of them, or add it to sasl_mechanisms"
            if not job.kafka.get("sasl.jaas.config"):
                wrong, key = f"the job has no login, and {wrong}", key if job.kafka.get(key) else "sasl.jaas.config"
                advice = "add it: kafka_client | combine(kafka_users | millrace.kafka.kafka_login('<user>'))"
            yield node.problem(f"{place}[{key}]", "JOB_MECHANISM", job.kafka.get(key), wrong, advice)


def memory(model: Model) -> Iterator[Problem]:
    """What jobs ask for is written as Spark reads it, and fits into their unit and their node."""
    for node in model.spark_nodes:
        limit, total = node.inputs.get("spark_job_memory_max"), size(node.inputs.get("memory"))
        total = None if total is not None and total < LEAST_MEMORY else total  # said as MEMORY_INVALID
        if not re.fullmatch(r"infinity|\d+(\.\d+)?[KMGT]?|\d+(\.\d+)?%", str(limit)):
            wrong, advice = "no size as systemd reads it", "write it as 4G, 50% or infinity"
            yield node.problem("spark_job_memory_max", "JOB_MEMORY_LIMIT", limit, wrong, advice)
        too_much: dict[str, list[tuple[Job, Any, int]]] = {}
        for job in node.jobs:
            spark = job.config.get("spark")
            settings = spark if isinstance(spark, Mapping) else {}
            yield from _spark(node, job, settings)
            driver, shown = _driver(settings), settings.get(HEAPS[0])
            where, (most, place) = f"{job.variable}.config.spark[{HEAPS[0]}]", limit_of(node, job, limit)
            if driver < LEAST_DRIVER:
                wrong = f"{driver // UNITS['m']} MiB, and Spark does not start below 450"
                yield node.problem(where, "JOB_MEMORY_SMALL", shown, wrong, "write it as 1g")
            if most is not None and driver >= most:
                too_much.setdefault(place, []).append((job, shown, most))
        for place, jobs in too_much.items():
            yield from over(node, place, jobs)
        wanted = asked(node)
        if total is not None and sum(wanted.values()) >= total:
            wrong = f"its jobs ask for {sum(wanted.values()) / UNITS['g']:.1f}g together ({', '.join(wanted)})"
            wrong += ", which leaves nothing for the host" if sum(wanted.values()) == total else ""
            advice = "lower their spark.driver.memory, or move one to another node"
            yield node.problem("memory", "JOB_MEMORY_SUM", node.inputs.get("memory"), wrong, advice)


def asked(node: SparkNode) -> dict[str, int]:
    """Return the bytes that each job which runs asks for."""
    return {job.name: _driver(job.config.get("spark")) for job in active(node)}


def _driver(spark: Any) -> int:
    """Return the bytes of a job's driver; as many as Spark takes where they are not said, or wrongly."""
    told = str(spark.get(HEAPS[0])) if isinstance(spark, Mapping) else ""
    return DRIVER if told.strip().isdigit() else heap(told) or DRIVER  # a number alone is said as JOB_MEMORY


def _spark(node: SparkNode, job: Job, settings: Mapping[Any, Any]) -> Iterator[Problem]:
    master = settings.get("spark.master")
    if master is not None and not re.fullmatch(r"local(\[(0*[1-9]\d*|\*)(,0*[1-9]\d*)?\])?", str(master)):
        none = re.fullmatch(r"local\[\d+(,\d+)?\]", str(master))
        wrong = "jobs run in their unit, which no cluster of Spark reaches"
        wrong = "none to run tasks in, or none that a task may take, and the job would not start" if none else wrong
        place = f"{job.variable}.config.spark[spark.master]"
        yield node.problem(place, "JOB_MASTER", master, wrong, "leave it out, or write local[4]")
    for name, value in settings.items():
        place = f"{job.variable}.config.spark[{name}]"
        if name in MEMORY and heap(value) is None:
            wrong, advice = "no size as Spark reads it, and the job would not start", "write it as 512m or 4g"
            yield node.problem(place, "JOB_MEMORY", value, wrong, advice)
        elif name in HEAPS and re.fullmatch(r"\d+", str(value).strip()):
            wrong = "without a unit it is bytes to the JVM, which would not start"
            advice = f"write {value}m if MiB were meant, as 4g"
            yield node.problem(place, "JOB_MEMORY", value, wrong, advice)
        elif name in HEAPS and not re.fullmatch(r"\d+[kmgt]", (text := str(value).strip()).lower()):
            wrong = "Spark hands it to the JVM as it is, which takes one letter and would not start"
            advice = "write it as 512m or 4g" if text[:-1].isdigit() else f"write {text[:-1]}"
            yield node.problem(place, "JOB_MEMORY", value, wrong, advice)
        if (form := FORMS.get(str(name))) and not re.fullmatch(form[0], str(value).strip().lower()):
            wrong, advice = "Spark would not take it so, and the job would not start", f"write {form[1]}"
            yield node.problem(place, "JOB_SPARK_VALUE", value, wrong, advice)
        near = nearest(str(name), SPARK)
        if near and str(name) not in SPARK and str(name).startswith(near.rpartition(".")[0].rpartition(".")[0]):
            wrong = "Spark takes any name, and reads none like this"
            yield node.problem(place, "JOB_SPARK_SUSPECT", None, wrong, f"did you mean {near}?", warning=True)


def heap(value: Any) -> int | None:
    """Return bytes of a size as Spark reads it: a number alone is MiB; None for what is none."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", str(value).strip().lower())
    return int(found.group(1)) * UNITS[found.group(2) or "m"] if found else None


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
        return [node.problem(place, code, node.inputs.get(place), wrong, f"raise it, or lower {HEAPS[0]} of the jobs")]
    return [
        node.problem(
            f"{job.variable}.config.spark[{HEAPS[0]}]",
            code,
            shown,
            f"the unit ends at {most >> 20} MiB ({place}), {part}",
            f"lower it, or raise {place}",
        )
        for job, shown, most in jobs
    ]


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
            seconds = int(interval[1]) * SECONDS[interval[2]]
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


def progress_groups(model: Model) -> Iterator[Problem]:
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
