"""Checks the ports that a run needs for its own questions: a server or broker that is up must listen there already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

Probe = Mapping[str, Any]


def changed_ports(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Yield the servers and brokers that are up and do not listen at the declared port."""
    yield from _zookeeper_ports(model, probes)
    for broker in model.brokers:
        if broker.name in probes and _is_active(probes[broker.name], "kafka.service"):
            yield from _admin_listeners(model, broker, probes)


def _is_active(probe: Probe, unit: str) -> bool:
    return bool(probe["units"].get(unit) == "active")


ZOOKEEPER_PORT_CHANGED = ProblemKind(
    "ZOOKEEPER_PORT_CHANGED",
    "the running server listens at {old}: it would not answer while other servers are restarted",
    "set {old} again, or stop kafka.service and then zookeeper.service on all hosts and run again",
)


def _zookeeper_ports(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """A restart of one server waits for all servers, at the TLS port or, without one, at the plaintext port."""
    for server in model.servers:
        probe = probes.get(server.name)
        if not probe or not _is_active(probe, "zookeeper.service") or not probe["client_ports"] or not server.ports:
            continue
        variable, port = next(iter(server.ports.items()))
        if port not in probe["client_ports"]:
            yield server.report(ZOOKEEPER_PORT_CHANGED, variable, port, old=probe["client_ports"])


ADMIN_LISTENER_CHANGED = ProblemKind(
    "ADMIN_LISTENER_CHANGED",
    "the run uses this listener, and the running broker has it at port {old}: no broker would answer before its "
    "restart",
    "set port {old} again, or set kafka_admin_listeners to another listener while this one changes",
)
ADMIN_LISTENER_CHANGED_NEW = ADMIN_LISTENER_CHANGED.variant(
    message="the run uses this listener, and the running broker does not have it: no broker would answer before its "
    "restart",
    advice="remove it from kafka_admin_listeners, or set kafka_admin_listeners to another listener while this one "
    "changes",
)


def _admin_listeners(model: Model, broker: Broker, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """A restart of one broker asks all brokers: one that has the listener answers for the others."""
    installed = probes[broker.name]["listeners"]
    for listener in broker.listeners if installed else ():
        port, old = whole(listener.port), installed.get(listener.name.upper())
        if listener.name not in broker.inputs.mapping("kafka_admin_listeners") or old == port:
            continue
        others = (other for other in model.brokers if other.name != broker.name)
        if any(_has_listener(other, listener.name, probes, old) for other in others):
            continue
        if old:
            yield broker.report(ADMIN_LISTENER_CHANGED, listener.variable, port, old=old)
        else:
            yield broker.report(ADMIN_LISTENER_CHANGED_NEW, listener.variable, port)


def _has_listener(broker: Broker, name: str, probes: Mapping[str, Probe], old: int | None) -> bool:
    """Tell whether a broker has the listener where it is declared.

    A broker outside this run has it if its declared port is `old`, that of the broker that is checked.
    """
    declared = next((whole(listener.port) for listener in broker.listeners if listener.name == name), None)
    probe = probes.get(broker.name)
    if probe is None:
        return declared is not None and declared == old
    is_up = _is_active(probe, "kafka.service")
    return is_up and declared is not None and probe["listeners"].get(name.upper()) == declared
