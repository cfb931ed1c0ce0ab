"""A property whose value is a list of one is what the file has of it, to every rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import LAB, spoil
from model.said import check

RULES = [
    ("kafka", "inter.broker.protocol.version", "4.0", "KAFKA_PROTOCOL"),
    ("kafka", "zookeeper.metadata.migration.enable", True, "KAFKA_MIGRATION"),
    ("kafka", "replica.fetch.wait.max.ms", 60000, "PROPERTY_ORDER"),
    ("kafka", "log.retention.ms", 604800, "LIMIT_MEANT"),
    ("kafka", "unclean.leader.election.enable", True, "UNCLEAN_ELECTION"),
    ("kafka", "zookeeper.session.timeout.ms", 600000, "SESSION_TIMEOUT"),
    ("zookeeper", "tickTime", 60000, "SESSION_TIMEOUT"),
]


@pytest.mark.parametrize("listed", [False, True])
def test_a_list_of_one(listed: bool, tmp_path: Path) -> None:
    for group, name, value, code in RULES:
        variables: dict[str, Any] = {group: {f"{group}_config": {name: [value] if listed else value}}}
        folder = tmp_path / f"{code.lower()}-{name}"
        folder.mkdir()
        problems, lines = check(spoil(folder / "inventory", type(LAB)("", "", "", variables=variables)))
        assert code in [problem.code for problem in problems], "\n".join([name, *lines])
