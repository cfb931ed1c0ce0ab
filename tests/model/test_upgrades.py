"""What preflight says of hosts that run other versions than are declared: what changes, and for whom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils import upgrades as module
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.upgrades import lines, own_settings, rows, upgrades
from model.mistakes.base import LAB, spoil
from model.probes import lab
from model.said import check

BROKERS = ("dc1-kafka1", "dc1-kafka2", "dc1-kafka3")


def declared(**variables: Any) -> Model:
    """Return the lab with variables of all hosts."""
    return replace(lab(), hosts={host: {**values, **variables} for host, values in lab().hosts.items()})


def running(version: str, product: str = "kafka", **more: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the hosts of a product answer that run a version; of some hosts another answer."""
    release = {"installed": version, "running": version}
    hosts = lab().groups[product]
    return {host: {"releases": {product: more.get(host.replace("-", "_"), release)}} for host in hosts}


def said(model: Model, probes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return lines(upgrades(model, probes), {**model.groups, **model.all_groups})


@pytest.mark.parametrize("version", ["3.9.2", "3.9.2-ours"])
def test_equal_versions_are_silent_and_read_nothing(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "sections_of", lambda *said: pytest.fail("a list was read"))
    assert upgrades(declared(kafka_version=version), running("3.9.2")) == []
    assert upgrades(lab(), {host: {"releases": {}} for host in lab().hosts}) == []
    assert upgrades(lab(), {}) == []
    down = {"installed": "3.9.2", "running": ""}
    assert upgrades(lab(), running("3.9.2", dc1_kafka1=down)) == []


def test_the_upgrade_of_the_campaign() -> None:
    """Both products, with the hosts of each; the other way round what is new is gone."""
    assert said(lab(), running("3.9.1") | running("3.8.5", "zookeeper")) == [
        "ZooKeeper 3.8.5 -> 3.8.6, group zookeeper: properties of servers that change",
        "  new: ssl.allowReverseDnsLookup, ssl.quorum.allowReverseDnsLookup",
        "  the inventory sets none of these",
        "Kafka 3.9.1 -> 3.9.2, group kafka: properties of brokers and topics that change",
        "  new: alter.config.policy.kraft.compatibility.enable (false)",
        "  the inventory sets none of these",
    ]
    assert said(declared(kafka_version="3.9.1"), running("3.9.2"))[:2] == [
        "Kafka 3.9.2 -> 3.9.1, group kafka: properties of brokers and topics that change",
        "  gone: alter.config.policy.kraft.compatibility.enable (its default was false)",
    ]


def test_what_runs_counts_and_else_what_would_start() -> None:
    """A run that was interrupted has unpacked the new version on all, and restarted some."""
    probes = running(
        "3.9.1",
        dc1_kafka1={"installed": "3.9.2", "running": "3.9.1"},
        dc1_kafka2={"installed": "3.9.2", "running": "3.9.2"},
        dc1_kafka3={"installed": "3.9.0", "running": ""},
    )
    assert [(one.before, one.hosts) for one in upgrades(lab(), probes)] == [
        ("3.9.1", ("dc1-kafka1",)),
        ("3.9.0", ("dc1-kafka3",)),
    ]


def test_nothing_changes_and_nothing_is_known() -> None:
    assert said(declared(kafka_version="3.9.1"), running("3.9.0")) == [
        "Kafka 3.9.0 -> 3.9.1, group kafka: no property of brokers and topics changes"
    ]
    known = "there are those of 3.9.2, 3.9.1, 3.9.0, 3.8.1, 3.8.0, 3.7.2"
    assert said(lab(), running("3.6.0")) == [
        f"Kafka 3.6.0 -> 3.9.2, group kafka: the changes are unknown: no definitions of 3.6.0 ({known})"
    ]
    assert said(declared(kafka_version="3.9.7"), running("3.6.0")) == [
        f"Kafka 3.6.0 -> 3.9.7, group kafka: the changes are unknown: no definitions of 3.6.0 and 3.9.7 ({known})"
    ]


def test_what_is_said_of_over_minors() -> None:
    """Whose the property is: the site's, as of listeners, topics and one broker; the role's; nobody's."""
    model = declared(
        kafka_config={
            "unstable.metadata.versions.enable": False,
            "listener.name.client.num.network.threads": 3,
            "group.coordinator.rebalance.protocols": "classic",
        },
        kafka_topics=[{"name": "orders", "config": {"message.format.version": "3.0"}}],
        kafka_topic_defaults={"config": {"compression.lz4.level": 3}},
    )
    found = said(model, running("3.7.2"))
    old, new = "unstable.metadata.versions.enable", "unstable.feature.versions.enable"
    assert f"  renamed: {old} is probably {new} now; yours: kafka_config" in found
    assert "  other default: inter.broker.protocol.version: 3.7-IV4 -> 3.9-IV0" in found
    assert [one for one in found if "listener.security.protocol.map" in one] == [
        one for one in found if one.endswith("; no effect here, set by the role")
    ]
    assert "  new: topic compression.lz4.level (9); yours: kafka_topic_defaults" in found
    assert any(one.startswith("  takes other values: group.coordinator.rebalance.protocols: ") for one in found)
    assert set(found[-1].removeprefix("  of these, the inventory sets ").split(", ")) == {
        "group.coordinator.rebalance.protocols",
        "unstable.metadata.versions.enable",
        "compression.lz4.level",
        "message.format.version",
    }
    assert max(len(one) for one in found if one.startswith(("  new", "     "))) <= 120


def test_another_default_of_what_is_said_changes_nothing() -> None:
    """Unless null takes the role's own out; then Kafka's default holds."""
    name = "remote.log.manager.copier.thread.pool.size"
    for model, words in (
        (lab(), f"  other default: {name}: 10 -> -1"),
        (
            declared(kafka_config_overrides={name: 4}),
            f"  other default: {name}: 10 -> -1; no effect here, set by kafka_",
        ),
        (declared(kafka_config={name: None}), f"  other default: {name}: 10 -> -1"),
    ):
        (line,) = [one for one in said(model, running("3.8.1")) if one.startswith(f"  other default: {name}:")]
        assert line.startswith(words) and ("nothing here" in line) == ("nothing here" in words)


def test_what_a_role_says_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"min.insync.replicas", "zookeeper.ssl.client.enable", "log.dirs"} < own_settings("kafka")
    assert {"tickTime", "4lw.commands.whitelist"} < own_settings("zookeeper")
    name = "listener.security.protocol.map"
    (line,) = [one for one in said(lab(), running("3.7.2")) if name in one]
    assert line.endswith("; no effect here, set by the role")
    (line,) = [one for one in said(declared(kafka_config={name: None}), running("3.7.2")) if name in one]
    assert "nothing here" not in line


