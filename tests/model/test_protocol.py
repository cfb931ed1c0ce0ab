"""The protocol among brokers and the binaries: what is refused of an upgrade over minors, its end, and the way back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts.protocol import PROTOCOL, protocol_steps
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from model.probes import lab

Broker = tuple[str, str, str]
"""Installed, running and protocol, as host_probe answers."""
Pin = str | list[str] | None
OLD: Broker = ("3.8.1", "3.8.1", "")
NEW_PINNED: Broker = ("3.9.2", "3.9.2", "3.8")
NEW: Broker = ("3.9.2", "3.9.2", "3.9-IV0")
UNPACKED: Broker = ("3.9.2", "3.8.1", "3.8")
DOWN: Broker = ("3.8.1", "", "")


def declared(version: str, pin: Pin) -> Model:
    """Return the lab with this version and pin."""
    said: dict[str, Any] = {"kafka_version": version, "kafka_config": {PROTOCOL: pin} if pin else {}}
    hosts = {host: {**values, **said} for host, values in lab().hosts.items()}
    return replace(lab(), hosts=hosts)


def codes(version: str, pin: Pin, *brokers: Broker | None, registered: Collection[str] = ()) -> list[str]:
    """Return what is said, each code once; None is a broker of which nothing is known."""
    probes: Mapping[str, Mapping[str, Any]] = {
        f"dc1-kafka{number}": {
            "releases": {"kafka": dict(zip(("installed", "running", "protocol"), one, strict=True))} if any(one) else {}
        }
        for number, one in enumerate(brokers, start=1)
        if one is not None
    }
    found = list(protocol_steps(declared(version, pin), probes, registered))
    assert not any(problem.warning for problem in found)
    return sorted({problem.code for problem in found})


FRESH: Broker = ("", "", "")
TOO_NEW, BOTH, LOWERED, BACK = (
    ["PROTOCOL_TOO_NEW"],
    ["PROTOCOL_WITH_BINARIES"],
    ["PROTOCOL_LOWERED"],
    ["KAFKA_ROLLBACK"],
)


@pytest.mark.parametrize(
    ("version", "pin", "brokers", "said"),
    [
        # Nothing changes, and a site that begins.
        ("3.9.2", None, (NEW, NEW, NEW), []),
        ("3.9.2", "3.8", (NEW_PINNED, NEW_PINNED, NEW_PINNED), []),
        ("3.9.2", None, (FRESH, FRESH, FRESH), []),
        ("3.9.2", None, (NEW, NEW, FRESH), []),
        ("3.9.2", None, (FRESH, None, None), []),
        # Within a minor.
        ("3.9.2", None, (("3.9.1", "3.9.1", ""),) * 3, []),
        ("3.9.1", None, (NEW, NEW, NEW), []),
        # The binaries.
        ("3.9.2", None, (OLD, OLD, OLD), TOO_NEW),
        ("3.9.2", "3.8", (OLD, OLD, OLD), []),
        ("3.9.2", "3.9", (OLD, OLD, OLD), TOO_NEW),
        ("3.9.2", ["3.9"], (OLD, OLD, OLD), TOO_NEW),
        ("3.9.2", ["3.8"], (OLD, OLD, OLD), []),
        ("3.9.2", ["3.7"], (NEW, NEW, NEW), LOWERED),
        ("3.9.2", "3.9", (("3.8.1", "3.8.1", "3.8"),) * 3, TOO_NEW),
        ("3.9.2", "3.7", (OLD, OLD, OLD), LOWERED),
        ("3.9.2", "3.8", (NEW_PINNED, UNPACKED, OLD), []),
        ("3.9.2", "3.8", (OLD, None, None), []),
        ("3.9.2", None, (FRESH, OLD, OLD), TOO_NEW),
        ("3.9.2", None, (NEW_PINNED, DOWN, NEW_PINNED), TOO_NEW),
        # The protocol.
        ("3.9.2", None, (NEW_PINNED, NEW_PINNED, NEW_PINNED), []),
        ("3.9.2", None, (NEW, NEW_PINNED, NEW_PINNED), []),
        ("3.9.2", None, (NEW_PINNED, UNPACKED, NEW_PINNED), TOO_NEW),
        ("3.9.2", None, (("3.9.1", "3.9.1", "3.8"),) * 3, BOTH),
        ("3.9.2", None, (NEW_PINNED, NEW_PINNED, ("3.9.1", "3.9.1", "3.8")), BOTH),
        ("3.9.2-ours", None, (NEW_PINNED, NEW_PINNED, NEW_PINNED), []),
        ("3.9.2", None, (NEW_PINNED, NEW_PINNED, None), BOTH),
        ("3.9.2", None, (NEW, None, None), []),
        # The way back.
        ("3.8.1", None, (NEW, NEW, NEW), BACK),
        ("3.8.1", "3.8", (NEW, NEW, NEW), BACK),
        ("3.8.1", None, (NEW_PINNED, NEW, NEW_PINNED), BACK),
        ("3.8.1", "3.8", (NEW_PINNED, NEW_PINNED, NEW_PINNED), []),
        ("3.8.1", None, (NEW_PINNED, NEW_PINNED, NEW_PINNED), []),
        ("3.9.2", "3.8", (NEW, NEW, NEW), LOWERED),
        ("3.9.2", "3.8", (NEW, NEW_PINNED, NEW_PINNED), LOWERED),
        # Said of the inventory (KAFKA_PROTOCOL, KAFKA_VERSION).
        ("3.8.1", "3.9", (NEW, NEW, NEW), []),
        ("latest", None, (NEW, NEW, NEW), []),
    ],
)
def test_protocol(version: str, pin: Pin, brokers: tuple[Broker | None, ...], said: list[str]) -> None:
    assert codes(version, pin, *brokers) == said


@pytest.mark.parametrize(
    ("version", "brokers", "registered", "said"),
    [
        ("3.9.2", (FRESH, None, None), ["2", "3"], ["PROTOCOL_UNKNOWN"]),
        ("3.8.1", (FRESH, None, None), ["2"], ["PROTOCOL_UNKNOWN"]),
        ("3.9.2", (FRESH, FRESH, None), ["3"], ["PROTOCOL_UNKNOWN"]),
        ("3.9.2", (FRESH, None, None), [], []),
        ("3.9.2", (FRESH, FRESH, FRESH), ["2"], []),
        ("3.9.2", (FRESH, OLD, None), ["2", "3"], TOO_NEW),
        ("3.9.2", (FRESH, NEW, None), ["2", "3"], []),
        ("3.9.2", (None, None, None), ["1", "2", "3"], []),
    ],
)
def test_a_host_with_nothing_beside_brokers_that_are_not_of_the_run(
    version: str, brokers: tuple[Broker | None, ...], registered: list[str], said: list[str]
) -> None:
    """What they speak is not known, unless the site only begins, and nobody lives."""
    assert codes(version, None, *brokers, registered=registered) == said


def test_a_host_that_was_installed_anew_around_its_disks() -> None:
    """They say that there is a cluster, whoever answers."""
    probe: dict[str, Any] = {"releases": {}, "meta_properties": {"/data/kafka1": {"cluster.id": "x"}}}
    found = list(protocol_steps(declared("3.9.2", None), {"dc1-kafka1": probe}))
    assert [(problem.code, problem.variable) for problem in found] == [("PROTOCOL_UNKNOWN", "kafka_version")]
    assert found[0].advice.endswith("(-l dc1-kafka1,dc1-kafka2)")
    first = next(protocol_steps(declared("3.9.2", None), {"dc1-kafka1": probe}, ["3"]))
    assert "(-l dc1-kafka1,dc1-kafka3)" in first.advice
