"""Rules on Spark jobs in their environment.

Subjects: consumer groups, logins to Kafka, memory, tasks and stop timeouts.
"""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_data import JOB_SPARK_SUSPECT, active
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.unit_values import unit_size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

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
HEAPS = ("spark.driver.memory", "spark.executor.memory")  # Spark's launcher copies these to -Xmx without a change
HEAP = re.compile(r"\d+[kmgt]", re.IGNORECASE)  # as the JVM reads it
MEMORY = (*HEAPS, "spark.driver.memoryOverhead", "spark.memory.offHeap.size")
PORT = r"0|102[4-9]|10[3-9]\d|1[1-9]\d\d|[2-9]\d{3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]"
NUMBER, SWITCH, SHARE = r"[1-9]\d*", "true|false", r"0?\.\d+|0|1|[01]\.0*"
# Other settings of Spark (docs/configuration.md of Spark): the pattern of their values, and its description.
FORMS = {
    "spark.driver.cores": (NUMBER, "a whole number"),
    "spark.driver.maxResultSize": (r"\d+[kmgtp]?b?", "a size such as 1g"),
    "spark.memory.fraction": (SHARE, "a number from 0 to 1"),
    "spark.memory.storageFraction": (SHARE, "a number from 0 to 1"),
    "spark.memory.offHeap.enabled": (SWITCH, "true or false"),
    "spark.sql.adaptive.enabled": (SWITCH, "true or false"),
    "spark.sql.shuffle.partitions": (NUMBER, "a whole number"),
    "spark.default.parallelism": (NUMBER, "a whole number"),
    "spark.ui.enabled": (SWITCH, "true or false"),
    "spark.ui.port": (PORT, "a port from 1024 to 65535, or 0 for any port"),
}
LEAST_DRIVER = 471859200  # bytes (org.apache.spark.memory.UnifiedMemoryManager)
DRIVER = 2**30  # bytes: the default of spark.driver.memory
OF_NODE = "spark_job_memory_max"
MASTER, PARALLELISM = "spark.master", "spark.default.parallelism"
REAL_TIME = "real-time"  # millrace_jobs.ends
STOP_TIMEOUT = "spark_job_stop_timeout"
INTERVAL = re.compile(r"(\d{1,9}) (millisecond|second|minute|hour)s?")  # millrace_jobs.checks.interval
SECONDS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600}


JOB_GROUP = ProblemKind(
    "JOB_GROUP",
    "job {job} on {host} has the same consumer group: each of the two jobs would disturb the reads of the other",
    "remove it (each job then gets its own group), or stop one of the two jobs",
)
JOB_GROUP_PROGRESS = JOB_GROUP.variant(
    message="job {job} on {host} has the same consumer group: the offsets of the group in {topic} would alternate "
    "between the two jobs",
    advice="give each job its own group",
)


