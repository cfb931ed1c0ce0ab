"""Rules on the Spark cluster: its master and workers, and the jobs that run on it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_data import active
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jobs import HEAP, LEAST_DRIVER
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, count_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret
from ansible_collections.millrace.kafka.plugins.plugin_utils.spark_cluster import FIXED

MOST_EXECUTORS = 10_000
"""Of a job; more than any site has."""
MASTERS, WORKERS = "spark_masters", "spark_workers"
SHARED, HOME = "spark_cluster_shared", "spark_cluster_home"
LEAST_SECRET = 32
"""Characters; Spark derives the keys of AES from the secret."""
SPARK_CLUSTER = ProblemKind(
    "SPARK_CLUSTER", "workers without a master: no job could use them", "add a host to the group spark_masters"
)
SPARK_CLUSTER_WORKERS = SPARK_CLUSTER.variant(
    message="a master without workers: jobs would wait forever", advice="add hosts to the group spark_workers"
)
SPARK_CLUSTER_MASTERS = SPARK_CLUSTER.variant(
    message="{count} masters: each would be a cluster of its own, since standby masters are not supported",
    advice="keep one host in the group spark_masters: systemd restarts its master, and running queries continue",
)


def groups(model: Model) -> Iterator[Problem]:
    """Yield a problem if the cluster has no master, no worker, or several masters."""
    masters, workers = model.groups.get(MASTERS, ()), model.groups.get(WORKERS, ())
    if workers and not masters:
        yield SPARK_CLUSTER.problem(workers, "")
    if masters and not workers:
        yield SPARK_CLUSTER_WORKERS.problem(masters, "")
    if len(masters) > 1:
        yield SPARK_CLUSTER_MASTERS.problem(masters, "", count=len(masters))


SPARK_CLUSTER_SECRET = ProblemKind(
    "SPARK_CLUSTER_SECRET",
    "shorter than {least} characters: an attacker who guesses the secret can run code on each worker",
    "create one, for example with openssl rand -base64 32, and keep it in vault.spark_cluster_secret",
)


def secret(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host of the cluster whose secret is too short; no value is shown."""
    for machine in _hosts(model, MASTERS, WORKERS):
        text = machine.inputs.values.get("spark_cluster_secret")
        if machine.inputs.get("security_profile") == "secure" and text is not None and len(str(text)) < LEAST_SECRET:
            yield machine.report(SPARK_CLUSTER_SECRET, "spark_cluster_secret", least=LEAST_SECRET)


SPARK_CLUSTER_SHARED = ProblemKind(
    "SPARK_CLUSTER_SHARED",
    "not below /var/lib/spark-job, the only directory in which jobs and workers may write",
    "mount the file system at /var/lib/spark-job/shared",
)
SPARK_CLUSTER_SAME = ProblemKind(
    "SPARK_CLUSTER_SAME",
    "differs from {other} on {host}: workers and hosts of jobs must have the same value",
    "set it once, for all hosts",
)


def shared(model: Model) -> Iterator[Problem]:
    """Yield a problem for each worker that cannot write to the shared directory."""
    for machine in _hosts(model, WORKERS):
        path = machine.inputs.text(SHARED)
        if path and (not below(path, "/var/lib/spark-job") or ".." in path.split("/") or path == "/var/lib/spark-job"):
            yield machine.report(SPARK_CLUSTER_SHARED, SHARED, path)


def same(model: Model) -> Iterator[Problem]:
    """Yield a problem for each value that workers and hosts of jobs must agree on, but do not.

    These are the shared directory, the first port of executors, and the release of the jobs.
    """
    workers = _hosts(model, WORKERS)
    nodes = [node for node in model.spark_nodes if any(job.cluster for job in node.jobs)]
    for name, key in ((SHARED, "shared"), ("spark_cluster_executor_port", "executor_port"), (HOME, "home")):
        found = [(worker, worker.inputs.values.get(name)) for worker in workers]
        found += [(node, node.inputs.mapping("spark_job_cluster").get(key)) for node in nodes]
        known = [(machine, str(value)) for machine, value in found if value is not None]
        for machine, value in known[1:]:
            first, other = known[0]
            if value != other:
                yield machine.report(SPARK_CLUSTER_SAME, name, value, other=other or "no value", host=first.name)


