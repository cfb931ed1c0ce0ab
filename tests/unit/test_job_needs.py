"""Check the permissions that a job needs, which preflight compares with the ACLs."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.permissions import needs

SPARK = ("READ", "group", "spark-kafka-source", "prefixed")


@pytest.mark.parametrize(
    ("kind", "config", "wanted"),
    [
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
    ],
)
def test_topics_and_groups(kind: str, config: dict[str, Any], wanted: set[tuple[str, ...]]) -> None:
    assert set(needs(Job("some", kind, config))) == wanted
