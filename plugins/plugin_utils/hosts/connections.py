"""Checks the firewall rules of a host, and the connections that host_probe tried from the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import left_alone, rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ports import of_services
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.required_connections import peers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import is_address
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import ECHO, installed, lets_in, lines
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

Probe = Mapping[str, Any]

FIREWALL_NFT = ProblemKind(
    "FIREWALL_NFT",
    "this host has firewall rules, but nft cannot load them ({error})",
    "install the package nftables, or set base_firewall: false",
)
FIREWALL_SSH_CLOSED = ProblemKind(
    "FIREWALL_SSH_CLOSED",
    "Ansible connects to this port, but the firewall would close it: the port has no rule, and is neither 22 nor "
    "ansible_port",
    "set ansible_port of the host to this port",
)
FIREWALL_CONTROL_NODE = ProblemKind(
    "FIREWALL_CONTROL_NODE",
    "the control node checks the health of the cluster from this address, but no rule allows it",
    "add the address to firewall_extra_sources.admin",
)


def firewall(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Yield a problem if nft cannot load a host's firewall rules.

    Also yield a problem if the rules would block Ansible or the health checks. `probe` is the result of host_probe.
    """
    rules, open_ports = rules_of(machine), left_alone(machine)
    if (rules or open_ports) and probe["nft"]:
        yield machine.report(FIREWALL_NFT, "base_firewall", True, error=probe["nft"])
    if open_ports and probe["ssh_port"] not in (0, *open_ports):
        yield machine.report(FIREWALL_SSH_CLOSED, "base_firewall_closed", probe["ssh_port"])
    for address, port in _health_checks(model, machine) if not model.all_groups.get("admin") else ():
        source = probe["control_node"].get(address)
        if source and not lets_in(rules, port, source, open_ports is not None):
            yield machine.report(FIREWALL_CONTROL_NODE, f"base_firewall_rules[{port}]", source)


def _health_checks(model: Model, machine: Machine) -> Iterator[tuple[Any, Any]]:
    """Yield each (address, port) of a host to which the control node connects for health checks.

    Of a broker's listeners, these are only the listeners in kafka_admin_listeners.
    """
    admin_listeners = [f"kafka_listeners[{name}]" for name in machine.inputs.mapping("kafka_admin_listeners")]
    for port in of_services(machine, model):
        is_admin = port.variable in admin_listeners or not port.variable.startswith("kafka_listeners[")
        if "admin" in port.sources and is_admin:
            yield port.address or machine.address("client"), port.number


def ports_with_older_rules(machine: Machine, probe: Probe) -> set[str]:
    """Return the ports, as texts, that the host's present firewall rules may block until this run replaces the rules.

    Return an empty set if this run does not change the rules. The set contains "!=" if the present rules block all
    ports that they do not name.
    """
    installed_lines = installed(probe["firewall"])
    declared = lines(rules_of(machine), left_alone(machine))
    return set() if installed_lines == declared else {line.split()[2] for line in installed_lines}


ECHO_DROPPED = ProblemKind(
    "ECHO_DROPPED",
    "no answer from TCP port 7, where ZooKeeper checks whether a peer's address is reachable: ZooKeeper would not "
    "switch to the other network",
    "let the peer's firewall REJECT (not DROP) TCP port 7 from the hosts of the ensemble",
)
PEER_UNREACHABLE = ProblemKind(
    "PEER_UNREACHABLE",
    "no answer ({result}): a firewall drops the packets, or there is no route",
    "allow the connection in both directions, or correct the route",
)


def reachable(model: Model, host: str, probe: Probe, older: Mapping[str, set[str]]) -> Iterator[Problem]:
    """Yield a problem for each peer that did not answer a connection from `host`; a refused connection is an answer.

    `older` is {host of this run: the ports that its present firewall rules may block}. Peers at such ports, and peers
    outside this run, are skipped.
    """
    machine = model.machines[host]
    for peer in peers(model, host):
        address, port = peer["address"], peer["port"]
        result, place = probe["peers"].get(f"{address}:{port}"), f"{peer['host']} {address}:{port}"
        if peer["host"] not in older or {str(port), "!="} & older[peer["host"]] or result in (None, "open", "refused"):
            continue
        if port == ECHO:
            yield machine.report(ECHO_DROPPED, "", place)
        else:
            yield machine.report(PEER_UNREACHABLE, "", place, result=result)


WARN, REJECT = 30, 100
"""Milliseconds of a round trip between datacenters of one cluster: from the first a warning, from the second an error.

tests/survival/test_distance.py measures what a distance costs.
"""
DATACENTERS_FAR = ProblemKind(
    "DATACENTERS_FAR",
    "a round trip between {datacenters} takes {milliseconds} ms: each write with acks=all, and each change in "
    "ZooKeeper, takes at least as long",
    "use datacenters that are less than {limit} ms apart (docs/layouts.md#distance), or a cluster in each of them",
)


def far_datacenters(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Yield a problem for each two datacenters with brokers of a stretched cluster that are far apart.

    Their distance is the shortest time that a connection between hosts of the two took: longer times include waiting
    for a processor. A cluster that already runs gets a warning only, since no run can move it.
    """
    with_brokers, runs = datacenters(model.brokers), any(probe.get("converged") for probe in probes.values())
    shortest: dict[tuple[str, str], float] = {}
    for host, probe in probes.items() if model.layout != "single" else ():
        for peer in filter(lambda peer: is_address(peer["address"]), peers(model, host)):  # a name takes a lookup
            milliseconds = probe.get("round_trips", {}).get(f"{peer['address']}:{peer['port']}")
            places = sorted({str(model.machines[name].datacenter) for name in (host, peer["host"])})
            if milliseconds is not None and len(places) == 2 and all(name in with_brokers for name in places):
                pair = (places[0], places[1])
                shortest[pair] = min(milliseconds, shortest.get(pair, milliseconds))
    for pair, milliseconds in sorted(shortest.items()):
        if milliseconds >= WARN:
            yield DATACENTERS_FAR.problem(
                [broker.name for name in pair for broker in with_brokers[name]],
                "layout",
                model.layout,
                warning=milliseconds < REJECT or runs,
                datacenters=" and ".join(pair),
                milliseconds=round(milliseconds),
                limit=WARN,
            )