JOB_CLUSTER = ProblemKind("JOB_CLUSTER", "there is no Spark cluster", "add hosts to spark_masters and spark_workers")
JOB_CLUSTER_LOOP = JOB_CLUSTER.variant(message="{program} runs without Spark", advice="remove cluster from this job")
JOB_CLUSTER_FIXED = JOB_CLUSTER.variant(
    message="cluster sets this property", advice="remove it, and use the keys of cluster"
)
JOB_CLUSTER_STATE = JOB_CLUSTER.variant(
    message="state of tasks would be in a directory that workers do not share: the job would fail once an executor "
    "moves to another worker",
    advice="mount one file system on all workers and hosts of jobs, set spark_cluster_shared to its path, and use a "
    "directory below it",
)
JOB_CLUSTER_DATA = JOB_CLUSTER_STATE.variant(
    message="workers read and write these files, but do not share this directory"
)
JOB_CLUSTER_VALUE = JOB_CLUSTER.variant(message="not possible", advice="use {expected}")
JOB_CLUSTER_CHECKPOINT = JOB_CLUSTER.variant(
    message="job {job} on {host} has the same directory on the shared file system: each would corrupt the data of the "
    "other",
    advice="give each job its own directory",
)
JOB_CLUSTER_PARTITIONS = JOB_CLUSTER.variant(
    message="missing: the checkpoint would keep the number of cores at its first start",
    advice="set it, for example to {cores}",
)


