"""Wrong inventories: clients and jobs."""

from __future__ import annotations

from model.mistakes.base import BROKERS, JOB, Mistake, kafka

MISTAKES: tuple[Mistake, ...] = (
    # Clients
    Mistake(
        "ZOOKEEPER_CONNECT_UNKNOWN",
        f"{BROKERS}/kafka_zookeeper_connect",
        "of the group zookeeper",
        variables=kafka(
            kafka_zookeeper_connect=["198.18.1.11:2281", "198.18.1.12:2281", "198.18.1.13:2281", "198.18.1.14:2281"]
        ),
    ),
    Mistake(
        "ZOOKEEPER_CONNECT_PARTIAL",
        f"{BROKERS}/kafka_zookeeper_connect",
        "every ZooKeeper server",
        variables=kafka(kafka_zookeeper_connect=["198.18.1.11:2281"]),
    ),
    Mistake(
        "ZOOKEEPER_CONNECT_EMPTY",
        f"{BROKERS}/kafka_zookeeper_connect",
        "remove it",
        variables=kafka(kafka_zookeeper_connect=[]),
    ),
    Mistake(
        "CHROOT_INVALID", f"{BROKERS}/kafka_zookeeper_chroot", "/kafka", variables=kafka(kafka_zookeeper_chroot="kafka")
    ),
    Mistake(
        "BOOTSTRAP_UNKNOWN",
        "group spark/kafka_client[bootstrap.servers]",
        "write 198.18.1.21:9092 (listener CLIENT)",
        variables={"spark": {"kafka_client": {"bootstrap.servers": "198.18.1.21:9093"}}},
        also=frozenset({"JOB_PROTOCOL"}),
    ),
    Mistake(
        "ACKS_NOT_ALL",
        "group spark/kafka_client[acks]",
        "default: all",
        variables={"spark": {"kafka_client": {"bootstrap.servers": "198.18.1.21:9092", "acks": 1}}},
        also=frozenset({"JOB_PROTOCOL"}),
    ),
    # Jobs
    Mistake(
        "JOB_DUPLICATE",
        "group spark_consumer/spark_job_jobs",
        "another name",
        variables={"spark_consumer": {"spark_job_jobs": [JOB, JOB]}},
    ),
    Mistake(
        "JOB_CHECKPOINT",
        "group spark_consumer/spark_job_jobs[again].config.checkpoint",
        "a checkpoint of its own",
        variables={"spark_consumer": {"spark_job_jobs": [JOB, {**JOB, "name": "again", "job": "count_words"}]}},
    ),
    Mistake(
        "JOB_CONFIG",
        "group spark_consumer/spark_job_jobs[count_words].config",
        "input_topic",
        variables={"spark_consumer": {"spark_job_jobs": [{**JOB, "config": {**JOB["config"], "input_topics": "x"}}]}},
    ),
    Mistake(
        "WHEEL_ABSENT",
        "group spark/spark_job_wheel",
        "packaging/build.sh jobs",
        variables={"spark": {"spark_job_wheel": "/nowhere/millrace.whl"}},
    ),
    Mistake(
        "WHEEL_UNFIT",
        "group spark/spark_job_wheel",
        "rebuild it",
        variables={"spark": {"spark_job_wheel": "{{ inventory_dir }}/hosts.yml"}},
    ),
)
