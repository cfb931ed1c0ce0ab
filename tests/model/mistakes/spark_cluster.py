"""Wrong inventories: the Spark cluster, and jobs that run on it."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import VAULT, Mistake

INVENTORY = "lab_spark_cluster"
JOBS = "group spark_consumer/spark_job_jobs[count_words]"
CONFIG: dict[str, Any] = {
    "input_topic": "streams-plaintext-input",
    "output_topic": "streams-wordcount-output",
    "kafka": "{{ kafka_client | combine(kafka_users | millrace.kafka.kafka_login('count_words')) }}",
    "checkpoint": "/var/lib/spark-job/shared/count_words/checkpoint",
    "shuffle_partitions": 2,
}


def wrong(code: str, place: str, advice: str, cluster: dict[str, Any] | None = None, **config: Any) -> Mistake:
    """Return a mistake of the job on the cluster; None removes a key of its configuration."""
    changed = {key: value for key, value in {**CONFIG, **config}.items() if value is not None}
    entry = {"name": "count_words", "cluster": cluster or {"cores": 2, "port": 7200}, "config": changed}
    variables = {"spark_consumer": {"spark_job_jobs": [entry]}}
    return Mistake(code, f"{JOBS}{place}", advice, variables=variables, inventory=INVENTORY)


def without(group: str, hosts: str, code: str, advice: str) -> Mistake:
    """Return a mistake: a group of the cluster has another name, so that the cluster has no such hosts."""
    renamed = {f"    {group}:": f"    former_{group}:"}
    return Mistake(code, hosts, advice, hosts=renamed, also=frozenset({"HOST_WITHOUT_FUNCTION"}), inventory=INVENTORY)


MISTAKES: tuple[Mistake, ...] = (
    without("spark_masters", "group spark_workers", "SPARK_CLUSTER", "add a host to the group spark_masters"),
    Mistake(
        "SPARK_CLUSTER_SECRET",
        "groups spark_masters and spark_workers/spark_cluster_secret",
        "openssl rand",
        inventory=INVENTORY,
        extra={"vault": {**VAULT, "spark_cluster_secret": "too-short"}},
    ),
    Mistake(
        "SPARK_CLUSTER_SHARED",
        "group all/spark_cluster_shared",
        "/var/lib/spark-job/shared",
        hosts={"spark_cluster_shared: /var/lib/spark-job/shared": "spark_cluster_shared: /srv/shared"},
        also=frozenset({"JOB_DIRECTORY"}),
        inventory=INVENTORY,
    ),
    Mistake(
        "SPARK_CLUSTER_SAME",
        "group spark_consumer/spark_cluster_executor_port",
        "set it once",
        variables={"spark_consumer": {"spark_cluster_executor_port": 7500}},
        inventory=INVENTORY,
    ),
    Mistake(
        "JOB_CLUSTER",
        "group spark_consumer/spark_job_jobs[count_words].cluster",
        "add hosts to spark_masters and spark_workers",
        variables={
            "spark_consumer": {
                "spark_job_jobs": [
                    {
                        "name": "count_words",
                        "cluster": {"cores": 2, "port": 7200},
                        "config": {**CONFIG, "checkpoint": "/var/lib/spark-job/count_words/checkpoint"},
                    }
                ]
            }
        },
    ),
    wrong("JOB_CLUSTER_CORES", ".cluster", "or raise spark_cluster_cores", cluster={"cores": 8, "port": 7200}),
    wrong(
        "JOB_SPARK_SECRET",
        ".config.spark[spark.hadoop.fs.s3a.secret.key]",
        "can have no secret besides",
        spark={"spark.hadoop.fs.s3a.secret.key": "{{ vault.passwords.count_words }}"},
    ),
)
