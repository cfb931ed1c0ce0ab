"""What reassign.yml asks the cluster for, of what a person types. No hosts, no cluster."""

import json
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
    "declared",
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
    assert [*said["devices"]] == ["1", "2", "3"]
    assert all({"/data/kafka1", "/data/kafka2"} <= of.keys() for of in said["devices"].values())


DECLARED: dict[str, Any] = {
    "kafka_topic_defaults": {"partitions": 6, "profile": "event_log"},
    "kafka_topics": [{"name": name} for name in ("streams-plaintext-input", "streams-wordcount-output")]
    + [{"name": "scratch", "replication_factor": 1, "profile": "compacted_state", "config": {"min.insync.replicas": 1}}]
    + [{"name": "foreign", "manage": False}],
    "kafka_restart_accepts": ["scratch"],
    "kafka_replication_factor": 2,
    "kafka_min_insync_replicas": 1,
    "promise": "available",
}


def test_declared_topics_are_those_of_resources_yml(tmp_path: Path) -> None:
    """With profiles, defaults and the cluster's number of replicas; no other request is told of them."""
    answers: dict[str, Any] = {**ANSWERS, "kafka_topics": {"may_stop": {}}, "kafka_access": {"may_stop": {}}}
    said = ("-e", json.dumps(DECLARED))
    calls: dict[str, dict[str, Any]] = {}
    for name, options in (("reassign", ("-e", "declared=true", "-e", "rate=1MB")), ("resources", ())):
        (folder := tmp_path / name).mkdir()
        run = Played(folder, name, *said, *options, answers=answers)
        assert run.code == 0, run.output
        calls |= {module: asked for module, _, asked in run.calls}
    asked = calls["kafka_reassign"]
    assert asked["declared"] == calls["kafka_topics"]["topics"]
    told = {one["name"]: (one["replication_factor"], one["manage"]) for one in asked["declared"]}
    assert told == {
        "streams-plaintext-input": (2, True),
        "streams-wordcount-output": (2, True),
        "scratch": (1, True),
        "foreign": (2, False),
    }


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
    assert other.code != 0 and "LOG_DIR_DROPPED" in other.output and other.calls == []


@pytest.mark.parametrize(
    ("playbook", "installed", "refused"),
    [
        ("start", 2, "LOG_DIR_DUPLICATE"),
        ("start", 1, ""),  # by the file that is there the broker begins without the log dir that came back
        ("stop", 2, ""),
        ("reassign", 2, ""),
        ("preflight", 1, "LOG_DIR_RETURNED"),
    ],
)
def test_who_would_start_a_broker_with_a_replica_in_two_log_dirs(
    playbook: str, installed: int, refused: str, tmp_path: Path
) -> None:
    both = ["/data/kafka1", "/data/kafka2"]
    mounts = {path: {"mounted": True, "device": path, "names": ["meta.properties", "orders-0"]} for path in both}
    meta = {path: {"cluster.id": "x"} for path in both}
    noted = {"mounts": mounts, "log_dirs": both[:installed], "meta_properties": meta}
    options = ("-e", "rebalance=true", "-e", "rate=1MB") if playbook == "reassign" else ("--limit", "dc1-kafka3")
    run = Played(tmp_path, playbook, "--check", *options, answers=ANSWERS, noted_probe=noted)
    assert (run.code != 0) == bool(refused), run.output
    assert refused in run.output


ASKS = [
    ("preflight", 12, True),
    ("preflight", 0, False),
    ("zookeeper", 12, True),
    ("restart", 12, False),
    ("start", 12, False),
]


@pytest.mark.parametrize(("playbook", "replicas", "refused"), ASKS)
def test_a_broker_that_nobody_declares_keeps_its_replicas(
    playbook: str, replicas: int, refused: bool, tmp_path: Path
) -> None:
    """Whoever would close firewalls to it asks the cluster first, where hosts were converged before."""
    answers = {"kafka_cluster": {"may_stop": {"undeclared": {"9": replicas}}}}
    run = Played(tmp_path, playbook, "--check", answers=answers, noted_probe={"converged": True})
    assert ("BROKER_DROPPED" in run.output) == refused and (run.code != 0 or not refused), run.output
    if refused:
        assert [name for name, _, _ in run.calls] == ["kafka_cluster"]


def test_a_cluster_that_is_not_there_yet_is_asked_for_and_not_waited_for(tmp_path: Path) -> None:
    """Hosts that have nothing may be those of a cluster that knows their ids."""
    answers = {"kafka_cluster": {"may_stop": {"problems": ["listener REPLICATION: no answer"], "alone": {}}}}
    new: dict[str, Any] = {"meta_properties": {"/data/kafka1": {}, "/data/kafka2": {}}}
    run = Played(tmp_path, "preflight", answers=answers, noted_probe=new)
    assert run.code == 0 and [name for name, _, _ in run.calls] == ["kafka_cluster"], run.output
    assert run.calls[0][2]["fail"] is False


def test_a_broker_that_left_the_inventory_is_drained(tmp_path: Path) -> None:
    run = Played(
        tmp_path, "reassign", "-e", "drain=9", "-e", "rate=1MB", answers=ANSWERS, noted_probe={"converged": True}
    )
    assert run.code == 0 and [name for name, _, _ in run.calls] == ["kafka_reassign", "kafka_leaders"], run.output
