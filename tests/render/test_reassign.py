"""What reassign.yml asks the cluster for, of what a person types. No hosts, no cluster."""

import json
from pathlib import Path
from typing import Any

import pytest

from render.test_restart import DUPLICATE, LOG_DIRS, Played

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


TEXTS = {
    "add": ["4", "5"],
    "topic": ["orders", "returns"],
    "replication_factor": "3",
    "disk": ["3:/data/1:/data/2", "2:/data/1:/data/2"],
    "empty": ["3:/data/1"],
    "replace": ["3:7", "1:8"],
    "rate": "50MB",
}
JSON = {"drain": 3, "disks": 3, "topic": ["orders", "returns"], "replication_factor": 0, "rate": 5000000}


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (
            [f"{wish}={','.join(value) if isinstance(value, list) else value}" for wish, value in TEXTS.items()],
            TEXTS,
        ),
        (
            [json.dumps(JSON), "plan=12345678", "leaders=true"],
            {**JSON, "drain": ["3"], "disks": ["3"], "rate": "5000000", "plan": "12345678", "leaders": True},
        ),
    ],
    ids=["texts", "json"],
)
def test_what_is_typed(tmp_path: Path, options: list[str], asked: dict[str, Any]) -> None:
    """The module gets each variable, here all at once, in one call; then the preferred leaders are elected."""
    run = Played(tmp_path, "reassign", *(word for option in options for word in ("-e", option)), answers=ANSWERS)
    assert run.code == 0, run.output
    names = [name for name, _, _ in run.calls]
    assert names == ["kafka_reassign", "kafka_leaders"]
    (_, _, said) = run.calls[0]
    assert wishes(said) == asked
    assert [broker["id"] for broker in said["brokers"]] == [1, 2, 3]
    assert [*said["devices"]] == ["1", "2", "3"]
    assert all({"/data/kafka1", "/data/kafka2"} <= of.keys() for of in said["devices"].values())


def wishes(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a call that a person can set and that are set."""
    return {
        key: value for key, value in asked.items() if key in WISHES and value not in ([], "") and value is not False
    }


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
    """The module gets an empty topic name too, and rejects it: the operator did not mean all topics.

    A dead broker does not end the run: its replicas are to be moved.
    """
    typed = ("-e", "rebalance=true", "-e", "topic=", "-e", "rate=1MB")
    run = Played(tmp_path, "reassign", "--check", *typed, answers=ANSWERS, noted_unreachable=["dc1-kafka1"])
    assert run.code == 0, run.output
    ((name, _, asked),) = run.calls
    assert name == "kafka_reassign"
    assert wishes(asked) == {"rebalance": True, "topic": [""], "rate": "1MB"}


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


def undeclared(replicas: int) -> dict[str, Any]:
    """Return answers of a cluster in which broker 9, which the inventory does not declare, has replicas."""
    return {**ANSWERS, "kafka_cluster": {"may_stop": {"undeclared": {"9": replicas}}}}


@pytest.mark.parametrize(
    ("playbook", "installed", "refused"),
    [
        ("start", 2, "LOG_DIR_DUPLICATE"),
        # The installed file of the broker lacks the log dir that came back, so the broker starts without it.
        ("start", 1, ""),
        ("preflight", 1, "LOG_DIR_RETURNED"),
    ],
)
def test_who_would_start_a_broker_with_a_replica_in_two_log_dirs(
    playbook: str, installed: int, refused: str, tmp_path: Path
) -> None:
    """stop.yml and reassign.yml accept DUPLICATE: test_restart.py and the last test of this file.

    start.yml closes no firewall, so it accepts the replicas of an undeclared broker.
    """
    noted = {**DUPLICATE, "log_dirs": LOG_DIRS[:installed], "converged": True}
    more: dict[str, Any] = {"noted_probe": noted, "answers": undeclared(12 if playbook == "start" else 0)}
    run = Played(tmp_path, playbook, "--check", "--limit", "dc1-kafka3", **more)
    assert (run.code != 0) == bool(refused), run.output
    assert refused in run.output and "BROKER_DROPPED" not in run.output


@pytest.mark.parametrize(
    ("playbook", "replicas", "refused"), [("preflight", 12, True), ("zookeeper", 12, True), ("restart", 12, False)]
)
def test_a_broker_that_nobody_declares_keeps_its_replicas(
    playbook: str, replicas: int, refused: bool, tmp_path: Path
) -> None:
    """Whoever would close firewalls to it asks the cluster first, where hosts were converged before."""
    run = Played(tmp_path, playbook, "--check", answers=undeclared(replicas), noted_probe={"converged": True})
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
    """Also beside brokers with a replica in two log dirs, for reassign.yml starts no broker."""
    probe = {**DUPLICATE, "converged": True}
    options = ("-e", "drain=9", "-e", "rate=1MB")
    run = Played(tmp_path, "reassign", *options, answers=ANSWERS, noted_probe=probe)
    assert run.code == 0 and [name for name, _, _ in run.calls] == ["kafka_reassign", "kafka_leaders"], run.output
