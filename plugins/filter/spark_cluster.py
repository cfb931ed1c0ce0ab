"""Filters for the Spark cluster, and for the jobs that run on it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.kafka.plugins.filter.host import archive_digest
from ansible_collections.millrace.kafka.plugins.plugin_utils import spark_cluster


def spark_cluster_jobs(
    jobs: Sequence[Mapping[str, Any]], cluster: Mapping[str, Any], home: str
) -> list[dict[str, Any]]:
    """Return the jobs with the properties and the environment with which those on the cluster run.

    `cluster` is spark_job_cluster, `home` the virtual environment of the release.
    """
    return spark_cluster.cluster_jobs(jobs, spark_cluster.Cluster(**cluster), home)


def spark_job_home(wheel: str, wheel_checksum: str, wheelhouse_checksum: str) -> str:
    """Return the path of the virtual environment of a release of the jobs, on hosts of jobs and on workers.

    Its name has the version of the wheel, and a digest of both archives. The checksums are sha512:HEX or sha512:FILE.
    Raises AnsibleFilterError if a checksum cannot be read.
    """
    archives = archive_digest(wheel_checksum) + archive_digest(wheelhouse_checksum)
    digest = hashlib.sha256(archives.encode()).hexdigest()
    return f"/opt/spark-job/releases/{PurePosixPath(wheel).name.split('-')[1]}-{digest[:12]}"


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "spark_cluster_driver_ports": spark_cluster.driver_ports,
            "spark_cluster_executor_ports": spark_cluster.executor_ports,
            "spark_cluster_jobs": spark_cluster_jobs,
            "spark_cluster_login": spark_cluster.login,
            "spark_job_home": spark_job_home,
        }
