"""Wrong inventories: jobs over several nodes."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import JOB, Mistake
from model.mistakes.jobs import PLACE, job

STOPPED = {**JOB, "state": "stopped"}
RELAY: dict[str, Any] = {
    **JOB,
    "job": "relay",
    "config": {**JOB["config"], "trigger": "real-time", "spark": {"spark.master": "local[4]"}},
}

SLOW = {**RELAY["config"], "trigger_interval": "5 minutes", "spark": {"spark.master": "local[6]"}}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "JOB_STOP",
        f"{PLACE}.trigger_interval",
        "raise spark_job_stop_timeout",
        variables={"spark_consumer": {"spark_job_jobs": [{**RELAY, "config": SLOW}]}},
    ),
    Mistake(
        "JOB_SLOTS",
        f"{PLACE}.spark[spark.master]",
        "write local[6]",
        variables={"spark_consumer": {"spark_job_jobs": [RELAY]}},
    ),
    Mistake(
        "JOB_TWICE",
        "group spark/spark_job_jobs[count_words]",
        "standby: true",
        variables={"spark": job()["spark_consumer"]},
    ),
    Mistake(
        "JOB_STANDBY",
        "dc1-spark2/standby",
        "take it out",
        variables={"dc1-spark2": {"standby": True, "spark_job_jobs": [STOPPED]}},
    ),
)
