"""Other ways in which jobs on the Spark cluster cannot work: each is reported at its place, with its advice."""

from dataclasses import replace
from pathlib import Path

import pytest

from model.mistakes.base import Mistake, spoil
from model.mistakes.spark_cluster import CONFIG, INVENTORY, without, wrong
from model.said import check

ORDERS = {
    "name": "orders",
    "job": "generate_orders",
    "cluster": {"cores": 1, "port": 7200},
    "config": {
        "output_topic": "streams-plaintext-input",
        "events_per_second": 1,
        "kafka": "{{ kafka_client | combine(kafka_users | millrace.kafka.kafka_login('publish_lines')) }}",
    },
}
WRONG = (
    wrong("JOB_CLUSTER", ".config.spark[spark.cores.max]", "use the keys of cluster", spark={"spark.cores.max": 4}),
    wrong(
        "JOB_CLUSTER",
        ".config.checkpoint",
        "mount one file system",
        checkpoint="/var/lib/spark-job/count_words/checkpoint",
    ),
    wrong("JOB_CLUSTER", ".config.shuffle_partitions", "for example to 2", shuffle_partitions=None),
    wrong(
        "JOB_CLUSTER_CORES",
        ".cluster",
        "lower cores, executor_cores or executor_memory",
        cluster={"cores": 2, "executor_memory": "4g", "port": 7200},
    ),
    wrong("JOB_CLUSTER", ".cluster.cores", "use at least 1", cluster={"cores": 0, "port": 7200}),
    wrong("JOB_CLUSTER", ".cluster.port", "use a port from 1024", cluster={"cores": 2, "port": 0}),
    wrong(
        "JOB_CLUSTER",
        ".cluster.cores",
        "such as 4",
        cluster={"cores": 3, "executor_cores": 2, "port": 7200},
    ),
    wrong(
        "JOB_CLUSTER",
        ".cluster.executor_memory",
        "a whole number with one letter",
        cluster={"cores": 2, "executor_memory": "1.5g", "port": 7200},
    ),
    wrong(
        "JOB_CLUSTER",
        ".config.spark[spark.executor.memory]",
        "use the keys of cluster",
        spark={"spark.executor.memory": "8g"},
    ),
    Mistake(
        "SPARK_CLUSTER_SAME",
        "dc1-worker2/spark_cluster_shared",
        "set it once",
        variables={"dc1-worker2": {"spark_cluster_shared": "/var/lib/spark-job/other"}},
        inventory=INVENTORY,
    ),
    Mistake(
        "JOB_CLUSTER",
        "group spark_producer/spark_job_jobs[orders].cluster",
        "remove cluster from this job",
        variables={"spark_producer": {"spark_job_jobs": [ORDERS]}},
        inventory=INVENTORY,
    ),
    without("spark_workers", "dc1-master1", "SPARK_CLUSTER", "add hosts to the group spark_workers"),
    Mistake(
        "SPARK_CLUSTER",
        "group spark_masters",
        "keep one host",
        hosts={"        dc1-master1: {": "        dc1-worker1: {}\n        dc1-master1: {"},
        inventory=INVENTORY,
    ),
)


def jobs(*names: str, **cluster: object) -> Mistake:
    """Return the inventory with several jobs on the cluster."""
    entries = [
        {
            "name": name,
            "job": "count_words",
            "cluster": {"cores": 1, "port": 7200 + 10 * number, **cluster},
            "config": {**CONFIG, "checkpoint": f"/var/lib/spark-job/shared/{name}"},
        }
        for number, name in enumerate(names)
    ]
    return Mistake("", "", "", variables={"spark_consumer": {"spark_job_jobs": entries}}, inventory=INVENTORY)


def test_memory_of_all_jobs_is_added(tmp_path: Path) -> None:
    """Each of two workers has 1 GiB: the third executor of 1 GiB would wait forever, though cores are free."""
    lines = check(spoil(tmp_path / "inventory", jobs("one", "two", "three", executor_memory="1g")))[1]
    assert len(found := [line for line in lines if line.startswith("JOB_CLUSTER_CORES")]) == 1, lines
    assert "spark_job_jobs[three].cluster" in found[0]
    assert "room for 0 of the 1 executors of 1 core and 1g" in found[0]
    assert "beside job one on dc1-spark2 and job two on dc1-spark2" in found[0]


def test_executors_of_several_jobs_fit(tmp_path: Path) -> None:
    """Four of 512 MiB on two workers of 1 GiB."""
    lines = check(spoil(tmp_path / "inventory", jobs("one", "two", "three", "four", executor_memory="512m")))[1]
    assert [line for line in lines if line.startswith("JOB_CLUSTER")] == [], lines


def test_two_hosts_with_one_shared_checkpoint(tmp_path: Path) -> None:
    """As a site that declares the job for the group spark would have it."""
    both = jobs("one", executor_memory="512m")
    both = replace(both, variables={"spark": both.variables["spark_consumer"], "dc1-spark1": {}})
    mistake = replace(both, files={"group_vars/spark_producer/a.yml": "{}", "group_vars/spark_consumer/a.yml": "{}"})
    lines = check(spoil(tmp_path / "inventory", mistake))[1]
    assert any("job one on dc1-spark1 has the same directory on the shared" in line for line in lines), lines


@pytest.mark.parametrize("mistake", WRONG, ids=lambda mistake: f"{mistake.where.rpartition('.')[2]}: {mistake.advice}")
def test_wrong(mistake: Mistake, tmp_path: Path) -> None:
    """The code at its place, with its advice; nothing else about the cluster."""
    lines = check(spoil(tmp_path / "inventory", mistake), mistake.extra)[1]
    about = [line for line in lines if line.startswith(("SPARK_", "JOB_"))]
    assert len(about) == 1, lines
    assert about[0].startswith(f"{mistake.code} {mistake.where}"), lines
    assert mistake.advice in about[0], lines