def test_for_programs() -> None:
    found = json.loads(json.dumps(rows(upgrades(lab(), running("3.9.1")))))
    change = {
        "section": "broker",
        "name": "alter.config.policy.kraft.compatibility.enable",
        "kind": "new",
        "before": "",
        "after": "false",
        "yours": [],
        "ours": False,
        "changes": True,
    }
    one = {"product": "kafka", "before": "3.9.1", "after": "3.9.2", "hosts": list(BROKERS), "unknown": []}
    assert found == [{**one, "properties": [change]}]


@pytest.mark.parametrize(("inventory", "accepted"), [("lab", False), ("lab", True), ("stretch3", True)])
def test_the_way_back_to_an_older_version(inventory: str, accepted: bool, tmp_path: Path) -> None:
    """Refused in labs too, until the site says that it goes there; one that does not run here is refused all the same.

    After the next upgrade, what is left of it is a warning.
    """
    risks = {"accept_risks": ["KAFKA_VERSION", "ZOOKEEPER_VERSION"]} if accepted else {}
    versions = {"kafka_version": "3.9.1", "zookeeper_version": "3.8.5"}
    both = ["KAFKA_VERSION", "ZOOKEEPER_VERSION"]
    for number, (declared, said) in enumerate(((versions, both), ({"kafka_version": "4.0.0"}, ["VERSION_UNFIT"]))):
        mistake = replace(LAB, inventory=inventory, variables={"all": {**declared, **risks}})
        problems, _ = check(spoil(tmp_path / str(number), mistake))
        found = [(problem.code, problem.warning) for problem in problems if problem.code in (*both, "VERSION_UNFIT")]
        assert sorted(found) == [(code, accepted and code in both) for code in said]
