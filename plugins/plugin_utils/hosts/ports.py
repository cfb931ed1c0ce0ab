"""Ports at which a run asks whether it may go on: what runs has to listen there already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

Probe = Mapping[str, Any]


def changed(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Servers and brokers that run listen where the declared inventory has them asked."""
    yield from _ensemble(model, probes)
    for broker in model.brokers:
        if broker.name in probes and _runs(probes[broker.name], "kafka.service"):
            yield from _admin_listeners(model, broker, probes)


def _runs(probe: Probe, unit: str) -> bool:
    return bool(probe["units"].get(unit) == "active")


def _ensemble(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """A restart of one server waits for all, at the port of TLS, or at that in the clear where there is none."""
    for server in model.servers:
        probe = probes.get(server.name)
        if not probe or not _runs(probe, "zookeeper.service") or not probe["client_ports"] or not server.ports:
            continue
        variable, port = next(iter(server.ports.items()))
        if port not in probe["client_ports"]:
            old = ", ".join(map(str, probe["client_ports"]))
            wrong = f"the server that runs there listens at {old}, and nobody would answer while others are restarted"
            advice = (
                f"declare {old} again, or stop kafka.service and then zookeeper.service on all hosts, and run again"
            )
            yield server.problem(variable, "ZOOKEEPER_PORT_CHANGED", port, wrong, advice)


def _admin_listeners(model: Model, broker: Broker, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """A restart of one broker asks them all: one that has the listener answers for the others."""
    installed = probes[broker.name]["listeners"]
    for listener in broker.listeners if installed else ():
        port = whole(listener.port)
        if (
            listener.name not in broker.inputs.mapping("kafka_admin_listeners")
            or installed.get(listener.name.upper()) == port
        ):
            continue
        others = (other for other in model.brokers if other.name != broker.name)
        if any(_serves(other, listener.name, probes, installed.get(listener.name.upper())) for other in others):
            continue
        old = installed.get(listener.name.upper())
        there = f"has it at port {old}" if old else "does not have it"
        wrong = f"admins use it, and the broker that runs there {there}: nobody would answer before a restart"
        keep = f"declare {old} again" if old else "take it out of kafka_admin_listeners"
        advice = f"{keep}, or name another listener in kafka_admin_listeners while this one changes"
        yield broker.problem(listener.variable, "ADMIN_LISTENER_CHANGED", port, wrong, advice)


def _serves(broker: Broker, name: str, probes: Mapping[str, Probe], old: int | None) -> bool:
    """Tell whether a broker has the listener where it is declared; one that was not asked, as far as `old` shows."""
    declared = next((whole(listener.port) for listener in broker.listeners if listener.name == name), None)
    probe = probes.get(broker.name)
    if probe is None:
        return declared is not None and declared == old
    return _runs(probe, "kafka.service") and declared is not None and probe["listeners"].get(name.upper()) == declared
