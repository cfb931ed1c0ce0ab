"""Checks that running servers and brokers listen at the ports and addresses at which this run will query them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

Probe = Mapping[str, Any]


def changed_ports(model: Model, probes: Mapping[str, Probe], registered: Collection[str] = ()) -> Iterator[Problem]:
    """Yield a problem for each running ZooKeeper server and broker that does not listen where it is declared.

    The run itself, or a restarted ZooKeeper server, connects there. `probes` is {host: result of host_probe};
    `registered` are the ids of the brokers that are up, as the first admin listener answered.
    """
    yield from _zookeeper_ports(model, probes)
    yield from _zookeeper_addresses(model, probes)
    running = [one for one in model.brokers if one.name in probes and _is_active(probes[one.name], "kafka.service")]
    behind = [one for one in running if registered and "kafka.service" in probes[one.name]["behind"]]
    # a run that stopped has restarted one broker, or the brokers of one rack
    older = behind and len({one.kafka_rack or one.name for one in running if one not in behind}) <= 1
    for broker in model.brokers:
        if broker.name in probes and _is_active(probes[broker.name], "kafka.service"):
            first = next(iter(broker.inputs.mapping("kafka_admin_listeners")), None)
            answered = first if older else None
            yield from _admin_listeners(model, broker, probes, answered)


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


ZOOKEEPER_ADDRESS_ADDED = ProblemKind(
    "ZOOKEEPER_ADDRESS_ADDED",
    "the running server does not listen there: a restarted server may try only this address of its peers, and not "
    "find them",
    "remove the address, set quorumListenOnAllIPs: true in zookeeper_config of all servers, run zookeeper.yml, and add "
    "the address then (docs/layouts.md#adding-a-second-network), or run stop.yml -e outage=true with the old inventory",
)


def _zookeeper_addresses(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Yield a problem for each running ZooKeeper server that gets a second address at which it does not listen.

    Of the addresses of a peer, ZooKeeper connects to the one that first answers a probe, as port 7 of any address of
    the host does. If the peer does not listen there, ZooKeeper does not always try the others (MultipleAddresses).
    """
    for server in model.servers if len(model.servers) > 1 else ():
        probe, declared = probes.get(server.name), server.servers.get(server.number, ())
        installed = probe["ensemble"].get(str(server.number)) if probe else None
        if probe and installed and _is_active(probe, "zookeeper.service") and len(declared) > 1:
            for address in declared:
                if str(address) not in installed:
                    yield server.report(ZOOKEEPER_ADDRESS_ADDED, f"zookeeper_servers[{server.number}]", address)


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


ADMIN_LISTENER_CHANGED_ADDRESS = ADMIN_LISTENER_CHANGED.variant(
    message="playbooks connect to this listener, but the running broker has it at {old}: no broker would answer before "
    "its restart",
    advice="set {old} again, or set kafka_admin_listeners to another listener while this one changes",
)
ADMIN_LISTENER_CHANGED_NETWORK = ADMIN_LISTENER_CHANGED_ADDRESS.variant(
    advice="set adding_replication_network: true until all brokers are restarted, or use {old} again",
)


def _admin_listeners(
    model: Model, broker: Broker, probes: Mapping[str, Probe], answered: str | None
) -> Iterator[Problem]:
    """Yield a problem for each admin listener whose port or address changes, unless another broker has it already.

    A restart of one broker queries all brokers through an admin listener; one broker that has the listener is enough.
    The listener named `answered` is not judged: it answers where it is declared, and the files of a broker are newer
    than its process. After a run that wrote wrong files and stopped, most brokers still run with the former ones.
    """
    yield from _moved_listeners(model, broker, probes, answered)
    installed = probes[broker.name]["listeners"]
    for listener in broker.listeners if installed else ():
        if listener.name == answered:
            continue
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


def _moved_listeners(
    model: Model, broker: Broker, probes: Mapping[str, Probe], answered: str | None
) -> Iterator[Problem]:
    """Yield a problem for each admin listener that moves to another address of the host, at the same port.

    The listener may move if the admin host also knows its former address, or if another broker has moved already.
    """
    installed, admin = probes[broker.name]["listener_addresses"], broker.inputs.mapping("kafka_admin_listeners")
    for listener in broker.listeners:
        old, declared = installed.get(listener.name.upper()), str(listener.advertised_address)
        settings = admin.get(listener.name)
        known = str(settings.get("bootstrap.servers")) if isinstance(settings, Mapping) else ""
        same_port = probes[broker.name]["listeners"].get(listener.name.upper()) == whole(listener.port)
        if not old or not same_port or settings is None or old == declared or old in _hosts_of(known):
            continue
        if listener.name == answered or any(_has_moved(other, listener.name, probes) for other in model.brokers):
            continue
        added = old == str(broker.address("client")) and declared == str(broker.address("replication"))
        kind = ADMIN_LISTENER_CHANGED_NETWORK if added else ADMIN_LISTENER_CHANGED_ADDRESS
        yield broker.report(kind, listener.variable, declared, old=old)


def _hosts_of(servers: str) -> set[str]:
    """Return the addresses in the text "address:port,address:port"."""
    return {entry.strip().rpartition(":")[0] for entry in servers.split(",")}


def _has_moved(broker: Broker, name: str, probes: Mapping[str, Probe]) -> bool:
    """Tell whether a running broker of this run advertises a listener of this name at its declared address."""
    probe = probes.get(broker.name)
    declared = next((str(item.advertised_address) for item in broker.listeners if item.name == name), None)
    if not probe or not _is_active(probe, "kafka.service") or "kafka.service" in probe["behind"]:
        return False  # a process that is older than the file does not use its addresses
    return bool(probe["listener_addresses"].get(name.upper()) == declared)


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
