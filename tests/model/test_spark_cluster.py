"""Other ways in which jobs on the Spark cluster cannot work: each is reported at its place, with its advice."""

from pathlib import Path

import pytest

from model.mistakes.base import Mistake, spoil
from model.mistakes.spark_cluster import INVENTORY, without, wrong
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
    wrong("JOB_CLUSTER", ".config.spark[spark.cores.max]", "remove it", spark={"spark.cores.max": 4}),
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


@pytest.mark.parametrize("mistake", WRONG, ids=lambda mistake: mistake.advice)
def test_wrong(mistake: Mistake, tmp_path: Path) -> None:
    """The code at its place, with its advice; nothing else about the cluster."""
    lines = check(spoil(tmp_path / "inventory", mistake), mistake.extra)[1]
    about = [line for line in lines if line.startswith(("SPARK_", "JOB_"))]
    assert len(about) == 1, lines
    assert about[0].startswith(f"{mistake.code} {mistake.where}"), lines
    assert mistake.advice in about[0], lines
