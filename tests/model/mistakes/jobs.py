"""Wrong inventories: logins, memory, tasks and hosts of Spark jobs."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import JOB, Mistake

PLACE = "group spark_consumer/spark_job_jobs[count_words].config"
AGAIN = "group spark_consumer/spark_job_jobs[again].config"
CONFIG: dict[str, Any] = JOB["config"]
KAFKA = CONFIG["kafka"].removesuffix(" }}")


def job(*more: dict[str, Any], **config: Any) -> dict[str, dict[str, Any]]:
    """Return the consumer's job with changes (None removes a key), and other jobs."""
    changed = {name: value for name, value in {**CONFIG, **config}.items() if value is not None}
    return {"spark_consumer": {"spark_job_jobs": [{**JOB, "config": changed}, *more]}}


def again(**config: Any) -> dict[str, Any]:
    """Return another job of the same kind."""
    return {"name": "again", "job": "count_words", "config": {**CONFIG, "checkpoint": "/var/lib/spark-job/b", **config}}


def client(name: str, value: str) -> str:
    """Return the job's login with one client property more."""
    return f"{KAFKA} | combine({{'{name}': '{value}'}}) }}}}"


STOPPED = {**JOB, "state": "stopped"}
RELAY: dict[str, Any] = {
    **JOB,
    "job": "relay",
    "config": {**JOB["config"], "trigger": "real-time", "spark": {"spark.master": "local[4]"}},
}

SLOW = {**RELAY["config"], "trigger_interval": "5 minutes", "spark": {"spark.master": "local[6]"}}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "JOB_MEMORY_SMALL",
        f"{PLACE}.spark[spark.driver.memory]",
        "such as 1g",
        variables=job(spark={"spark.driver.memory": "4m"}),
    ),
    Mistake(
        "JOB_GROUP",
        f"{AGAIN}.kafka[group.id]",
        "remove it",
        variables=job(
            again(kafka=client("group.id", "spark-kafka-source-a")), kafka=client("group.id", "spark-kafka-source-a")
        ),
    ),
    Mistake(
        "JOB_LISTENER",
        f"{PLACE}.kafka[bootstrap.servers]",
        "a listener for clients",
        variables=job(kafka=client("bootstrap.servers", "198.18.2.21:9093")),
    ),
    Mistake(
        "JOB_PROTOCOL",
        f"{PLACE}.kafka[security.protocol]",
        "use SASL_SSL",
        variables=job(kafka=client("security.protocol", "SSL")),
    ),
    Mistake(
        "JOB_MECHANISM",
        f"{PLACE}.kafka[sasl.mechanism]",
        "use one of these",
        variables=job(kafka=client("sasl.mechanism", "PLAIN")),
    ),
    Mistake(
        "JOB_MEMORY",
        f"{PLACE}.spark[spark.driver.memory]",
        "512m or 4g",
        variables=job(spark={"spark.driver.memory": "4 gigs"}),
    ),
    Mistake(
        "JOB_SPARK_SUSPECT",
        f"{PLACE}.spark[spark.drivr.memory]",
        "did you mean spark.driver.memory?",
        variables=job(spark={"spark.drivr.memory": "4g"}),
    ),
    Mistake(
        "JOB_MEMORY_LIMIT",
        "group spark/spark_job_memory_max",
        "50% or infinity",
        variables={"spark": {"spark_job_memory_max": "4 gigs"}},
    ),
    Mistake(
        "JOB_MEMORY_MAX",
        f"{PLACE}.spark[spark.driver.memory]",
        "raise spark_job_memory_max",
        variables={
            "spark_consumer": {
                **job(spark={"spark.driver.memory": "4g"})["spark_consumer"],
                "spark_job_memory_max": "4G",
            }
        },
    ),
    Mistake(
        "JOB_MEMORY_SUM",
        "dc1-spark2/memory",
        "another host",
        variables={
            **job(again(spark={"spark.driver.memory": "6g"}), spark={"spark.driver.memory": "6g"}),
            "dc1-spark2": {"memory": "8g"},
        },
    ),
    Mistake(
        "JOB_NAME", "group spark_consumer/spark_job_jobs", "letters, digits", variables=job({**again(), "name": "a/b"})
    ),
    Mistake(
        "JOB_MASTER",
        f"{PLACE}.spark[spark.master]",
        "local[4]",
        variables=job(spark={"spark.master": "spark://spark1:7077"}),
    ),
    Mistake(
        "JOB_UNKNOWN",
        "group spark_consumer/spark_job_jobs[word_count].job",
        "one of archive_events, average_readings, count_words, generate_orders, ",
        variables={"spark_consumer": {"spark_job_jobs": [{**JOB, "name": "word_count"}]}},
    ),
    Mistake(
        "JOB_SPARK_VALUE",
        f"{PLACE}.spark[spark.driver.cores]",
        "a whole number",
        variables=job(spark={"spark.driver.cores": "2g"}),
    ),
    Mistake(
        "JOB_STOP",
        f"{PLACE}.trigger_interval",
        "raise spark_job_stop_timeout",
        variables={"spark_consumer": {"spark_job_jobs": [{**RELAY, "config": SLOW}]}},
    ),
    Mistake(
        "JOB_WATCHDOG",
        "group spark_consumer/spark_job_jobs[count_words].watchdog",
        "at least 60",
        variables={"spark_consumer": {"spark_job_jobs": [{**JOB, "watchdog": 10}]}},
    ),
    Mistake(
        "JOB_SLOTS",
        f"{PLACE}.spark[spark.master]",
        "use local[6]",
        variables={"spark_consumer": {"spark_job_jobs": [RELAY]}},
    ),
    Mistake(
        "JOB_TWICE",
        "group spark/spark_job_jobs[count_words]",
        "set state: stopped on one of the two hosts",
        variables={"spark": job()["spark_consumer"]},
    ),
    Mistake(
        "JOB_STANDBY",
        "dc1-spark2/standby",
        "remove standby: true",
        variables={"dc1-spark2": {"standby": True, "spark_job_jobs": [STOPPED]}},
    ),
)
