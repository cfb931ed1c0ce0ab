"""Rules on the Spark cluster: its master and workers, and the jobs that run on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, Machine, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import size
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_data import active
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.secret import is_secret

MASTERS, WORKERS = "spark_masters", "spark_workers"
SHARED = "spark_cluster_shared"
LEAST_SECRET = 32
"""Characters; Spark derives the keys of AES from the secret."""
FIXED = ("spark.master", "spark.driver.host", "spark.driver.bindAddress", "spark.driver.port", "spark.cores.max")
"""Properties that the key `cluster` of a job sets."""

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
    "shorter than {least} characters: whoever guesses it runs code on each worker",
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


def shared(model: Model) -> Iterator[Problem]:
    """Yield a problem for each worker that cannot write to the shared directory."""
    for machine in _hosts(model, WORKERS):
        path = machine.inputs.text(SHARED)
        if path and (not below(path, "/var/lib/spark-job") or ".." in path.split("/") or path == "/var/lib/spark-job"):
            yield machine.report(SPARK_CLUSTER_SHARED, SHARED, path)


JOB_CLUSTER = ProblemKind("JOB_CLUSTER", "there is no Spark cluster", "add hosts to spark_masters and spark_workers")
JOB_CLUSTER_LOOP = JOB_CLUSTER.variant(message="{program} runs without Spark", advice="remove cluster from this job")
JOB_CLUSTER_FIXED = JOB_CLUSTER.variant(
    message="cluster sets this property", advice="remove it; cluster has the keys cores and port"
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
                yield from _settings(node, job)
                yield from _directories(node, job)


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
    common = str(node.inputs.mapping("spark_job_cluster").get("shared") or "")
    keys = {"checkpoint": JOB_CLUSTER_STATE} if job.uses.state else {}
    keys |= {"input_directory": JOB_CLUSTER_DATA, "output_directory": JOB_CLUSTER_DATA}
    for key, kind in keys.items():
        path = job.config.get(key)
        if isinstance(path, str) and path.startswith("/") and not (common and below(path, common)):
            yield node.report(kind, f"{job.variable}.config.{key}", path)


JOB_CLUSTER_CORES = ProblemKind(
    "JOB_CLUSTER_CORES",
    "the workers have {free} cores, and {jobs} together request {wanted}: the last to start would wait forever",
    "request fewer cores, or raise spark_cluster_cores of the workers",
)
JOB_CLUSTER_CORES_MEMORY = JOB_CLUSTER_CORES.variant(
    message="the workers have room for {room} executors of {cores} cores and {memory}, which is fewer than the "
    "{wanted} that this job requests",
    advice="lower cores, executor_cores or executor_memory, or raise spark_cluster_memory of the workers",
)


def capacity(model: Model) -> Iterator[Problem]:
    """Yield a problem for each job that could not get its cores, alone or because of all jobs together."""
    workers = [
        (whole(worker.inputs.get("spark_cluster_cores")) or 0, size(worker.inputs.get("spark_cluster_memory")) or 0)
        for worker in _hosts(model, WORKERS)
    ]
    running = [(node, job) for node in model.spark_nodes for job in active(node) if job.cluster]
    fitting: list[tuple[SparkNode, Job, int]] = []
    for node, job in running if workers else ():
        wanted, cores = whole(job.cluster.get("cores")), whole(job.cluster.get("executor_cores")) or 1
        text = job.cluster.get("executor_memory") or "1g"
        if not wanted or not (memory := size(text)):
            continue  # of another type, which another rule reports
        room = sum(min(have // cores, have_memory // memory) for have, have_memory in workers)
        if room < -(-wanted // cores):
            place, executors = f"{job.variable}.cluster", -(-wanted // cores)
            yield node.report(
                JOB_CLUSTER_CORES_MEMORY, place, wanted, room=room, cores=cores, memory=str(text), wanted=executors
            )
        else:
            fitting.append((node, job, wanted))
    free, total = sum(cores for cores, _ in workers), sum(wanted for _, _, wanted in fitting)
    if workers and total > free:
        names = [f"{job.name} on {node.name}" for node, job, _ in fitting]
        hosts = tuple(dict.fromkeys(node.name for node, _, _ in fitting))
        yield JOB_CLUSTER_CORES.problem(hosts, "spark_job_jobs", free=free, jobs=names, wanted=total)


JOB_SPARK_SECRET = ProblemKind(
    "JOB_SPARK_SECRET",
    "a secret: PySpark passes each property as an argument of the JVM, which all users of the host can read",
    "remove it; use spark-defaults.conf in a directory of SPARK_CONF_DIR, set by Environment in unit_overrides",
)
JOB_SPARK_SECRET_CLUSTER = JOB_SPARK_SECRET.variant(advice="remove it; vault.spark_cluster_secret sets it")


def spark_secrets(model: Model) -> Iterator[Problem]:
    """Yield a problem for each secret among the properties of a job; no value is shown."""
    for node in model.spark_nodes:
        for job in node.jobs:
            spark = job.config.get("spark")
            for name, value in spark.items() if isinstance(spark, Mapping) else ():
                place = f"{job.variable}.config.spark[{name}]"
                if isinstance(value, str) and is_secret(place, value):
                    own = str(name).startswith("spark.authenticate")
                    yield node.report(JOB_SPARK_SECRET_CLUSTER if own else JOB_SPARK_SECRET, place)


def _hosts(model: Model, *names: str) -> list[Machine]:
    """Return the hosts of some groups, each once."""
    hosts: dict[str, Any] = {host: model.machines[host] for name in names for host in model.groups.get(name, ())}
    return list(hosts.values())
