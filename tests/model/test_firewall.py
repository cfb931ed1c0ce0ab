"""Words of the firewall that would cut somebody off, or that mean nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import check_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import merged
from model.mistakes.base import INVENTORIES, LAB, VAULT, kafka, spoil, zookeeper
from model.probes import lab
from model.said import check

BROKER = "dc1-kafka1"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"base_firewall_rules": []}, set()),
        ({"base_firewall_rules": [], "base_firewall_closed": True}, {"FIREWALL_PEER"}),
        ({"base_firewall_rules": [], "base_firewall_closed": True, "base_firewall": False}, set()),
        ({"base_firewall_closed": True}, set()),
    ],
)
def test_said_of_a_broker(values: dict[str, Any], said: set[str]) -> None:
    """A closed broker lets in whom its rules name, and nobody else."""
    model = replace(
        lab(), hosts={host: {**known, **(values if host == BROKER else {})} for host, known in lab().hosts.items()}
    )
    assert {problem.code for problem in check_model(model)} == said


@pytest.mark.parametrize(("word", "said"), [("clients", ["INPUT_REFUSED"]), ("client", [])])
def test_a_misspelt_source_is_refused(word: str, said: list[str]) -> None:
    """Instead of letting nobody in."""
    reader = load(
        INVENTORIES / "lab",
        {"vault": VAULT, "firewall_extra_sources": {word: ["198.19.0.0/16"], "admin": ["198.18.1.1"]}},
    )
    problems = merged(reader.with_own_problems(check_model(reader.read())))
    assert [problem.code for problem in problems] == said
    assert all("firewall_extra_sources" in problem.variable for problem in problems)


def rule(port: int, *sources: str, **more: Any) -> dict[str, Any]:
    """Return an entry of site_firewall_rules."""
    return {"port": port, "from": list(sources), **more}


SPARK_1, SPARK_2 = "198.18.1.31", "198.18.1.32"
NO_NETWORK = {"    client_network: 198.18.1.0/24\n": ""}
EXTRA = {"all": {"firewall_extra_sources": {"client": ["192.0.2.0/24"]}}}
RULES = "group kafka/site_firewall_rules"


@pytest.mark.parametrize(
    ("variables", "hosts", "begins"),
    [
        # The way to open a port to some clients alone.
        (kafka(site_firewall_rules=[rule(9092, SPARK_1)]), {}, [f"FIREWALL_IDLE {RULES}[9092] = {SPARK_1}: "]),
        (kafka(site_firewall_rules=[rule(9092, SPARK_1, SPARK_2, only=True)]), {}, []),
        (zookeeper(site_firewall_rules=[rule(2281, "192.0.2.7", only=True)]), {}, []),
        (kafka(site_firewall_rules=[rule(9092, SPARK_1, only=True)]), {},
         [f"FIREWALL_PEER {RULES}[9092] = {SPARK_2}: "]),
        (zookeeper(site_firewall_rules=[rule(2888, "192.0.2.7", only=True)]), {},
         ["FIREWALL_IDLE group zookeeper/site_firewall_rules[2888]: the rules of functions/*.yml allow no clients"]),
        (kafka(site_firewall_rules=[rule(9092, SPARK_1, SPARK_2, onyl=True)]), {},
         [f"FIREWALL_IDLE {RULES}[9092] = {SPARK_1}, {SPARK_2}: ",
          f"INPUT_REFUSED {RULES}[0]: unknown key onyl (valid keys: action, from, only, port)"]),
        (kafka(site_firewall_rules=[rule(9100, "192.0.2.7", action="drop")]), {},
         [f"INPUT_REFUSED {RULES}[0]: value of action must be one of: accept, reject, got: drop"]),
        # What is missing, and not what follows.
        ({}, NO_NETWORK, ["FIREWALL_CLIENTS groups zookeeper and kafka/client_network: not set, "]),
        (EXTRA, NO_NETWORK, ["FIREWALL_PEER group spark/client_network: not set, so the firewall of dc1-kafka1, ",
                             "NETWORK_MISSING groups zookeeper and kafka/client_network: "]),
        ({"all": {"base_firewall": False}}, NO_NETWORK,
         ["NETWORK_MISSING groups zookeeper and kafka/client_network: "]),
        ({"spark": {"spark_job_jobs": [], "kafka_client": {"bootstrap.servers": "198.18.1.11:2888"}}}, {},
         ["BOOTSTRAP_UNKNOWN group spark/kafka_client[bootstrap.servers] = 198.18.1.11:2888: "]),
        (kafka(site_listeners=[{"name": "X", "address": "{{ replication_address }}", "port": 9095,
                                "protocol": "SASL_SSL"}]), {"    replication_network: 198.18.2.0/24\n": ""},
         ["FIREWALL_CLIENTS group kafka/replication_network: not set, ",
          "NETWORK_MISSING group zookeeper/replication_network: "]),
    ],
)  # fmt: skip
def test_who_may_connect_is_reported_where_it_is_set(
    variables: dict[str, Any], hosts: dict[str, str], begins: list[str], tmp_path: Path
) -> None:
    lines = sorted(check(spoil(tmp_path / "inventory", replace(LAB, variables=variables, hosts=hosts)))[1])
    assert len(lines) == len(begins), lines
    assert all(line.startswith(begin) for line, begin in zip(lines, begins, strict=True)), lines
