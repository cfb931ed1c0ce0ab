"""What jobs on the Spark cluster are started with, and which ports they open."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.filter.spark_job import spark_job_environment, spark_job_files
from ansible_collections.millrace.kafka.plugins.plugin_utils.spark_cluster import (
    Cluster,
    cluster_jobs,
    driver_ports,
    executor_ports,
    login,
)

SECRET = "ooNgo8shie4Oof1Ahquei3eiShooWuo7"
CLUSTER = Cluster(["192.0.2.51:7077"], "192.0.2.32", SECRET, 7100)
HOME = "/opt/spark-job/releases/1"
LOCAL: dict[str, Any] = {"name": "local", "config": {"spark": {"spark.driver.memory": "1g"}}}
REMOTE: dict[str, Any] = {"name": "remote", "cluster": {"cores": 4, "port": 7200}, "config": {"checkpoint": "/c"}}


def placed(job: dict[str, Any], cluster: Cluster = CLUSTER) -> dict[str, Any]:
    """Return one job as the role gets it."""
    return cluster_jobs([job], cluster, HOME)[0]


def test_a_local_job_is_unchanged() -> None:
    """Neither its properties nor its environment: another release must not restart it."""
    assert placed(LOCAL) == LOCAL


def test_a_job_on_the_cluster() -> None:
    """Its driver listens on its two ports of this host, and its cores are limited."""
    spark = placed(REMOTE)["config"]["spark"]
    assert spark["spark.master"] == "spark://192.0.2.51:7077"
    assert (spark["spark.driver.host"], spark["spark.driver.bindAddress"]) == ("192.0.2.32", "192.0.2.32")
    assert (spark["spark.driver.port"], spark["spark.driver.blockManager.port"]) == ("7200", "7201")
    assert (spark["spark.blockManager.port"], spark["spark.locality.wait"]) == ("7100", "0s")
    assert (spark["spark.cores.max"], spark["spark.executor.cores"]) == ("4", "1")
    assert spark["spark.executor.memory"] == "1g"


def test_the_jobs_own_properties_override() -> None:
    """As everywhere: what a site sets overrides what is computed."""
    own = {**REMOTE, "config": {"spark": {"spark.locality.wait": "3s"}}}
    assert placed(own)["config"]["spark"]["spark.locality.wait"] == "3s"


def test_the_secret_is_in_no_file_of_the_job() -> None:
    """Only in spark-defaults.conf, which the role writes; properties of a job become arguments of the JVM."""
    files = spark_job_files(cluster_jobs([REMOTE], CLUSTER, HOME), "r", "/jars", "unit")
    assert SECRET not in str(files)
    environment = next(file["content"] for file in files if file["path"].endswith(".env"))
    assert "PYSPARK_PYTHON=/opt/spark-job/releases/1/bin/python\n" in environment
    assert "SPARK_CONF_DIR=/etc/spark-job/cluster\n" in environment


def test_a_new_secret_restarts_the_job() -> None:
    """The digest of its unit changes with it, though no file of the job contains it."""
    other = Cluster(CLUSTER.masters, CLUSTER.address, SECRET[::-1], 7100)
    digests = {
        spark_job_environment(placed(REMOTE, one), "r", "/jars", "u").splitlines()[1] for one in (CLUSTER, other)
    }
    assert len(digests) == 2


def test_without_a_secret_nothing_is_authenticated() -> None:
    assert login("") == {}
    assert login(SECRET)["spark.authenticate"] == "true"
    assert login(SECRET)["spark.network.crypto.cipher"] == "AES/GCM/NoPadding"


@pytest.mark.parametrize(
    ("first", "cores", "ports"),
    [(7100, 2, [7100, 7101, 7102, 7103]), ("7100", "1", [7100, 7101]), (7100, 0, []), (None, 2, [])],
)
def test_ports_of_executors(first: Any, cores: Any, ports: list[int]) -> None:
    """Two for each core; a wrong value opens nothing."""
    assert [entry["port"] for entry in executor_ports(first, cores, "192.0.2.61")] == ports


def test_ports_of_drivers() -> None:
    """Two for each job on the cluster that is not absent, for the master and the workers alone."""
    gone = {**REMOTE, "name": "gone", "state": "absent", "cluster": {"cores": 1, "port": 7300}}
    ports = driver_ports([LOCAL, REMOTE, gone, "text"], "192.0.2.32")
    assert [entry["port"] for entry in ports] == [7200, 7201]
    assert {source for entry in ports for source in entry["from"]} == {"spark_masters", "spark_workers"}
