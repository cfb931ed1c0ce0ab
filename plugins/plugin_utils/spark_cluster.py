"""Computes how jobs with the key `cluster` run on the Spark cluster: their properties, environment and ports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole

CONFIGURATION = "/etc/spark-job/cluster"
"""The directory of spark-defaults.conf, which contains the secret of the cluster (SPARK_CONF_DIR of a job)."""
MOST_CORES = 512
"""Of a worker. Executors try as many ports, beginning at the first port for executors (spark.port.maxRetries)."""
FIXED = (
    "spark.master",
    "spark.driver.host",
    "spark.driver.bindAddress",
    "spark.driver.port",
    "spark.driver.blockManager.port",
    "spark.blockManager.port",
    "spark.port.maxRetries",
    "spark.cores.max",
    "spark.executor.cores",
    "spark.executor.memory",
)
"""Properties that only the key `cluster` of a job sets: the firewall and preflight rely on them."""


@dataclass(frozen=True)
class Cluster:
    """The Spark cluster for the jobs of one host: the input spark_job_cluster."""

    masters: Sequence[str] = ()
    """The master, as ADDRESS:PORT."""
    address: str = ""
    """The address of the host of the job, to which master and executors connect."""
    secret: str = ""
    executor_port: Any = 7100
    home: str = ""
    """The virtual environment of the release, on the host of the job and on the workers."""
    shared: str = ""
    """A directory that all workers and hosts of jobs share, for checkpoints; "" if there is none."""

    @property
    def defaults(self) -> dict[str, str]:
        """The contents of spark-defaults.conf, {property: value}."""
        return login(self.secret)


def login(secret: str) -> dict[str, str]:
    """Return the properties with which masters, workers, drivers and executors authenticate and encrypt.

    Without a secret, return no property: then everybody may run code. AES with the secret is used in place of TLS,
    because Spark does not compare host names with certificates.
    """
    if not secret:
        return {}
    return {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    }


def on_cluster(job: Mapping[str, Any]) -> bool:
    """Tell whether an entry of spark_job_jobs runs on the cluster."""
    return isinstance(job.get("cluster"), Mapping)


def properties(request: Mapping[str, Any], cluster: Cluster) -> dict[str, str]:
    """Return {property of Spark: value} of a job with the key `cluster`, whose value is `request`.

    A locality wait of 0 s: after the loss of a worker, its partitions need not wait for other hosts. Tasks that read
    data of a lost executor give up after some seconds: meanwhile they hold the locks of their partitions' state, for
    which the repeated tasks wait (SPARK-42566).
    """
    port = whole(request.get("port")) or 0
    return {
        "spark.master": f"spark://{','.join(map(str, cluster.masters))}",
        "spark.driver.host": cluster.address,
        "spark.driver.bindAddress": cluster.address,
        "spark.driver.port": str(port),
        "spark.driver.blockManager.port": str(port + 1),
        "spark.blockManager.port": str(cluster.executor_port),
        "spark.port.maxRetries": str(2 * MOST_CORES),
        "spark.cores.max": str(request.get("cores")),
        "spark.executor.cores": str(request.get("executor_cores") or 1),
        "spark.executor.memory": str(request.get("executor_memory") or "1g"),
        "spark.locality.wait": "0s",
        "spark.decommission.enabled": "true",
        "spark.shuffle.io.maxRetries": "2",
        "spark.shuffle.io.retryWait": "1s",
        "spark.shuffle.io.connectionCreationTimeout": "5s",
        "spark.shuffle.io.connectionTimeout": "30s",
    }


def cluster_jobs(jobs: Sequence[Mapping[str, Any]], cluster: Cluster, home: str) -> list[dict[str, Any]]:
    """Return `jobs`, entries of spark_job_jobs, with what jobs on the cluster need: properties and environment.

    `home` is the virtual environment of the release; executors run its Python, at the same path on each worker. The
    job's own properties (`config.spark`) override the computed ones. The environment has a digest of the secret, so
    that a job restarts with a new one.
    """
    digest = hashlib.sha256(json.dumps(cluster.defaults).encode()).hexdigest()
    environment = {"SPARK_CONF_DIR": CONFIGURATION, "PYSPARK_PYTHON": f"{home}/bin/python", "CLUSTER_DIGEST": digest}
    placed = []
    for job in jobs:
        config = job.get("config")
        if on_cluster(job) and job.get("state") != "absent" and isinstance(config, Mapping):
            spark = {**properties(job["cluster"], cluster), **(config.get("spark") or {})}
            more = {"environment": environment, "shared": cluster.shared}
            placed.append({**job, "config": {**config, "spark": spark}, **more})
        else:
            placed.append(dict(job))
    return placed


def executor_ports(first: Any, cores: Any, address: Any) -> list[dict[str, Any]]:
    """Return the ports of a worker's executors for functions/spark_workers.yml, two for each core.

    A worker runs at most one executor for each core, but executors of an application that ends keep their ports for
    some seconds. Wrong values give no port; other rules report them.
    """
    begin, count = whole(first), whole(cores)
    if not begin or not count or not 0 < count <= MOST_CORES:
        return []
    origin = {"what": "executors", "input": "spark_cluster_executor_port", "address": address}
    return [{"port": begin + number, "from": ["spark", "spark_workers"], **origin} for number in range(2 * count)]


def driver_ports(jobs: Any, address: Any) -> list[dict[str, Any]]:
    """Return the ports of drivers for functions/spark.yml: two for each job with the key `cluster`."""
    ports = []
    for job in jobs if isinstance(jobs, (list, tuple)) else ():
        present = isinstance(job, Mapping) and on_cluster(job) and job.get("state") != "absent"
        port = whole(job["cluster"].get("port")) if present else None
        for number in (port, port + 1) if port else ():
            name = f"spark_job_jobs[{job.get('name')}].cluster.port"
            origin = {"what": f"driver of job {job.get('name')}", "input": name, "address": address}
            ports.append({"port": number, "from": ["spark_masters", "spark_workers"], **origin})
    return ports
