"""Who reaches whom: the host's own firewall, and the connections that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.firewall import left_alone, rules_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ports import of_services
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.required_connections import peers
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import ECHO, installed, lets_in, lines
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

Probe = Mapping[str, Any]


def firewall(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Rules can be loaded, and let in the control node where it asks whether the cluster is whole."""
    rules, alone = rules_of(machine), left_alone(machine)
    if (rules or alone) and probe["nft"]:
        wrong = f"there are rules for this host, and nft cannot load them ({probe['nft']})"
        advice = "install the package nftables, or set base_firewall: false"
        yield machine.problem("base_firewall", "FIREWALL_NFT", True, wrong, advice)
    if alone and probe["ssh_port"] not in (0, *alone):
        wrong = "Ansible's own connection comes in at this port, and the host is to be closed but for SSH"
        advice = "declare it as the ansible_port of the host"
        yield machine.problem("base_firewall_closed", "FIREWALL_SSH_CLOSED", probe["ssh_port"], wrong, advice)
    for address, port in _asked(model, machine) if not model.all_groups.get("admin") else ():
        source = probe["control_node"].get(address)
        if source and not lets_in(rules, port, source, alone is not None):
            wrong = "the control node asks from there whether the cluster is whole, and no rule lets it in"
            advice = "add the address to firewall_extra_sources.admin"
            yield machine.problem(f"base_firewall_rules[{port}]", "FIREWALL_CONTROL_NODE", source, wrong, advice)


def _asked(model: Model, machine: Machine) -> Iterator[tuple[Any, Any]]:
    """Yield address and port of what the control node asks there: of listeners, those that it is told of."""
    told = [f"kafka_listeners[{name}]" for name in machine.inputs.mapping("kafka_admin_listeners")]
    for port in of_services(machine, model):
        if "admin" in port.sources and (port.variable in told or not port.variable.startswith("kafka_listeners[")):
            yield port.address or machine.address("client"), port.number


def older_ports(machine: Machine, probe: Probe) -> set[str]:
    """Return the ports whose silence says nothing: an earlier run installed other rules, which this one replaces.

    `!=` stands for all of them: the host was closed.
    """
    found = installed(probe["firewall"])
    declared = lines(rules_of(machine), left_alone(machine))
    return set() if found == declared else {line.split()[2] for line in found}


def reachable(model: Model, host: str, probe: Probe, older: Mapping[str, set[str]]) -> Iterator[Problem]:
    """Both networks lead to every peer; a refused connection is an answer, silence is none.

    `older` holds, for each host of this run, the ports that rules of an earlier run judge there.
    """
    machine = model.machines[host]
    for peer in peers(model, host):
        address, port = peer["address"], peer["port"]
        answer, place = probe["peers"].get(f"{address}:{port}"), f"{peer['host']} {address}:{port}"
        if peer["host"] not in older or {str(port), "!="} & older[peer["host"]] or answer in (None, "open", "refused"):
            continue
        if port == ECHO:
            silent = "ZooKeeper asks TCP port 7 whether a peer's address is alive, and nothing answers"
            wrong = f"{silent}: it would not move to the other network"
            advice = "let the peer's firewall REJECT (not DROP) TCP port 7 from the ensemble's hosts"
            yield machine.problem("", "ECHO_DROPPED", place, wrong, advice)
        else:
            wrong = f"no answer ({answer}): a firewall drops it, or the network does not lead there"
            yield machine.problem("", "PEER_UNREACHABLE", place, wrong, "open the way, both directions")
