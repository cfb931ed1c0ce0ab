"""What reassign.yml asks the cluster for, of what a person types. No hosts, no cluster."""

from pathlib import Path
from typing import Any

import pytest

from render.test_restart import Played

ANSWERS = {"kafka_reassign": {"may_stop": {"changed": True, "moved": ["t-0"]}}, "kafka_leaders": {"may_stop": {}}}
WISHES = (
    "add",
    "drain",
    "replace",
    "disk",
    "empty",
    "disks",
    "topic",
    "rebalance",
    "leaders",
    "cancel",
    "fewer_racks",
    "replication_factor",
    "rate",
    "plan",
)


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (("-e", "add=4,5", "-e", "rate=50MB"), {"add": ["4", "5"], "rate": "50MB"}),
        (("-e", '{"drain": 3, "rate": 5000000}'), {"drain": ["3"], "rate": "5000000"}),
        (
            ("-e", "topic=orders,returns", "-e", "replication_factor=3", "-e", "rate=1MB"),
            {"topic": ["orders", "returns"], "replication_factor": "3", "rate": "1MB"},
        ),
        (
            ("-e", "disk=3:/data/1:/data/2,2:/data/1:/data/2", "-e", "rate=1MB"),
            {"disk": ["3:/data/1:/data/2", "2:/data/1:/data/2"], "rate": "1MB"},
        ),
        (("-e", "empty=3:/data/1", "-e", "rate=1MB"), {"empty": ["3:/data/1"], "rate": "1MB"}),
        (("-e", '{"disks": 3, "rate": "1MB"}'), {"disks": ["3"], "rate": "1MB"}),
        # an empty name is refused by the module: all topics are not meant
        (("-e", "rebalance=true", "-e", "topic=", "-e", "rate=1MB"), {"rebalance": True, "topic": [""], "rate": "1MB"}),
        (
            ("-e", '{"topic": ["orders", "returns"], "replication_factor": 0, "plan": "12345678"}'),
            {"topic": ["orders", "returns"], "replication_factor": 0, "plan": "12345678"},
        ),
    ],
)
def test_what_is_typed(tmp_path: Path, options: tuple[str, ...], asked: dict[str, Any]) -> None:
    """Once for the cluster; afterwards the preferred leaders are elected."""
    run = Played(tmp_path, "reassign", *options, answers=ANSWERS)
    assert run.code == 0, run.output
    names = [name for name, _, _ in run.calls]
    assert names == ["kafka_reassign", "kafka_leaders"]
    (_, _, said) = run.calls[0]
    assert {
        key: value for key, value in said.items() if key in WISHES and value not in ([], "") and value is not False
    } == asked
    assert [broker["id"] for broker in said["brokers"]] == [1, 2, 3]


def test_check_mode_elects_nobody(tmp_path: Path) -> None:
    run = Played(tmp_path, "reassign", "--check", "-e", "rebalance=true", "-e", "rate=1MB", answers=ANSWERS)
    assert run.code == 0, run.output
    assert [name for name, _, _ in run.calls] == ["kafka_reassign"]


def test_a_log_dir_that_was_taken_out_is_emptied_here_alone(tmp_path: Path) -> None:
    """Every other playbook refuses it: its broker would come back without what it holds."""
    there = {"/data/kafka9": {"mounted": True, "names": ["orders-0"]}}
    dropped = {"log_dirs": ["/data/kafka1", "/data/kafka2", "/data/kafka9"], "dropped": there}
    options = ("-e", "empty=1:/data/kafka9", "-e", "rate=1MB")
    run = Played(tmp_path, "reassign", *options, answers=ANSWERS, noted_probe=dropped)
    assert run.code == 0 and "LOG_DIR_DROPPED" in run.output, run.output
    (tmp_path / "other").mkdir()
    other = Played(tmp_path / "other", "restart", "--check", noted_probe=dropped)
    assert other.code != 0 and "LOG_DIR_DROPPED" in other.output
    assert [name for name, _, _ in other.calls] == ["kafka_cluster"]


def test_a_broker_that_left_the_inventory_with_replicas_is_drained_here_alone(tmp_path: Path) -> None:
    """Every other playbook refuses it before it asks for more; the cluster is asked where a known name has left."""
    left = {"noted_probe": {"known_names": ["dc1-kafka1", "dc1-kafka9"]}}
    answers = {**ANSWERS, "kafka_cluster": {"may_stop": {"undeclared": {"9": 12}}}}
    run = Played(tmp_path, "reassign", "-e", "drain=9", "-e", "rate=1MB", answers=answers, **left)
    assert run.code == 0 and "BROKER_DROPPED" in run.output, run.output
    assert [name for name, _, _ in run.calls] == ["kafka_cluster", "kafka_reassign", "kafka_leaders"]
    for name, known, replicas, refused in (
        ("holds", "dc1-kafka9", 12, True),
        ("empty", "dc1-kafka9", 0, False),
        ("all", "dc1-kafka2", 12, False),
    ):
        (tmp_path / name).mkdir()
        answers = {"kafka_cluster": {"may_stop": {"undeclared": {"9": replicas}}}}
        options = {"answers": answers, "noted_probe": {"known_names": [known]}}
        checked = Played(tmp_path / name, "preflight", **options)
        assert ("BROKER_DROPPED" in checked.output, checked.code != 0) == (refused, refused), checked.output
