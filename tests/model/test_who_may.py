"""Users who cannot come, and grants and topics with which nobody can work: said at the word that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.mistakes.access import NEW, users
from model.mistakes.base import kafka
from model.test_reached import said
from model.test_said_in_place import MTLS

RULES = ["RULE:^CN=([^,]+),OU=clients,O={{ organization }}$/$1/L"]


def connect(**partitions: int) -> dict[str, Any]:
    """Return the topics in which workers of Connect keep what they know, and their user."""
    topics = [{"name": f"etl-{name}", "partitions": number, "profile": "compacted_state"}
              for name, number in partitions.items()]  # fmt: skip
    lab = [{"name": name, "manage": False} for name in ("streams-plaintext-input", "streams-wordcount-output")]
    etl = {**NEW, "name": "etl", "grants": [{"connect": "etl", "topics": [topic["name"] for topic in topics]}]}
    return {"all": {"kafka_topics": [*lab, *topics], **users(etl)["all"]}}


UNSAID = connect(configs=0, offsets=0, status=0)["all"]
for topic in UNSAID["kafka_topics"]:
    topic.pop("partitions", None)


def starless(group: str) -> dict[str, Any]:
    """Return the lab's users, that of the job with another group."""
    found = users()
    found["all"]["kafka_users"][2]["grants"] = [
        {"consume": ["streams-plaintext-input"], "group": group},
        {"produce": ["streams-wordcount-output"]},
    ]
    return found


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        (
            starless("spark-kafka-source"),
            "JOB_ACL group all/kafka_users[count_words].grants[consume].group = spark-kafka-source: matches only the "
            "group spark-kafka-source, but the groups of job count_words (dc1-spark2) begin with this name: reads "
            "would be denied; write spark-kafka-source*",
        ),
        (
            connect(configs=6, offsets=6, status=6),
            "TOPIC_STATE group all/kafka_topics[etl-configs].partitions = 6: Connect keeps its configurations in "
            "this topic (kafka_users[etl].grants[connect]): its workers do not start if the topic has more than one "
            "partition; declare it with partitions: 1",
        ),
        (
            {"all": {**UNSAID, "kafka_topic_defaults": {"partitions": 12}}},
            "TOPIC_STATE group all/kafka_topics[etl-configs]: Connect keeps its configurations in this topic "
            "(kafka_users[etl].grants[connect]): its workers do not start if the topic has more than one partition, "
            "but kafka_topic_defaults.partitions sets 12; declare partitions: 1 for this topic",
        ),
        (
            connect(one=6, two=6, three=6),
            "TOPIC_STATE group all/kafka_users[etl].grants[connect].topics = etl-one, etl-two, etl-three: none of "
            "these topics",
        ),
        (
            users({**NEW, "verify": "generation", "generation": 1, "iterations": 16384}),
            "USER_GENERATION group all/kafka_users[orders].iterations = 16384: the generation is added to it, and "
            "Kafka rejects a sum above 16384; use a multiple of 1024 from 4096 to 15360",
        ),
    ],
)
def test_said_once(variables: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    lines = said(variables, tmp_path)
    assert len(lines) == 1, lines
    assert lines[0].startswith(wanted), lines


@pytest.mark.parametrize(
    "variables",
    [starless("spark-kafka-source*"), connect(configs=1, offsets=6, status=6), connect(one=6, two=6, three=1)],
    ids=["star", "configs", "one of them"],
)
def test_it_is_right(variables: dict[str, Any], tmp_path: Path) -> None:
    assert said(variables, tmp_path) == []


def test_the_acl_that_lacks_its_pattern(tmp_path: Path) -> None:
    """As a grant that lacks its star."""
    found = starless("of-another")
    acl = {"principal": "User:count_words", "operations": ["READ"], "resource": "group", "name": "spark-kafka-source"}
    found["all"]["kafka_acls"] = [acl]
    assert said(found, tmp_path) == [
        "JOB_ACL group all/kafka_acls[User:count_words].name = spark-kafka-source: matches only the group "
        "spark-kafka-source, but the groups of job count_words (dc1-spark2) begin with this name: reads would be "
        "denied; add pattern: prefixed"
    ]


@pytest.mark.parametrize(("name", "nobody"), [("Reports", True), ("reports", False), ("admin", False)])
def test_who_can_be_a_user_by_certificate(name: str, nobody: bool, tmp_path: Path) -> None:
    """Not on the listener of brokers and the control node, to which nobody else comes."""
    user = {"name": name, "credential": False, "grants": [{"produce": ["streams-plaintext-input"]}]}
    listener = {**MTLS, "principal_mapping_rules": RULES, "truststore": "/etc/kafka/tls/clients.pem"}
    store = {"path": "/etc/kafka/tls/clients.pem", "authorities": ["clients"], "group": "kafka"}
    variables = {**users(user), **kafka(site_listeners=[listener], site_truststores=[store])}
    lines = [line for line in said(variables, tmp_path, "dc1") if "USER_NOBODY" in line]
    assert len(lines) == nobody, lines
