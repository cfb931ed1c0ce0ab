"""Words of the firewall that would cut somebody off, or that mean nothing."""

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import check_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import merged
from model.mistakes.base import INVENTORIES, VAULT
from model.probes import lab

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