def consumer_groups(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Spark job with the same consumer group (group.id) as another job.

    Each of the jobs would get only a part of the records.
    """
    holders: dict[str, tuple[SparkNode, Job]] = {}
    for node in model.spark_nodes:
        for job in active(node):
            group = job.kafka.get("group.id")
            if not group or not job.reads or not job.uses.spark:
                continue
            first, other = holders.setdefault(str(group), (node, job))
            if (first.name, other.name) != (node.name, job.name):
                place = f"{job.variable}.config.kafka[group.id]"
                yield node.report(JOB_GROUP, place, group, job=other.name, host=first.name)


PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
JAAS_FILE = "java.security.auth.login.config"  # an option of the JVM, instead of sasl.jaas.config
JOB_LISTENER = ProblemKind(
    "JOB_LISTENER",
    "this listener is for replication between brokers: it does not serve clients",
    "use a listener for clients, such as CLIENT",
)
JOB_PROTOCOL = ProblemKind("JOB_PROTOCOL", "listener {listeners} requires {protocols}", "use {protocols}")
JOB_MECHANISM = ProblemKind(
    "JOB_MECHANISM",
    "listener {listeners} accepts only {mechanisms}",
    "use one of these mechanisms, or add the mechanism of the job to sasl_mechanisms of the listener",
)
JOB_MECHANISM_NO_LOGIN = JOB_MECHANISM.variant(
    message="the job has no login, but listener {listeners} requires {mechanisms}",
    advice="add a login: kafka_client | combine(kafka_users | millrace.kafka.kafka_login('{user}'))",
)
JOB_MECHANISM_NO_LOGIN_OTHER = JOB_MECHANISM_NO_LOGIN.variant(
    advice="set sasl.mechanism to one of these, and sasl.jaas.config to a login with it"
)


def connections(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Spark job whose connection settings do not fit the listener to which it connects.

    The listener must not be the listener between brokers, and must have the job's protocol and SASL mechanism.
    """
    if not model.brokers or not model.brokers[0].listeners:
        return
    inner = str(model.brokers[0].inter_broker)
    places = {item.advertised: item for broker in model.brokers for item in broker.listeners}
    outer = [item for item in model.brokers[0].listeners if item.name != inner] or model.brokers[0].listeners
    for node in model.spark_nodes:
        client = node.inputs.mapping("kafka_client")
        own_cluster = [entry.strip() for entry in str(client.get("bootstrap.servers") or "").split(",")]
        for job in node.jobs:
            has_topic = bool(job.reads or job.writes)
            if not has_topic and (job.uses.known or not job.kafka):
                continue
            servers = [entry.strip() for entry in str(job.kafka.get("bootstrap.servers") or "").split(",")]
            listeners = [places[entry] for entry in servers if entry in places]
            alone = len(model.brokers[0].listeners) == 1
            if any(item.name == inner for item in listeners) and not alone:
                yield node.report(JOB_LISTENER, f"{job.variable}.config.kafka[bootstrap.servers]", inner)
            elif listeners or servers == own_cluster:  # else the job uses another cluster
                yield from _connection(
                    model, node, job, list({item.name: item for item in listeners or outer}.values())
                )


def _connection(model: Model, node: SparkNode, job: Job, listeners: Sequence[Listener]) -> Iterator[Problem]:
    """Yield a problem if none of the listeners that a job uses has its security.protocol and sasl.mechanism."""
    place, names = f"{job.variable}.config.kafka", " and ".join(item.name for item in listeners)
    protocol = str(job.kafka.get("security.protocol") or "PLAINTEXT").upper()
    fitting = [item for item in listeners if item.protocol == protocol]
    if not fitting:
        protocols = " or ".join(sorted({item.protocol for item in listeners}))
        yield node.report(JOB_PROTOCOL, f"{place}[security.protocol]", protocol, listeners=names, protocols=protocols)
    elif protocol.startswith("SASL"):
        mechanism = str(job.kafka.get("sasl.mechanism") or "GSSAPI")
        accepted = sorted({name for item in fitting for name in item.mechanisms})
        has_login = bool(job.kafka.get("sasl.jaas.config")) or JAAS_FILE in str(job.config.get("spark"))
        needs_login = mechanism in PASSWORD_MECHANISMS or not job.kafka.get("sasl.mechanism")
        if accepted and (mechanism not in accepted or (needs_login and not has_login)):
            kind, key = JOB_MECHANISM, "sasl.mechanism"
            if not has_login:
                by_filter = any(name.startswith("SCRAM-") for name in accepted)
                kind, key = JOB_MECHANISM_NO_LOGIN if by_filter else JOB_MECHANISM_NO_LOGIN_OTHER, "sasl.jaas.config"
            details: dict[str, Any] = {"listeners": names, "mechanisms": accepted, "user": _user_of(model, job)}
            yield node.report(kind, f"{place}[{key}]", job.kafka.get(key), **details)


def _user_of(model: Model, job: Job) -> str:
    """Return the user for the advice to log in: the declared user with the name of the job, else any declared user."""
    users = [str(user.get("name")) for user in model.present("kafka_users") if user.get("credential") is not False]
    return next((name for name in (job.name, job.kind) if name in users), users[0] if users else "<user>")


JOB_MEMORY_LIMIT = ProblemKind(
    "JOB_MEMORY_LIMIT", "not a size that systemd accepts", "write it like 4G, 50% or infinity"
)
JOB_MEMORY_SMALL = ProblemKind(
    "JOB_MEMORY_SMALL", "{driver} MiB, but Spark does not start with less than 450 MiB", "use at least 450m, such as 1g"
)
JOB_MEMORY_SUM = ProblemKind(
    "JOB_MEMORY_SUM",
    "less than spark.driver.memory of {jobs} requires: {sum}g",
    "lower spark.driver.memory, or move a job to another host",
)
JOB_MEMORY_SUM_ALL = JOB_MEMORY_SUM.variant(
    message="spark.driver.memory of {jobs} requires {sum}g: nothing remains for the system"
)


def memory(model: Model) -> Iterator[Problem]:
    """Yield a problem for each memory size of a Spark job that Spark would reject or that is too large.

    The memory of a job must be below the memory limit of its systemd unit. The memory of all jobs of a host must be
    below the memory of the host.
    """
    for node in model.spark_nodes:
        limit, total = node.inputs.get("spark_job_memory_max"), size(node.inputs.get("memory"))
        total = None if total is not None and total < LEAST_MEMORY else total  # reported as MEMORY_INVALID
        if not re.fullmatch(r"infinity|\d+(\.\d+)?[KMGT]?|\d+(\.\d+)?%", str(limit)):
            yield node.report(JOB_MEMORY_LIMIT, "spark_job_memory_max", limit)
        too_much: dict[str, list[tuple[Job, Any, int]]] = {}
        for job in node.jobs:
            spark = job.config.get("spark")
            settings = spark if isinstance(spark, Mapping) else {}
            yield from _spark(node, job, settings)
            driver, written = _driver(settings), settings.get(HEAPS[0])
            where, (most, place) = f"{job.variable}.config.spark[{HEAPS[0]}]", _unit_limit(node, job, limit)
            if driver < LEAST_DRIVER:
                yield node.report(JOB_MEMORY_SMALL, where, written, driver=driver // UNITS["m"])
            if most is not None and driver >= most:
                too_much.setdefault(place, []).append((job, written, most))
        for place, jobs in too_much.items():
            yield from _above_limit(node, place, jobs)
        drivers = driver_memory(node)
        if total is not None and sum(drivers.values()) >= total:
            kind = JOB_MEMORY_SUM_ALL if sum(drivers.values()) == total else JOB_MEMORY_SUM
            gigabytes = f"{sum(drivers.values()) / UNITS['g']:.1f}"
            yield node.report(kind, "memory", node.inputs.get("memory"), sum=gigabytes, jobs=list(drivers))


def driver_memory(node: SparkNode) -> dict[str, int]:
    """Return {job name: bytes of its driver memory} for the active jobs of a host."""
    return {job.name: _driver(job.config.get("spark")) for job in active(node)}


def _driver(spark: Any) -> int:
    """Return spark.driver.memory of a job's Spark settings in bytes; 1 GiB, the default, if not set or invalid."""
    written = str(spark.get(HEAPS[0])) if isinstance(spark, Mapping) else ""
    # Other forms are reported as JOB_MEMORY.
    return (_spark_size(written) or DRIVER) if HEAP.fullmatch(written.strip()) else DRIVER


JOB_MASTER = ProblemKind(
    "JOB_MASTER",
    "not a master of this host",
    "use local[N], such as local[4], or remove it and set the key cluster of the job, to run it on the site's Spark "
    "cluster",
)
JOB_MASTER_ZERO = JOB_MASTER.variant(
    message="0 threads, or 0 failures allowed for a task: the job would not start",
)
JOB_MEMORY = ProblemKind(
    "JOB_MEMORY", "not a size that Spark accepts: the job would not start", "write it like 512m or 4g"
)
JOB_MEMORY_BYTES = JOB_MEMORY.variant(
    message="the JVM reads a number without a unit as bytes, and would not start",
    advice="write {fitting}, or another size such as 4g",
)
JOB_MEMORY_BYTES_LARGE = JOB_MEMORY_BYTES.variant(
    message="the JVM reads a number without a unit as bytes, but Spark as MiB"
)
JOB_MEMORY_LETTERS = JOB_MEMORY.variant(
    message="Spark passes this size to the JVM, which accepts only a number with one letter, and would not start"
)
JOB_MEMORY_LETTER = JOB_MEMORY_LETTERS.variant(advice="write {fitting}")
JOB_SPARK_VALUE = ProblemKind(
    "JOB_SPARK_VALUE", "Spark does not accept this value: the job would not start", "use {expected}"
)


def _spark(node: SparkNode, job: Job, settings: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield a problem for each of a job's Spark settings that is misspelt, or whose value Spark would reject."""
    master = settings.get("spark.master")
    on_host = master is not None and not job.cluster  # otherwise JOB_CLUSTER
    if on_host and not re.fullmatch(r"local(\[(0*[1-9]\d*|\*)(\s*,\s*0*[1-9]\d*)?\])?", str(master)):
        zero = re.fullmatch(r"local\[\d+(\s*,\s*\d+)?\]", str(master))
        place = f"{job.variable}.config.spark[spark.master]"
        yield node.report(JOB_MASTER_ZERO if zero else JOB_MASTER, place, master)
    for name, value in settings.items():
        place, text = f"{job.variable}.config.spark[{name}]", str(value).strip()
        if name in MEMORY and _spark_size(value) is None:
            yield node.report(JOB_MEMORY, place, value)
        elif name in HEAPS and re.fullmatch(r"\d+", text):
            # Of megabytes nobody writes a million, and of bytes nobody less.
            in_bytes = int(text) >= 2**20
            fitting = f"{int(text) >> 20}m" if in_bytes else f"{text}m"
            yield node.report(JOB_MEMORY_BYTES_LARGE if in_bytes else JOB_MEMORY_BYTES, place, value, fitting=fitting)
        elif name in HEAPS and not HEAP.fullmatch(text):
            kind = JOB_MEMORY_LETTER if HEAP.fullmatch(text[:-1]) else JOB_MEMORY_LETTERS
            yield node.report(kind, place, value, fitting=text[:-1])
        if (form := FORMS.get(str(name))) and not re.fullmatch(form[0], text.lower()):
            yield node.report(JOB_SPARK_VALUE, place, value, expected=form[1])
        near = nearest(str(name), SPARK)
        if near and str(name) not in SPARK and str(name).startswith(near.rpartition(".")[0].rpartition(".")[0]):
            yield node.report(JOB_SPARK_SUSPECT, place, near=near)


def _spark_size(value: Any) -> int | None:
    """Return the bytes of a size as Spark reads it, where "512" is 512 MiB; None if the value is not a size."""
    match = re.fullmatch(r"(\d+)(b|([kmgtp])b?)?", str(value).strip().lower())
    unit = (match[3] or match[2] or "m") if match else ""
    return int(match[1]) * {**UNITS, "b": 1, "p": 2**50}[unit] if match else None


JOB_MEMORY_MAX = ProblemKind(
    "JOB_MEMORY_MAX",
    "not less than the limit of the unit, {limit} MiB ({place}): Python and the JVM need memory besides the heap",
    "lower spark.driver.memory, or raise {place}",
)
JOB_MEMORY_MAX_ALL = JOB_MEMORY_MAX.variant(
    message="the limit of the unit of each job, but the heaps alone are {drivers}, and Python and the JVM need more "
    "memory",
    advice="raise spark_job_memory_max, or lower spark.driver.memory of the jobs",
)


def _unit_limit(node: SparkNode, job: Job, limit: Any) -> tuple[int | None, str]:
    """Return (bytes or None, where it is set) of the memory limit of a job's systemd unit.

    `limit` is spark_job_memory_max of the host, which MemoryMax in the job's unit_overrides overrides.
    """
    entry = next(entry for entry in node.inputs.entries("spark_job_jobs") if str(entry.get("name")) == job.name)
    sections = entry.get("unit_overrides")
    service = sections.get("Service") if isinstance(sections, Mapping) else None
    override = service.get("MemoryMax") if isinstance(service, Mapping) else None
    own = override is not None
    return unit_size(override if own else limit), "MemoryMax of its unit_overrides" if own else OF_NODE


def _above_limit(node: SparkNode, place: str, jobs: Sequence[tuple[Job, Any, int]]) -> list[Problem]:
    """Return the problems of jobs whose driver memory is not below the limit of their unit.

    `place` is where the limit is set; `jobs` has (job, driver memory as it is written, limit in bytes). If the host's
    limit is too low for several jobs, one problem names all of them.
    """
    if place == OF_NODE and len(jobs) > 1:
        drivers = [f"{job.name} {written or '(default)'}" for job, written, _ in jobs]
        return [node.report(JOB_MEMORY_MAX_ALL, place, node.inputs.get(place), drivers=drivers)]
    return [
        node.report(JOB_MEMORY_MAX, f"{job.variable}.config.spark[{HEAPS[0]}]", written, limit=most >> 20, place=place)
        for job, written, most in jobs
    ]


JOB_SLOTS = ProblemKind(
    "JOB_SLOTS",
    "{slots} task slots for {partitions} partitions of {topics}: with trigger: real-time, each partition occupies a "
    "slot permanently",
    "use {partitions}, or trigger: micro-batch",
)
JOB_SLOTS_MASTER = JOB_SLOTS.variant(advice="use local[{partitions}], or trigger: micro-batch")
CORES = "cluster.cores"


def slots(model: Model) -> Iterator[Problem]:
    """Yield a problem for each real-time job with fewer task slots than its topics have partitions.

    In real-time mode each partition holds a slot, and the job fails if there are too few.
    """
    partitions = {topic.name: whole(topic.get("partitions")) or 0 for topic in topics_of(model) if topic.present}
    for node in model.spark_nodes:
        for job in node.jobs:
            available = _slots(job)
            needed = sum(partitions.get(name, 0) for name in job.reads)
            if job.config.get("trigger") == REAL_TIME and available is not None and available[1] < needed:
                name, number = available
                own = name == CORES
                place = f"{job.variable}.{name}" if own else f"{job.variable}.config.spark[{name}]"
                value = number if own else job.config["spark"][name]
                kind = JOB_SLOTS_MASTER if name == MASTER else JOB_SLOTS
                yield node.report(kind, place, value, slots=number, partitions=needed, topics=job.reads)


JOB_STOP = ProblemKind(
    "JOB_STOP",
    "a job stops only at the end of an interval, but systemd kills it after {timeout} s (spark_job_stop_timeout): "
    "the job then writes the records since its last checkpoint again",
    "lower trigger_interval, or raise spark_job_stop_timeout",
    warning=True,
)


def stop_timeouts(model: Model) -> Iterator[Problem]:
    """Yield a warning for each real-time job whose trigger_interval is not shorter than its stop timeout.

    A job stops only at the end of an interval (docs/jobs/relay.md); systemd would kill it before.
    """
    for node in model.spark_nodes:
        timeout = node.inputs.whole(STOP_TIMEOUT)
        own_timeouts = {where for where, drop_in in overrides(node) if _sets_stop_timeout(drop_in)}
        for job in node.jobs:
            interval = INTERVAL.fullmatch(str(job.config.get("trigger_interval")))
            if job.config.get("trigger") != REAL_TIME or not interval or not timeout:
                continue
            seconds = int(interval[1]) * SECONDS[interval[2]]
            places = {"spark_job_unit_overrides", f"{job.variable}.unit_overrides"}
            if seconds >= timeout and not own_timeouts & places:
                yield node.report(JOB_STOP, f"{job.variable}.config.trigger_interval", interval[0], timeout=timeout)


JOB_WATCHDOG = ProblemKind(
    "JOB_WATCHDOG",
    "systemd would restart the job before its first batch ends: a start takes up to a minute",
    "use at least {least} (default: 600), or 0 to turn the watchdog off",
)
LEAST_WATCHDOG = 60  # seconds


def watchdogs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each job whose watchdog would restart it while it starts."""
    for node in model.spark_nodes:
        for entry in node.inputs.entries("spark_job_jobs"):
            seconds = whole(entry.get("watchdog"))
            if seconds and seconds < LEAST_WATCHDOG:
                place = f"spark_job_jobs[{entry.get('name')}].watchdog"
                yield node.report(JOB_WATCHDOG, place, seconds, least=LEAST_WATCHDOG)


def _sets_stop_timeout(drop_in: Mapping[Any, Any]) -> bool:
    """Tell whether a drop-in of a systemd unit sets its stop timeout: TimeoutStopSec or TimeoutSec."""
    service = drop_in.get("Service")
    return isinstance(service, Mapping) and bool({"TimeoutStopSec", "TimeoutSec"} & service.keys())


def _slots(job: Job) -> tuple[str, int] | None:
    """Return (property, number) that sets how many tasks of a job run at the same time.

    Return None if it is the number of CPU cores.
    """
    spark = job.config.get("spark")
    settings: Mapping[Any, Any] = spark if isinstance(spark, Mapping) else {}
    parallelism = whole(settings.get(PARALLELISM))
    if parallelism is not None:
        return PARALLELISM, parallelism
    if cores := whole(job.cluster.get("cores")):
        return CORES, cores
    match = re.fullmatch(r"local(?:\[(\d+)(?:\s*,\s*\d+)?\])?", str(settings.get(MASTER) or ""))
    return (MASTER, int(match[1] or 1)) if match else None


def progress_groups(model: Model) -> Iterator[Problem]:
    """Yield a problem for each job that commits offsets of a topic to the same consumer group as another job.

    Jobs commit offsets to this group (config.group) only to let tools show the lag.
    """
    holders: dict[tuple[str, str], tuple[SparkNode, Job]] = {}
    for node in model.spark_nodes:
        for job in active(node):
            group, reported = job.config.get("group"), False
            for topic in job.reads if group else ():
                first, other = holders.setdefault((str(group), topic), (node, job))
                if other.name != job.name and not reported:  # JOB_TWICE reports one job on two hosts
                    reported = True
                    place = f"{job.variable}.config.group"
                    yield node.report(JOB_GROUP_PROGRESS, place, group, job=other.name, host=first.name, topic=topic)
