"""Check the permissions that a job needs, which preflight compares with the ACLs."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from made_archives import made_archives, own_wheel

from ansible_collections.millrace.kafka.plugins.plugin_utils.job_wheel import Answers, ask
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.permissions import needs

Needs = set[tuple[str, ...]]
SPARK = ("READ", "group", "spark-kafka-source", "prefixed")
# Jobs of a site's own wheel. Their topics are declared nowhere else.
IMPORTS = """
from dataclasses import dataclass
from millrace_jobs import checks
from millrace_jobs.contract import Contract, ORDERS
from millrace_jobs.job import Job, parameter
from millrace_jobs.parts import FileSink, KafkaSink, KafkaSource
EVENTS = Contract("own-events", "id STRING NOT NULL", "json", key="id", dead_letters="own-events-dead")
ALERTS = Contract("own-alerts", "id STRING NOT NULL", "json", key="id", dead_letters="never-written")
LINES = Contract("own-lines", "line STRING")
"""
OWN = {
    "own_alerts": "JOB = Job('-', inputs=(KafkaSource(EVENTS), KafkaSource(ORDERS, 'orders')),"
    " outputs=(KafkaSink(ALERTS), KafkaSink(LINES, 'loud', files=True)), transform=print)",
    "own_probe": "@dataclass(frozen=True)\nclass P:\n"
    "    back_topic: str = parameter(checks.topic_name, default='own-back')\n"
    "JOB = Job('-', outputs=(KafkaSink(LINES),), parameters=P, reads=('back_topic',), loop=print)",
    "own_archive": "JOB = Job('-', inputs=(KafkaSource(LINES, files=True),), outputs=(FileSink(('topic',)),),"
    " transform=print)",
}
CASES: list[tuple[str, dict[str, Any], Needs]] = [
    (
        "count_words",
        {"group": "words"},
        {
            ("READ", "topic", "streams-plaintext-input", "literal"),
            SPARK,
            ("READ", "group", "words", "literal"),
            ("WRITE", "topic", "streams-wordcount-output", "literal"),
        },
    ),
    (
        "project_orders",
        {},
        {("READ", "topic", "orders", "literal"), SPARK, ("WRITE", "topic", "orders-dead", "literal")},
    ),
    (
        "project_orders",
        {"input_topic": "o", "dead_letter_topic": "d"},
        {("READ", "topic", "o", "literal"), SPARK, ("WRITE", "topic", "d", "literal")},
    ),
    ("generate_orders", {}, {("WRITE", "topic", "orders", "literal")}),
    (
        "join_shipments",
        {"shipments_topic": "left"},
        {
            ("READ", "topic", "orders", "literal"),
            ("READ", "topic", "left", "literal"),
            SPARK,
            ("WRITE", "topic", "orders-dead", "literal"),
            ("WRITE", "topic", "shipments-dead", "literal"),
            ("WRITE", "topic", "orders-shipped", "literal"),
        },
    ),
    (
        "archive_events",
        {"input_topics": ["a", "b"], "output_directory": "/var/lib/spark-job/archive"},
        {("READ", "topic", "a", "literal"), ("READ", "topic", "b", "literal"), SPARK},
    ),
    (
        "measure_latency",
        {"arrives_topic": "there"},
        {("READ", "topic", "there", "literal"), ("WRITE", "topic", "canaries", "literal")},
    ),
    ("measure_latency", {}, {("READ", "topic", "canaries", "literal"), ("WRITE", "topic", "canaries", "literal")}),
    (
        "own_alerts",
        {"orders_topic": "o"},
        {
            ("READ", "topic", "own-events", "literal"),
            ("READ", "topic", "o", "literal"),
            SPARK,
            ("WRITE", "topic", "own-events-dead", "literal"),
            ("WRITE", "topic", "orders-dead", "literal"),
            ("WRITE", "topic", "own-alerts", "literal"),
            ("WRITE", "topic", "own-lines", "literal"),
        },
    ),
    (
        "own_alerts",
        {"dead_letter_topic": "d", "loud_directory": "/var/lib/spark-job/loud", "kafka": {"group.id": "g"}},
        {
            ("READ", "topic", "own-events", "literal"),
            ("READ", "topic", "orders", "literal"),
            ("READ", "group", "g", "literal"),
            ("WRITE", "topic", "d", "literal"),
            ("WRITE", "topic", "own-alerts", "literal"),
        },
    ),
    ("own_probe", {}, {("READ", "topic", "own-back", "literal"), ("WRITE", "topic", "own-lines", "literal")}),
    ("own_archive", {}, {("READ", "topic", "own-lines", "literal"), SPARK}),
    ("own_archive", {"input_directory": "/srv/lines"}, set()),
    ("own_archive", {"input_topic": 7}, set()),  # reported as JOB_CONFIG
    ("no_such_job", {"input_topic": "t"}, set()),  # reported as JOB_UNKNOWN
]


@cache
def answers() -> Answers:
    """Return what a wheel with the project's jobs and jobs of a site answers to all configurations."""
    wheel = own_wheel({name: IMPORTS + text for name, text in OWN.items()})
    return ask(str(wheel), [(kind, config) for kind, config, _ in CASES])


@pytest.mark.parametrize("number", range(len(CASES)), ids=[kind for kind, _, _ in CASES])
def test_topics_and_groups(number: int) -> None:
    kind, config, wanted = CASES[number]
    assert set(needs(Job("some", kind, config, uses=answers().uses[number]))) == wanted


def test_jobs_of_a_wheel_without_the_module_that_lists_topics() -> None:
    """A wheel of an older version: the reason is reported, and nothing is known of its jobs."""
    wheel = own_wheel({"own_job": IMPORTS + OWN["own_probe"]}, without="millrace_jobs/uses.py")
    answer = ask(str(wheel), [("own_job", {})])
    assert "millrace_jobs.uses" in answer.error
    assert not answer.uses[0].known


def test_the_wheel_of_the_archives_is_asked() -> None:
    answer = ask(str(made_archives() / "millrace_jobs-0.1.0-py3-none-any.whl"), [("generate_orders", {})])
    assert (answer.error, dict(answer.uses[0].writes)) == ("", {"orders": "output_topic"})
