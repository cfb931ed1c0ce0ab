"""A message gives the reason that holds, and advice that mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import zookeeper
from model.mistakes.databases import settings
from model.mistakes.job_ends import RELAY
from model.test_reached import said

DATABASE = "warn DATABASE_UNSAFE group all/postgresql_config[synchronous_commit] = off: after a crash of the server"


@pytest.mark.parametrize(("value", "told"), [("off", True), (False, True), ("local", False), ("on", False)])
def test_rows_that_are_acknowledged_too_early(value: Any, told: bool, tmp_path: Path) -> None:
    lines = said(settings(synchronous_commit=value, shared_buffers="32MB"), tmp_path, "lab_orders")
    assert len(lines) == told, lines
    assert all(line.startswith(DATABASE) and line.endswith("; take it out") for line in lines), lines


def test_weights_without_groups(tmp_path: Path) -> None:
    """ZooKeeper 3.8.6 reads a weight as the wish for groups, and ends with "Server 1 is not in a group"."""
    assert said(zookeeper(zookeeper_weights={5: 2}), tmp_path, "stretch3") == [
        "ZOOKEEPER_WEIGHTS_IDLE group zookeeper/zookeeper_weights: with a weight ZooKeeper asks for the group of every "
        "voter, and would not start without zookeeper_groups; take them out, or set zookeeper_groups"
    ]


@pytest.mark.parametrize(
    ("groups", "advice"),
    [
        ({1: [1, 2, 3], 2: [4, 5, 6]}, "give it a group of its datacenter, as 3: [7], or leave zookeeper_groups out"),
        ({1: [1, 2, 3], 2: [4, 5], 3: [7]}, "put its id into its datacenter's group"),
    ],
)
def test_a_voter_in_no_group(groups: dict[int, list[int]], advice: str, tmp_path: Path) -> None:
    """What is advised can be done: its datacenter may have no group."""
    lines = said(zookeeper(zookeeper_groups=groups), tmp_path, "lab_stretch2_5")
    found = [line for line in lines if line.startswith("ZOOKEEPER_GROUP_NONE")]
    assert len(found) == 1, lines
    assert found[0].endswith(f"would refuse to start; {advice}"), lines


LARGE = {"name": "streams-plaintext-input", "partitions": 6}
SMALL = {"name": "streams-wordcount-output", "partitions": 6}
SIZE = {"max.message.bytes": 20971520}


@pytest.mark.parametrize(
    ("large", "small", "more", "begin"),
    [
        ({"profile": "large_messages"}, {}, {}, "JOB_MESSAGE"),
        ({"config": SIZE}, {}, {}, "JOB_MESSAGE"),
        ({}, {"config": {"max.message.bytes": 1048588}}, {"kafka_topic_defaults": {"config": SIZE}},
         "warn JOB_MESSAGE"),
        ({}, {"config": {"max.message.bytes": 500000}}, {}, "warn JOB_MESSAGE"),
    ],
)  # fmt: skip
def test_large_records_that_are_declared(
    large: dict[str, Any], small: dict[str, Any], more: dict[str, Any], begin: str, tmp_path: Path
) -> None:
    """Who declares that records are large sends them; of a default nobody knows."""
    variables = {
        "spark_consumer": {"spark_job_jobs": [RELAY]},
        "all": {"kafka_topics": [{**LARGE, **large}, {**SMALL, **small}], **more},
    }
    lines = [line for line in said(variables, tmp_path) if "JOB_MESSAGE" in line]
    assert len(lines) == 1 and lines[0].startswith(f"{begin} "), lines
