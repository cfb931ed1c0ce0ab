"""Values that are taken as they are written, and were meant otherwise."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.batches import Batches, Row, batched, differ, judge, variables
from model.mistakes.access import users
from model.mistakes.base import JOB, LAB, THERE, config, kafka, spoil, zookeeper
from model.said import check

ZOOKEEPER_SOURCES = zookeeper(
    zookeeper_archive="/srv/apache-zookeeper-3.8.6.tar.gz", zookeeper_archive_checksum=f"sha512:{'0' * 128}"
)
KAFKA_SOURCES = kafka(kafka_archive="/srv/kafka-3.9.2-src.tgz", kafka_archive_checksum=f"sha512:{'0' * 128}")


def compacted(**more: Any) -> dict[str, dict[str, Any]]:
    """Return the lab's topics, the one of lines compacted."""
    lines = {"name": "streams-plaintext-input", "partitions": 6, "profile": "compacted_state", **more}
    return {"all": {"kafka_topics": [lines, THERE[1]]}}


def reported(rows: Sequence[Row], folder: Path) -> None:
    """Compare all lines of the lab with how those begin that the rows want."""
    lines = check(spoil(folder / "inventory", replace(LAB, variables=variables(rows))))[1]
    assert differ(lines, [begin for _, begin in rows if begin]) == []


@pytest.mark.parametrize(
    "batches",
    batched(
        [
            (config("group.min.session.timeout.ms", 60000), "LIMIT_MEANT group kafka/kafka_config[group.min."),
            (config("group.max.session.timeout.ms", 30000), "LIMIT_MEANT group kafka/kafka_config[group.max."),
            # Below what producers ask for by default, and below a pause of the garbage collector.
            (
                config("transaction.max.timeout.ms", 30000),
                "LIMIT_MEANT group kafka/kafka_config[transaction.max.timeout.",
            ),
            (
                config("message.max.bytes", 1000),
                "LIMIT_MEANT group kafka/kafka_config[message.max.bytes] = 1000: librd",
            ),
            (
                config("log.message.timestamp.before.max.ms", 60000),
                "LIMIT_MEANT group kafka/kafka_config[log.message.timestamp.before.max.ms] = 60000: producers retry",
            ),
            (
                config("replica.lag.time.max.ms", 400),
                "LIMIT_MEANT group kafka/kafka_config[replica.lag.time.max.ms] = 400",
            ),
            (
                config("request.timeout.ms", 500),
                "LIMIT_MEANT group kafka/kafka_config[request.timeout.ms] = 500: if a broker pauses",
            ),
            (config("group.min.session.timeout.ms", 45000), None),
            (config("group.max.session.timeout.ms", 45000), None),
            (
                users(quotas={"request_percentage": 0.5}),
                "QUOTA_VALUE group all/kafka_users[lab].quotas.request_percent",
            ),
            (users(quotas={"request_percentage": 1}), None),
            (ZOOKEEPER_SOURCES, "VERSION_DIFFERS group zookeeper/zookeeper_archive = apache-zookeeper-3.8.6.tar.gz"),
            (KAFKA_SOURCES, "VERSION_DIFFERS group kafka/kafka_archive = kafka-3.9.2-src.tgz"),
            ({"all": {"pki_source": "csr"}}, "CERTIFICATE_SOURCE group all/pki_source = csr"),
            (compacted(), "TOPIC_COMPACTED group all/kafka_topics[streams-plaintext-input].profile"),
            (compacted(profile="event_log"), None),
        ]
    ),
)
def test_said_once_or_not_at_all(batches: Batches, tmp_path: Path) -> None:
    judge(batches, reported, tmp_path)


@pytest.mark.parametrize(
    ("interval", "more", "said"),
    [
        ("5 minutes", {}, True),
        ("2 minutes", {}, True),
        ("90 seconds", {}, False),
        ("5 minutes", {"trigger": "micro-batch"}, False),
        ("5 minutes", {"stop": 400}, False),
        ("soon", {}, False),
    ],
)
def test_a_job_that_is_killed_before_its_interval_ends(
    interval: str, more: dict[str, Any], said: bool, tmp_path: Path
) -> None:
    """In real time a stop waits for the end of the interval."""
    topics = {"input_topic": "streams-plaintext-input", "output_topic": "streams-wordcount-output"}
    told = {**topics, "trigger": more.get("trigger", "real-time"), "trigger_interval": interval}
    job = {"name": "relay", "config": {**told, "checkpoint": "/var/lib/spark-job/relay/checkpoint"}}
    site = {"spark_job_jobs": [job], **({"spark_job_stop_timeout": more["stop"]} if "stop" in more else {})}
    wrong = replace(LAB, variables={"spark_consumer": site})
    found = [problem for problem in check(spoil(tmp_path / "inventory", wrong))[0] if problem.code == "JOB_STOP"]
    assert [problem.variable for problem in found] == ["spark_job_jobs[relay].config.trigger_interval"] * said


@pytest.mark.parametrize(
    ("inventory", "variables", "said"),
    [
        ("lab", config("log.retention.ms", "7d"), " = 7d: not a whole number; write 604800000: units are not"),
        (
            "lab",
            config("log.segment.bytes", "1GiB"),
            " = 1GiB: not a whole number of at least 14; write 1073741824: units",
        ),
        ("lab", {"all": {"organization": "Example, Inc."}}, ": ',' would break the subjects of certificates"),
        (
            "lab",
            {
                "spark_consumer": {
                    "spark_job_jobs": [{**JOB, "config": {**JOB["config"], "kafka": "{{ kafka_client }}"}}]
                }
            },
            "[count_words].config.kafka[sasl.jaas.config]: the job has no login, but listener CLIENT requires SCRAM-",
        ),
        (
            "lab_orders",
            {"all": {"postgresql_config": {"max_connections": 3}}},
            "postgresql_config[max_connections] = 3: PostgreSQL reserves 3 connections by default: the server would",
        ),
        (
            "lab",
            config("socket.request.max.bytes", 1_000_000),
            ": the largest batch would not fit into a request, and brokers would close the connection",
        ),
    ],
)
def test_what_is_said_of_it(inventory: str, variables: dict[str, Any], said: str, tmp_path: Path) -> None:
    """In an order that needs one reading: what is there, what comes of it, what to write."""
    lines = check(spoil(tmp_path / "inventory", replace(LAB, inventory=inventory, variables=variables)))[1]
    assert any(said in line for line in lines), lines