def jobs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each job whose key `cluster` cannot work."""
    complete = model.groups.get(MASTERS) and model.groups.get(WORKERS)
    for node in model.spark_nodes:
        for job in (job for job in node.jobs if job.cluster):
            if not complete:
                if not (model.groups.get(MASTERS) or model.groups.get(WORKERS)):  # otherwise SPARK_CLUSTER
                    yield node.report(JOB_CLUSTER, f"{job.variable}.cluster")
            elif job.uses.known and not job.uses.spark:
                yield node.report(JOB_CLUSTER_LOOP, f"{job.variable}.cluster", program=job.kind)
            else:
                yield from _values(node, job)
                yield from _settings(node, job)
                yield from _directories(node, job)


def _values(node: SparkNode, job: Job) -> Iterator[Problem]:
    """Yield a problem for each value of the key `cluster` with which no executor could run, or no port is open."""
    cluster = job.cluster
    cores, each, port = (whole(cluster.get(key)) for key in ("cores", "executor_cores", "port"))
    expected: dict[str, str] = {}
    if cores is not None and cores < 1:
        expected["cores"] = "at least 1"
    if each is not None and each < 1:
        expected["executor_cores"] = "at least 1"
    elif cores and cores > 0 and each and cores % each:
        expected["cores"] = f"a multiple of executor_cores ({each}), such as {-(-cores // each) * each}"
    if port is not None and not 1024 <= port < 65535:
        expected["port"] = "a port from 1024 to 65534"
    memory = cluster.get("executor_memory")
    if memory is not None and (not HEAP.fullmatch(str(memory)) or (size(memory) or 0) < LEAST_DRIVER):
        expected["executor_memory"] = "a whole number with one letter, at least 450m, such as 4g"
    for key, text in expected.items():
        yield node.report(JOB_CLUSTER_VALUE, f"{job.variable}.cluster.{key}", cluster[key], expected=text)


def _settings(node: SparkNode, job: Job) -> Iterator[Problem]:
    spark = job.config.get("spark")
    for name, value in spark.items() if isinstance(spark, Mapping) else ():
        if name in FIXED:
            yield node.report(JOB_CLUSTER_FIXED, f"{job.variable}.config.spark[{name}]", value)
    if job.uses.state and "shuffle_partitions" not in job.config:
        cores = whole(job.cluster.get("cores")) or 2
        yield node.report(JOB_CLUSTER_PARTITIONS, f"{job.variable}.config.shuffle_partitions", cores=cores)


def _directories(node: SparkNode, job: Job) -> Iterator[Problem]:
    """Yield a problem for each directory of a job that executors use, but that is not on a shared file system."""
    cluster = node.inputs.mapping("spark_job_cluster")
    if not cluster:  # its value could not be computed, for example without the secret
        return
    common = str(cluster.get("shared") or "")
    keys = {"checkpoint": JOB_CLUSTER_STATE} if job.uses.state else {}
    keys |= {"input_directory": JOB_CLUSTER_DATA, "output_directory": JOB_CLUSTER_DATA}
    for key, kind in keys.items():
        path = job.config.get(key)
        if isinstance(path, str) and path.startswith("/") and not (common and below(path, common)):
            yield node.report(kind, f"{job.variable}.config.{key}", path)


JOB_CLUSTER_CORES = ProblemKind(
    "JOB_CLUSTER_CORES",
    "the workers have room for {room} of the {wanted} executors of {cores} and {memory} that this job requests{beside}",
    "lower cores, executor_cores or executor_memory, or raise spark_cluster_cores or spark_cluster_memory of the "
    "workers",
)


def capacity(model: Model) -> Iterator[Problem]:
    """Yield a problem for each job whose executors do not fit on the workers, beside those of the jobs before it."""
    free = [
        [whole(worker.inputs.get("spark_cluster_cores")) or 0, size(worker.inputs.get("spark_cluster_memory")) or 0]
        for worker in _hosts(model, WORKERS)
    ]
    placed: list[str] = []
    running = [(node, job) for node in model.spark_nodes for job in active(node) if job.cluster]
    for node, job in running if free else ():
        total, cores = whole(job.cluster.get("cores")) or 0, whole(job.cluster.get("executor_cores")) or 1
        text = str(job.cluster.get("executor_memory") or "1g")
        if total < 1 or cores < 1 or not (memory := size(text)):
            continue  # reported as JOB_CLUSTER
        wanted = -(-total // cores)
        room = sum(_placed(free, cores, memory) for _ in range(min(wanted, MOST_EXECUTORS)))
        if room < min(wanted, MOST_EXECUTORS):
            beside = f", beside {' and '.join(placed)}" if placed else ""
            yield node.report(
                JOB_CLUSTER_CORES, f"{job.variable}.cluster", total, room=str(room), wanted=str(wanted),
                cores=count_of(cores, "core"), memory=text, beside=beside,
            )  # fmt: skip
        placed.append(f"job {job.name} on {node.name}")


def _placed(free: list[list[int]], cores: int, memory: int) -> bool:
    """Put an executor on the worker with the most free cores; tell whether there was room. `free` is changed."""
    fitting = [worker for worker in free if worker[0] >= cores and worker[1] >= memory]
    for worker in sorted(fitting, reverse=True)[:1]:
        worker[0] -= cores
        worker[1] -= memory
    return bool(fitting)


def shared_directories(model: Model) -> Iterator[Problem]:
    """Yield a problem for each directory on the shared file system that two jobs of different hosts write."""
    writers: dict[str, tuple[SparkNode, Job]] = {}
    for node in model.spark_nodes:
        common = str(node.inputs.mapping("spark_job_cluster").get("shared") or "")
        for job in active(node):
            for key in ("checkpoint", "output_directory"):
                path = job.config.get(key)
                if not isinstance(path, str) or not common or not below(path, common):
                    continue
                first, other = writers.setdefault(os.path.normpath(path), (node, job))
                if first.name != node.name:
                    place = f"{job.variable}.config.{key}"
                    yield node.report(JOB_CLUSTER_CHECKPOINT, place, path, job=other.name, host=first.name)


JOB_SPARK_SECRET = ProblemKind(
    "JOB_SPARK_SECRET",
    "a secret: PySpark passes each property as an argument of the JVM, which all users of the host can read",
    "use spark-defaults.conf in a directory of SPARK_CONF_DIR, set by Environment in unit_overrides",
)
JOB_SPARK_SECRET_OWN = JOB_SPARK_SECRET.variant(advice="remove it, because vault.spark_cluster_secret sets it")
JOB_SPARK_SECRET_CLUSTER = JOB_SPARK_SECRET.variant(
    advice="remove it: a job with the key cluster can have no secret besides that of the cluster"
)


def spark_secrets(model: Model) -> Iterator[Problem]:
    """Yield a problem for each secret among the properties of a job; no value is shown."""
    for node in model.spark_nodes:
        for job in node.jobs:
            spark = job.config.get("spark")
            for name, value in spark.items() if isinstance(spark, Mapping) else ():
                place = f"{job.variable}.config.spark[{name}]"
                if isinstance(value, str) and is_secret(place, value):
                    own = str(name).startswith("spark.authenticate")
                    kind = JOB_SPARK_SECRET_CLUSTER if job.cluster else JOB_SPARK_SECRET
                    yield node.report(JOB_SPARK_SECRET_OWN if own else kind, place)


def _hosts(model: Model, *names: str) -> list[Machine]:
    """Return the hosts of some groups, each once."""
    hosts: dict[str, Any] = {host: model.machines[host] for name in names for host in model.groups.get(name, ())}
    return list(hosts.values())
