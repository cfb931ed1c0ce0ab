"""What is refused is refused before anything is written, and what fails half way says how far it came."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from faults.inventory import Inventory
from faults.lab import Lab, until

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import topic_control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.modules import (
    kafka_access,
    kafka_broker_config,
    kafka_export,
    kafka_quotas,
    kafka_topics,
)
from operations.direct import Direct, direct

CONFIG = {"min.insync.replicas": "2"}
LAB = {"principal": "User:lab", "operations": ["ALL"], "resource": "cluster"}


@pytest.fixture
def run(inventory: Inventory, capsys: pytest.CaptureFixture[str]) -> Direct:
    return direct(inventory, capsys)


@pytest.fixture
def name(inventory: Inventory) -> Iterator[str]:
    """What names of a test's own begin with; topics that do are gone afterwards."""
    found, admin = f"refused-{secrets.token_hex(4)}", Lab(inventory).admin
    try:
        yield found
    finally:
        left = [topic for topic in admin.list_topics(timeout=10).topics if topic.startswith(found)]
        for future in admin.delete_topics(left).values() if left else []:
            future.result(30)


def topic(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "partitions": 2, "replication_factor": 3, "config": CONFIG, **more}


def whole(run: Direct, names: set[str]) -> dict[str, Any]:
    """Return all that there is, and nothing while topics are not known yet to the broker that answers."""
    found: dict[str, Any] = run(kafka_export).get("variables", {})
    return found if names <= {topic["name"] for topic in found.get("kafka_topics", [])} else {}


def test_refusals_write_nothing(run: Direct, name: str) -> None:
    """Each with its own words; the whole cluster is as it was."""
    day = {**CONFIG, "retention.ms": "86400000"}
    there, other = topic(f"{name}.b", config=day), topic(f"{name}-c")
    assert run(kafka_topics, topics=[there, other])["plan"]["create"] == [f"{name}-c", f"{name}.b"]
    names = {there["name"], other["name"]}
    before = until("both topics", lambda: whole(run, names), 60)
    new, pruned = topic(f"{name}-new"), {"topics": [f"{name}*"], "max_deletes": 1}
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (kafka_topics, {"topics": [{**there, "partitions": 1}]}, "Kafka cannot remove partitions"),
        (kafka_topics, {"topics": [{**new, "replication_factor": 9}]}, "9 replicas, but 3 brokers are running"),
        (kafka_topics, {"topics": [{**new, "config": {"min.insync.replicas": 3}}]}, "a restart of one broker"),
        (kafka_topics, {"topics": [{**new, "config": {"min.insync.replicas": 4}}]}, "no record could be written"),
        (kafka_topics, {"topics": [{**new, "config": {"retention.msec": 5}}]}, "retention.msec"),
        (kafka_topics, {"topics": [{**there, "config": {**day, "retention.ms": "3600000"}}]}, "older records"),
        (kafka_topics, {"topics": [{"name": f"{name}-c", "state": "absent"}]}, "set allow_delete: true"),
        (
            kafka_topics,
            {"topics": [], "prune": pruned},
            "2 topics would be deleted",
        ),
        (kafka_topics, {"topics": [new], "cluster_id": "mine"}, "but kafka_cluster_id is mine"),
        (kafka_topics, {"topics": [topic("__consumer_offsets")]}, "is internal, as all names that begin with _"),
        (kafka_topics, {"topics": [topic(f"{name}_b")]}, "differs from it only in . and _"),
        (
            kafka_access,
            {"login": {}, "acls": [{**LAB, "state": "absent"}], "principal": "User:lab"},
            "could no longer alter the cluster",
        ),
        (kafka_access, {"login": {}, "acls": [{**LAB, "principal": "lab"}]}, "write User:lab"),
        (kafka_quotas, {"quotas": [{"user": name, "values": {"producer_byte_rate": 0}}]}, "would block all requests"),
        (kafka_quotas, {"quotas": [{"user": name, "values": {"producer_rate": 5}}]}, "producer_rate"),
        (kafka_broker_config, {"config": {"num.io.thread": 9}}, "num.io.thread is not a setting of brokers"),
        (kafka_broker_config, {"config": {"log.dirs": "/tmp"}}, "log.dirs: brokers read it only at their start"),
        (kafka_broker_config, {"config": {"num.io.threads": 900}}, "broker 3 rejects it: "),
        (kafka_broker_config, {"brokers": [{"id": 9, "config": {"num.io.threads": 9}}]}, "broker 9 is down"),
    ]
    for module, arguments, words in refused:
        for check_mode in (True, False):
            done = run(module, check_mode=check_mode, **arguments)
            assert done.get("failed") and words in done["msg"] and not done.get("changed"), (arguments, done)
    assert run(kafka_export)["variables"] == before


def test_one_of_twenty_topics_fails_while_they_are_written(run: Direct, inventory: Inventory, name: str) -> None:
    """Somebody else makes it after brokers have judged it: what was done is said, and the next run does the rest."""
    wanted, old, lost = [topic(f"{name}-{number}") for number in range(20)], f"{name}-old", f"{name}-7"
    assert run(kafka_topics, topics=[topic(old)])["changed"]
    wanted.append({"name": old, "state": "absent", "allow_delete": True})
    admin, lab = Admin(inventory.admin_properties), Lab(inventory)
    until("the old topic", lambda: old in admin.metadata().topics, 60)
    plan = topic_control.plan(admin, admin.metadata(), wanted, None)
    assert (len(plan.changes), list(plan.refusals)) == (21, [])
    lab.create_topic(lost, partitions=2)

    done = topic_control.apply(admin, plan.changes, lambda _, why: why)
    assert {one.name for one in done.done} == {f"{name}-{number}" for number in range(20)} - {lost}
    assert list(done.failed) == [f"topic {lost}"] and "TOPIC_ALREADY_EXISTS" in done.failed[f"topic {lost}"]
    assert [one.name for one in done.untried] == [old]
    assert f"not tried: topic {old}" in done.message()

    def planned() -> list[Any]:
        found = run(kafka_topics, check_mode=True, topics=wanted)
        return [found["plan"][verb] for verb in ("create", "update", "delete")]

    # A broker that answers hears of topics a moment after the controller.
    until("what is left to be done", lambda: planned() == [[], [], [old]], 60)
    assert run(kafka_topics, topics=wanted)["changed"]
    until("nothing left to be done", lambda: planned() == [[], [], []], 60)
