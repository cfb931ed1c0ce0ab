"""Checks that running servers and brokers listen at the ports at which this run will query them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

Probe = Mapping[str, Any]


def changed_ports(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Yield a problem for each running ZooKeeper server and broker that does not listen at its declared port.

    The run itself connects to these ports. `probes` is {host: result of host_probe}.
    """
    yield from _zookeeper_ports(model, probes)
    for broker in model.brokers:
        if broker.name in probes and _is_active(probes[broker.name], "kafka.service"):
            yield from _admin_listeners(model, broker, probes)


def _is_active(probe: Probe, unit: str) -> bool:
    return bool(probe["units"].get(unit) == "active")


ZOOKEEPER_PORT_CHANGED = ProblemKind(
    "ZOOKEEPER_PORT_CHANGED",
    "the running server listens at {old}: a rolling restart would ask it at the new port, and get no answer",
    "set {old} again, or stop kafka.service and then zookeeper.service on all hosts and run again",
)


def _zookeeper_ports(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Yield a problem for each running ZooKeeper server that does not listen at the port that a restart waits for.

    A restart of one server waits for all servers: at the TLS port or, if there is none, at the plaintext port.
    """
    for server in model.servers:
        probe = probes.get(server.name)
        if not probe or not _is_active(probe, "zookeeper.service") or not probe["client_ports"] or not server.ports:
            continue
        variable, port = next(iter(server.ports.items()))
        if port not in probe["client_ports"]:
            yield server.report(ZOOKEEPER_PORT_CHANGED, variable, port, old=probe["client_ports"])


ADMIN_LISTENER_CHANGED = ProblemKind(
    "ADMIN_LISTENER_CHANGED",
    "playbooks connect to this listener, but the running broker has it at port {old}: no broker would answer before "
    "its restart",
    "set port {old} again, or set kafka_admin_listeners to another listener while this one changes",
)
ADMIN_LISTENER_CHANGED_NEW = ADMIN_LISTENER_CHANGED.variant(
    message="playbooks connect to this listener, but the running broker does not have it: no broker would answer "
    "before its restart",
    advice="remove it from kafka_admin_listeners, or set kafka_admin_listeners to another listener while this one "
    "changes",
)


def _admin_listeners(model: Model, broker: Broker, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Yield a problem for each admin listener whose port changes, unless another broker has the listener already.

    A restart of one broker queries all brokers through an admin listener; one broker that has the listener is enough.
    """
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
    """Tell whether a broker has a listener of this name at its declared port.

    For a broker outside this run, which was not probed, tell whether its declared port is `old`, the port at which the
    checked broker has the listener.
    """
    declared = next((whole(listener.port) for listener in broker.listeners if listener.name == name), None)
    probe = probes.get(broker.name)
    if probe is None:
        return declared is not None and declared == old
    is_up = _is_active(probe, "kafka.service")
    return is_up and declared is not None and probe["listeners"].get(name.upper()) == declared
