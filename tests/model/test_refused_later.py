"""What a run, a JVM or a client refuses only after hosts were changed is said before, with the word that is meant."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.jobs import job
from model.test_meant import MEMORY, TOPIC, said, topics

CONFIG = "dc1-spark2/spark_job_jobs[count_words].config"


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        # The launcher makes -Xmx of it, and the JVM takes one letter.
        (job(spark={"spark.driver.memory": "2gb"}), [f"JOB_MEMORY {MEMORY}"]),
        (job(spark={"spark.driver.memory": "2048MB"}), [f"JOB_MEMORY {MEMORY}"]),
        (job(spark={"spark.driver.memory": "2G", "spark.driver.memoryOverhead": "512mb"}), []),
        # YAML makes a date of what has no quotes, which no file of a job can hold.
        (job(input_start={"timestamp": datetime(2026, 1, 31, 12, tzinfo=UTC)}),
         [f"JOB_CONFIG {CONFIG}.input_start[timestamp]"]),
        (job(input_start={"timestamp": "2026-01-31T12:00:00Z"}), []),
        # What may stand still while a broker is restarted is named.
        (topics({"min.insync.replicas": 2}, replication_factor=2),
         [f"TOPIC_MIN_ISR_EQUAL {TOPIC}[min.insync.replicas]"]),
        (topics({"min.insync.replicas": 2}, ["scratch"], replication_factor=2),
         [f"warn TOPIC_MIN_ISR_EQUAL {TOPIC}[min.insync.replicas]"]),
        (topics({}, ["scratch"], {"config": {"min.insync.replicas": 2}}, replication_factor=2),
         ["warn TOPIC_MIN_ISR_EQUAL group kafka/kafka_topics[scratch].replication_factor"]),
    ],
)  # fmt: skip
def test_of_the_lab(variables: dict[str, Any], wanted: list[str], tmp_path: Path) -> None:
    """The mistake is said where it is made; what is meant is not said at all."""
    assert said(tmp_path, variables) == wanted
