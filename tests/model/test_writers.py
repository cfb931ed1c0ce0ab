"""A mistake of several words, jobs or hosts is said once, of the word that the site wrote."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.access import acl
from model.mistakes.base import LAB, kafka, spoil
from model.said import check

DENIAL = {"principal": "User:*", "resource": "topic", "pattern": "prefixed", "permission": "deny"}


@pytest.mark.parametrize(
    ("inventory", "variables", "said"),
    [
        ("lab", {"all": {"client_port": 9093}}, "LISTENER_PORT group all/client_port = 9093"),
        ("lab", kafka(replication_port=9092), "LISTENER_PORT group kafka/replication_port = 9092"),
        ("lab", {"all": {"pki_renew_days": 400}}, "CERTIFICATE_DAYS group all/pki_renew_days = 400"),
        ("lab", {"all": {"pki_days": 20}}, "CERTIFICATE_DAYS group all/pki_days = 20"),
        (
            "dc1",
            {"spark_consumer": {"spark_job_memory_max": "2G"}},
            "JOB_MEMORY_MAX group spark_consumer/spark_job_memory_max = 2G: the limit of the unit of each job, but "
            "the heaps alone are count_words 4g, project_orders 4g, and Python and the JVM need more memory",
        ),
        (
            "lab",
            acl({**DENIAL, "operations": ["ALL"], "name": "streams-"}),
            "ACL_JOB_DENIED group all/kafka_acls[User:*]: denies job publish_lines WRITE on topic "
            "streams-plaintext-input (dc1-spark1) and job count_words READ on topic streams-plaintext-input "
            "(dc1-spark2)",
        ),
        (
            "dc1",
            kafka(base_firewall_rules=[{"port": 9100, "from": ["192.0.2.7"]}]),
            "FIREWALL_FORGOTTEN group kafka/base_firewall_rules: these rules replace the rules of functions/*.yml, and "
            "no rule is for 9092, 9093",
        ),
        (
            "lab_stretch2_5",
            {"all": {"zookeeper_weights": {7: 0}}},
            "ZOOKEEPER_INDISPENSABLE group all/zookeeper_weights[7] = 0: dc3-zk1 does not vote: if datacenter dc1 or "
            "datacenter dc2 fails, the quorum is lost",
        ),
        ("lab_stretch2", {"all": {"zookeeper_weights": {1: 9, 2: 3}}}, "ZOOKEEPER_INDISPENSABLE group all/zoo"),
    ],
)
def test_said_once(inventory: str, variables: dict[str, Any], said: str, tmp_path: Path) -> None:
    wrong = replace(LAB, inventory=inventory, variables=variables)
    problems, lines = check(spoil(tmp_path / "inventory", wrong))
    found = [line for problem, line in zip(problems, lines, strict=True) if not problem.warning]
    assert len(found) == 1, lines
    assert found[0].startswith(said), found
