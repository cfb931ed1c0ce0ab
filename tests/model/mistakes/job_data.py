"""Wrong inventories: what Spark jobs read and write."""

from __future__ import annotations

from typing import Any

from model.mistakes.access import users
from model.mistakes.base import ALL, JOB, Mistake, login
from model.mistakes.jobs import AGAIN, CONFIG, again
from model.mistakes.jobs import PLACE as CONSUMER
from model.mistakes.jobs import job as consumer

PLACE = "group spark_consumer/spark_job_jobs"


def job_entry(name: str, kind: str, **config: Any) -> dict[str, Any]:
    """Return a job that logs in as count_words of the lab, which may read and write."""
    own = {"kafka": login("count_words", "count_words"), "checkpoint": f"/var/lib/spark-job/{name}/checkpoint"}
    return {"name": name, "job": kind, "config": {**own, **config}}


def archive(name: str) -> dict[str, Any]:
    """Return a job that archives the records of the lab's topic."""
    return job_entry(
        name, "archive_events", input_topics=["streams-plaintext-input"], output_directory="/var/lib/spark-job/a"
    )


def with_relay(*jobs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return jobs besides the lab's own job, and a user with the grants of a relay between its two topics."""
    topics = ["streams-plaintext-input", "streams-wordcount-output"]
    grants = [{"consume": topics, "group": "spark-kafka-source*"}, {"produce": topics}]
    relay = {"name": "relay", "password": "{{ vault.passwords.generate_orders }}", "grants": grants}
    return {**users(relay), "spark_consumer": {"spark_job_jobs": [JOB, *jobs]}}


BACK = job_entry(
    "relay",
    "relay",
    input_topic="streams-wordcount-output",
    output_topic="streams-plaintext-input",
    kafka=login("relay", "generate_orders"),
)
RELAY = job_entry("relay", "relay", input_topic="streams-plaintext-input", output_topic="streams-wordcount-output")
TOPICS = [
    {"name": "streams-plaintext-input", "partitions": 6, "profile": "large_messages"},
    {"name": "streams-wordcount-output", "partitions": 6},
]

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "JOB_CHECKPOINT_DATA",
        f"{CONSUMER}.spark[spark.local.dir]",
        "use a directory outside",
        variables=consumer(spark={"spark.local.dir": f"{CONFIG['checkpoint']}/tmp"}),
    ),
    Mistake(
        "JOB_DIRECTORY",
        f"{CONSUMER}.checkpoint",
        "below /var/lib/spark-job",
        variables=consumer(checkpoint="/tmp/words"),
    ),
    Mistake(
        "JOB_CHECKPOINT_NESTED",
        f"{AGAIN}.checkpoint",
        "its own checkpoint",
        variables=consumer(again(checkpoint=f"{CONFIG['checkpoint']}/")),
    ),
    Mistake("JOB_LOOP", f"{PLACE}[relay]", "stop one of the jobs", variables=with_relay(BACK)),
    Mistake(
        "JOB_OUTPUT_SHARED",
        f"{PLACE}[second].config.output_directory",
        "its own directory",
        variables={"spark_consumer": {"spark_job_jobs": [archive("first"), archive("second")]}},
    ),
    Mistake(
        "TOPIC_COMPACTED",
        f"{ALL}/kafka_topics[streams-plaintext-input].profile",
        "use another profile",
        variables={"all": {"kafka_topics": [{**TOPICS[0], "profile": "compacted_state"}, TOPICS[1]]}},
    ),
    Mistake(
        "JOB_MESSAGE",
        f"{PLACE}[relay].config.output_topic",
        "set max.message.bytes of streams-wordcount-output",
        variables={"spark_consumer": {"spark_job_jobs": [RELAY]}, "all": {"kafka_topics": TOPICS}},
    ),
)
