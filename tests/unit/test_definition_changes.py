"""What a version takes otherwise than another, by their definitions; a version without a list is not guessed at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils import definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.definition_changes import (
    Change,
    changes,
    known_versions,
    sections_of,
)

INT: dict[str, Any] = {"type": "int", "default": 5, "min": 1}


def between(then: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return what is otherwise in one section."""
    return [(one.name, one.kind, one.before, one.after) for one in changes({"broker": then}, {"broker": now})]


@pytest.mark.parametrize(
    ("then", "now", "found"),
    [
        ({"a": INT}, {"a": INT}, []),
        ({"a": INT}, {"a": {**INT, "update": "read-only", "kraft": True}}, []),
        ({"a": INT}, {}, [("a", "removed", "5", "")]),
        ({}, {"a": {"type": "string"}}, [("a", "new", "", "")]),
        ({}, {"a": {"type": "boolean", "default": False}}, [("a", "new", "", "false")]),
        ({"a": INT}, {"a": {**INT, "default": 6}}, [("a", "default", "5", "6")]),
        ({"a": INT}, {"a": {"type": "int", "min": 1}}, [("a", "default", "5", "")]),
        ({"a": INT}, {"a": {**INT, "min": 2}}, [("a", "taken", "int of at least 1", "int of at least 2")]),
        ({"a": INT}, {"a": {**INT, "type": "long"}}, [("a", "taken", "int of at least 1", "long of at least 1")]),
        (
            {"a": INT},
            {"a": {**INT, "default": -1, "also": -1}},
            [("a", "default", "5", "-1"), ("a", "taken", "int of at least 1", "int of at least 1, or -1")],
        ),
        (
            {"a": {"type": "list", "choices": ["x", "y"]}},
            {"a": {"type": "list", "choices": ["x", "z"]}},
            [("a", "taken", "list, also y", "list, also z")],
        ),
        (
            {"a": {"type": "string", "versions": ["3.8", "3.8-IV0"]}},
            {"a": {"type": "string", "versions": ["3.8", "3.9", "3.8-IV0", "3.9-IV0"]}},
            [("a", "taken", "string", "string, also 3.9")],
        ),
        (
            {"a": {"type": "string", "choices": ["x"], "ignorecase": True}},
            {"a": {"type": "string"}},
            [("a", "taken", "string, one of x, in any case", "string")],
        ),
    ],
)
def test_one_property(then: dict[str, Any], now: dict[str, Any], found: list[tuple[str, ...]]) -> None:
    assert between(then, now) == found


def test_a_new_name_for_the_same() -> None:
    """Of one spec and much alike: else one is gone, and another new."""
    then, now = "unstable.metadata.versions.enable", "unstable.feature.versions.enable"
    assert between({then: INT}, {now: INT}) == [(then, "renamed", then, now)]
    other = {**INT, "default": 6}
    assert between({then: INT}, {now: other}) == [(now, "new", "", "6"), (then, "removed", "5", "")]
    assert between({then: INT}, {"num.io.threads": INT}) == [
        ("num.io.threads", "new", "", "5"),
        (then, "removed", "5", ""),
    ]
    two = {then: INT, f"{then}d": INT}
    assert between(two, {now: INT}) == [(then, "renamed", then, now), (f"{then}d", "removed", "5", "")], "only once"


def test_sections_that_are_asked() -> None:
    then: dict[str, Any] = {"broker": {"a": INT}, "producer": {"b": INT}}
    assert [one.name for one in changes(then, {"broker": {}, "producer": {}})] == ["a", "b"]
    assert changes(then, {"broker": {}, "producer": {}}, ("producer",)) == [Change("producer", "b", "removed", "5")]


def test_a_version_without_a_list_is_not_guessed_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the older one lacks is left out; a file that fits to no list says nothing."""
    own = {"product": "kafka", "version": "3.9.2", "sections": {"broker": {"a": INT, "b": INT}, "topic": {"c": INT}}}
    (tmp_path / "kafka-3.9.2.json").write_text(json.dumps(own))
    older: dict[str, Any] = {"3.9.1": {"broker": {"a": None, "b": {"type": "long"}}}, "3.9.0": {}}
    file = tmp_path / "older-kafka.json"
    file.write_text(json.dumps({"product": "kafka", "version": "3.9.2", "older": older}))
    monkeypatch.setattr(definitions, "FOLDER", tmp_path)
    assert sections_of("kafka", "3.9.2") == own["sections"]
    assert sections_of("kafka", "3.9.1") == {"broker": {"b": {"type": "long"}}, "topic": {"c": INT}}
    assert sections_of("kafka", "3.9.0") == own["sections"]
    assert (sections_of("kafka", "3.9.3"), sections_of("zookeeper", "3.8.6")) == (None, None)
    assert (known_versions("kafka"), known_versions("zookeeper")) == (["3.9.2", "3.9.1", "3.9.0"], [])


@pytest.mark.parametrize(
    ("product", "before", "after", "section", "names"),
    [
        ("kafka", "3.9.1", "3.9.2", "broker", ["alter.config.policy.kraft.compatibility.enable"]),
        ("zookeeper", "3.8.5", "3.8.6", "zookeeper", ["ssl.allowReverseDnsLookup", "ssl.quorum.allowReverseDnsLookup"]),
        ("kafka", "3.9.0", "3.9.1", "broker", []),
    ],
)
def test_our_own_upgrades(product: str, before: str, after: str, section: str, names: list[str]) -> None:
    """There and back: what is new is gone on the way back."""
    then, now = sections_of(product, before), sections_of(product, after)
    assert then is not None and now is not None
    assert changes(then, now, (section,)) == [
        Change(section, name, "new", "", "false" if product == "kafka" else "") for name in names
    ]
    assert [(one.name, one.kind) for one in changes(now, then)] == [(name, "removed") for name in names]


def test_over_two_minors() -> None:
    """KIP-1022 renamed a property between 3.7 and 3.9, and each minor has a protocol of its own."""
    then, now = sections_of("kafka", "3.7.2"), sections_of("kafka", "3.9.2")
    assert then is not None and now is not None
    found = {(one.name, one.kind): (one.before, one.after) for one in changes(then, now, ("broker",))}
    name = "unstable.metadata.versions.enable"
    assert found[name, "renamed"] == (name, "unstable.feature.versions.enable")
    assert found["inter.broker.protocol.version", "default"] == ("3.7-IV4", "3.9-IV0")
    assert ("num.io.threads", "default") not in found
