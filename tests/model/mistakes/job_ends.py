"""Wrong inventories: what jobs write to."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import BROKERS, Mistake, login

PLACE = "dc1-spark2/spark_job_jobs"


def job(name: str, kind: str, **config: Any) -> dict[str, Any]:
    """Return a job that logs in as the one of the lab that reads and writes."""
    own = {"kafka": login("count_words", "count_words"), "checkpoint": f"/var/lib/spark-job/{name}/checkpoint"}
    return {"name": name, "job": kind, "config": {**own, **config}}


def archive(name: str) -> dict[str, Any]:
    """Return a job that keeps the records of the lab's topic."""
    return job(
        name, "archive_events", input_topics=["streams-plaintext-input"], output_directory="/var/lib/spark-job/a"
    )


RELAY = job("relay", "relay", input_topic="streams-plaintext-input", output_topic="streams-wordcount-output")
TOPICS = [
    {"name": "streams-plaintext-input", "partitions": 6, "profile": "large_messages"},
    {"name": "streams-wordcount-output", "partitions": 6},
]

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "JOB_OUTPUT_SHARED",
        f"{PLACE}[second].config.output_directory",
        "of its own",
        variables={"spark_consumer": {"spark_job_jobs": [archive("first"), archive("second")]}},
    ),
    Mistake(
        "TOPIC_COMPACTED",
        f"{BROKERS}/kafka_topics[streams-plaintext-input].profile",
        "use another profile",
        variables={"all": {"kafka_topics": [{**TOPICS[0], "profile": "compacted_state"}, TOPICS[1]]}},
    ),
    Mistake(
        "JOB_MESSAGE",
        f"{PLACE}[relay].config.output_topic",
        "the same max.message.bytes",
        variables={"spark_consumer": {"spark_job_jobs": [RELAY]}, "all": {"kafka_topics": TOPICS}},
    ),
)
