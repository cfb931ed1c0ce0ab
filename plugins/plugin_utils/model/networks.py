"""Rules on addresses of hosts, the subnets of the client and the replication network, and listeners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS, Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ports import PORT_RANGE
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import (
    WILDCARDS,
    holders,
    inside,
    is_address,
    subnet,
    v6,
    whole,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

ADDRESS_MISSING = ProblemKind(
    "ADDRESS_MISSING",
    "the host has no address in the {network} network",
    "set it on the host's line in hosts.yml, for example 198.51.100.7",
)
ADDRESS_MISSING_SECOND = ADDRESS_MISSING.variant(
    message="the host has no address in the replication network{why}",
    advice="set it on the host's line in hosts.yml, for example 198.51.100.7, or, if the hosts of this datacenter have "
    "only one network, {one_network}",
)
ADDRESS_DUPLICATE = ProblemKind("ADDRESS_DUPLICATE", "declared twice, as {places}", "set a different address in each")
ADDRESS_INVALID = ProblemKind("ADDRESS_INVALID", "not an IPv4 address", "set an address, for example 198.51.100.7")
ADDRESS_INVALID_EMPTY = ADDRESS_INVALID.variant(
    message="empty, which overrides the default (client_address)",
    advice="remove it, or, if the host has two networks, set its address in the replication network",
)
ADDRESS_RESERVED = ProblemKind(
    "ADDRESS_RESERVED", "the network or broadcast address of {network}", "give the host an address of its own"
)


def addresses(model: Model) -> Iterator[Problem]:
    """Yield a problem for each client_address and replication_address that is missing, invalid or declared twice."""
    for machine in model.functional:
        if machine.address("client") is None:
            yield machine.report(ADDRESS_MISSING, "client_address", network="client")
    yield from _second_network(model)
    declared = []
    for host in model.all_groups["all"]:
        for network in NETWORKS:
            value = model.machines[host].address(network)
            if value is not None:
                if is_address(value):
                    declared.append((str(ip_address(str(value))), f"{host}/{network}_address"))
                yield from _address(model.machines[host], network, value)
    for value, places in holders(iter(declared)).items():
        hosts = tuple(dict.fromkeys(place.partition("/")[0] for place in places))
        yield ADDRESS_DUPLICATE.problem(hosts, "", value, places=" and ".join(places))


def _second_network(model: Model) -> Iterator[Problem]:
    """Yield a problem for each ZooKeeper server and broker without an address in a replication network that it has.

    A host has this network if its subnet is declared for the host, or if another ZooKeeper server or broker of its
    datacenter has an address in it. Also yield a problem for each empty replication_address of a host with one network.
    """
    having = [machine for machine in model.cluster if machine.address("replication") is not None]
    for machine in model.cluster:
        declared, variable = machine.network("replication"), "replication_address"
        others = [other.name for other in having if other.datacenter == machine.datacenter]
        if machine in having or machine.address("client") is None or machine.failed(variable):
            continue
        if declared is not None or others:
            why = f" {declared}" if declared is not None else f", but {others[0]} has"
            one_network = _one_network(machine, bool(others), len(having) > len(others))
            yield machine.report(ADDRESS_MISSING_SECOND, variable, why=why, one_network=one_network)
        elif machine.inputs.values.get(variable, machine.name) in (None, ""):
            yield machine.report(ADDRESS_INVALID_EMPTY, variable)


def _one_network(machine: Machine, has_others: bool, is_elsewhere: bool) -> str:
    """Return what removes the replication network of a host's datacenter.

    `has_others` tells whether other hosts of the datacenter have an address in it, `is_elsewhere` whether hosts of
    other datacenters have one: these need the subnet.
    """
    addresses = ["remove every replication_address of these hosts"] if has_others else []
    if machine.network("replication") is None:
        return addresses[0]
    if not is_elsewhere:
        return "remove replication_network" + (" and every replication_address" if has_others else "")
    return " and ".join(
        [*addresses, f"set `replication_network: null` in the group of datacenter {machine.datacenter}"]
    )


def _address(machine: Machine, network: str, value: Any) -> Iterator[Problem]:
    name = f"{network}_address"
    if not is_address(value):
        yield machine.report(ADDRESS_INVALID, name, value)
        return
    address, declared = ip_address(str(value)), subnet(machine.network(network))
    if declared is None or address.version != declared.version or address not in declared:
        return
    if declared.num_addresses > 2 and address in (declared.network_address, declared.broadcast_address):
        yield machine.report(ADDRESS_RESERVED, name, value, network=declared)


NETWORKS_SWAPPED = ProblemKind(
    "NETWORKS_SWAPPED",
    "each address is in the subnet of the other network",
    "exchange the values of client_network and replication_network",
)
NETWORKS_SWAPPED_ADDRESSES = NETWORKS_SWAPPED.variant(advice="exchange client_address and replication_address")
NETWORK_ELSEWHERE = ProblemKind(
    "NETWORK_ELSEWHERE", "no {name} of these hosts is in this subnet", "correct the subnet, or the addresses"
)
NETWORK_ELSEWHERE_MOST = NETWORK_ELSEWHERE.variant(
    message="{name} of {outside} of {total} hosts is outside this subnet, for example {example}"
)
NETWORK_ELSEWHERE_SMALL = NETWORK_ELSEWHERE.variant(
    message="too small: {name} of {outside} of {total} hosts is outside, for example {example}", advice="use {wider}"
)
ADDRESS_OUTSIDE = ProblemKind(
    "ADDRESS_OUTSIDE",
    "outside the {network} network {subnet}",
    "correct the address or {network}_network",
)


def outside(model: Model) -> Iterator[Problem]:
    """Yield a problem for each address outside the subnet of its network (client or replication).

    If the two subnets are exchanged, or a subnet is wrong, a single problem names all hosts.
    """
    known = [machine for machine in model.machines.values() if machine.addresses]
    swapped = {machine.name for machine in known if _swapped(machine)}
    if swapped:
        every = all(machine.name in swapped or len(machine.addresses) < 2 for machine in known)
        yield (NETWORKS_SWAPPED if every else NETWORKS_SWAPPED_ADDRESSES).problem(tuple(swapped), "")
        known = [machine for machine in known if not every and machine.name not in swapped]
    for network in NETWORKS:
        by_subnet: dict[str, list[tuple[Machine, bool]]] = {}
        for machine in known:
            declared, value = subnet(machine.network(network)), machine.address(network)
            if declared and is_address(value) and not v6(declared) and not v6(value):
                by_subnet.setdefault(str(declared), []).append((machine, not inside(value, declared)))
        for declared_subnet, machines in by_subnet.items():
            yield from _outside(network, declared_subnet, machines)


def _outside(network: str, declared: str, machines: Sequence[tuple[Machine, bool]]) -> Iterator[Problem]:
    """Yield the problems of hosts with the same declared subnet of a network.

    `machines` has (host, whether its address is outside the subnet).
    """
    name, variable = f"{network}_address", f"{network}_network"
    out = [machine for machine, is_out in machines if is_out]
    hosts = tuple(machine.name for machine, _ in machines)
    if len(out) == len(machines) > 1:
        yield NETWORK_ELSEWHERE.problem(hosts, variable, declared, name=name)
        return
    counts: dict[str, Any] = {"outside": len(out), "total": len(machines), "name": name}
    if len(out) > max(2, len(machines) / 2):
        example = out[0].address(network)
        yield NETWORK_ELSEWHERE_MOST.problem(hosts, variable, declared, **counts, example=example)
        return
    if len(out) > 1 and (wider := _wider(declared, [str(machine.address(network)) for machine, _ in machines])):
        example = out[0].address(network)
        yield NETWORK_ELSEWHERE_SMALL.problem(hosts, variable, declared, **counts, example=example, wider=wider)
        return
    for machine in out:
        yield machine.report(ADDRESS_OUTSIDE, name, machine.address(network), network=network, subnet=declared)


def _wider(declared: str, addresses: Sequence[str]) -> str | None:
    """Return the smallest subnet that contains `declared` and all addresses, but is not wider than a /24.

    Return None if there is none.
    """
    network = ip_network(declared)
    for length in range(network.prefixlen - 1, 23, -1):
        wider = network.supernet(new_prefix=length)
        if all(ip_address(address) in [*wider][1:-1] for address in addresses):
            return str(wider)
    return None


def _swapped(machine: Machine) -> bool:
    """Tell whether both addresses of a host are in the subnet of the other network only."""
    pairs = [(machine.address(network), machine.network(network)) for network in NETWORKS]
    (client, client_network), (replication, replication_network) = pairs
    return (
        inside(client, replication_network)
        and inside(replication, client_network)
        and not inside(client, client_network)
    )


ADDRESS_VERSION = ProblemKind(
    "ADDRESS_VERSION",
    "an IPv6 address: Kafka and ZooKeeper require brackets around it, which the roles do not write",
    "give the hosts IPv4 addresses",
)


def versions(model: Model) -> Iterator[Problem]:
    """Yield a problem for each IPv6 address or subnet.

    Configuration files of Kafka and ZooKeeper require another notation for IPv6, which the roles do not write.
    """
    for machine in model.machines.values():
        for name in (f"{network}_{what}" for network in NETWORKS for what in ("address", "network")):
            if v6(machine.inputs.get(name)):
                yield machine.report(ADDRESS_VERSION, name)
    for broker in model.brokers:
        for item in broker.listeners:
            for key, value in (("address", item.address), ("advertised_address", item.advertised_address)):
                if v6(str(value).strip("[]")) and value not in broker.addresses:
                    yield broker.report(ADDRESS_VERSION, f"{item.variable}.{key}", value)
                    break


NETWORK_MISSING = ProblemKind(
    "NETWORK_MISSING",
    "the {network} network is not declared, so addresses cannot be checked",
    "set it, for example 198.51.100.0/24",
    warning=True,
)
NETWORK_INVALID = ProblemKind(
    "NETWORK_INVALID", "not a subnet, or a subnet with host bits set", "write it as 198.51.100.0/24"
)
NETWORK_OVERLAP = ProblemKind(
    "NETWORK_OVERLAP",
    "overlaps {other} {other_subnet}: the traffic of the two networks could not be separated",
    "give each network a subnet of its own, or, if there is only one network, remove replication_network and every "
    "replication_address",
)


def subnets(model: Model) -> Iterator[Problem]:
    """Yield a problem for client_network or replication_network that is not set, invalid, or overlaps the other."""
    declared: dict[tuple[str, str], None] = {}
    for machine in model.cluster:
        for network in NETWORKS:
            name, value = f"{network}_network", machine.network(network)
            if value is None and network == "replication" and machine.address(network) is None:
                continue  # the host has one network
            if value is None:
                yield machine.report(NETWORK_MISSING, name, network=network)
            elif subnet(value) is None:
                yield machine.report(NETWORK_INVALID, name, value)
            else:
                declared[name, str(value)] = None
    for number, (name, value) in enumerate(declared):
        for other, other_value in list(declared)[number + 1 :]:
            first, second = ip_network(value), ip_network(other_value)
            if first.version == second.version and first.overlaps(second):
                yield NETWORK_OVERLAP.problem((), name, value, other=other, other_subnet=other_value)


LISTENER_DUPLICATE = ProblemKind("LISTENER_DUPLICATE", "two listeners of that name", "give each a name of its own")
LISTENER_UNKNOWN = ProblemKind("LISTENER_UNKNOWN", "kafka_listeners has only {names}", "set one of these names")


def listeners(model: Model) -> Iterator[Problem]:
    """Yield a problem for each listener with a duplicate name, or an address or port that cannot be used.

    Also yield a problem for an inter-broker listener that does not exist, and for a listener without TLS in production.
    """
    for broker in model.brokers:
        names = [item.name for item in broker.listeners]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield broker.report(LISTENER_DUPLICATE, "kafka_listeners", name)
        for item in broker.listeners:
            yield from _listener(broker, item)
        inter_broker = broker.inter_broker
        if inter_broker and names and str(inter_broker) not in names:
            yield broker.report(LISTENER_UNKNOWN, "kafka_inter_broker_listener", inter_broker, names=names)


LISTENER_ADVERTISED = ProblemKind(
    "LISTENER_ADVERTISED",
    "the broker would advertise this address, at which no client can connect",
    "set address to an address of the host, or set advertised_address",
)
LISTENER_ADDRESS = ProblemKind(
    "LISTENER_ADDRESS",
    "not an address of this host, so the broker could not bind it",
    "use client_address or replication_address",
)
PORT_RANGE_ADVERTISED = PORT_RANGE.variant(
    message="the broker would advertise this port, which is outside 1 to 65535",
    advice="set a port from 1 to 65535, or remove it",
)
LISTENER_PLAINTEXT = ProblemKind(
    "LISTENER_PLAINTEXT",
    "the traffic of this listener is not encrypted, in production (site_environment)",
    "use SSL or SASL_SSL",
)


def _listener(broker: Broker, item: Listener) -> Iterator[Problem]:
    bindable = {str(broker.address(network)) for network in NETWORKS} | set(WILDCARDS)
    if str(item.advertised_address) in WILDCARDS:
        yield broker.report(LISTENER_ADVERTISED, item.variable, item.advertised_address)
    elif str(item.address) not in bindable and any(inside(item.address, broker.network(name)) for name in NETWORKS):
        yield broker.report(LISTENER_ADDRESS, item.variable, item.address)
    advertised_port = whole(item.advertised_port)
    if advertised_port is not None and advertised_port != whole(item.port) and not 1 <= advertised_port <= 65535:
        yield broker.report(PORT_RANGE_ADVERTISED, item.variable, advertised_port)
    if broker.production and item.protocol_declared and item.protocol in ("PLAINTEXT", "SASL_PLAINTEXT"):
        yield broker.report(LISTENER_PLAINTEXT, item.variable, item.protocol)


LISTENER_NETWORK = ProblemKind(
    "LISTENER_NETWORK",
    "brokers would replicate over the client network",
    "set address of this listener to replication_address",
    warning=True,
)


def replication_network(model: Model) -> Iterator[Problem]:
    """Yield a warning for each broker whose listener between brokers is in the client network."""
    for broker in model.brokers:
        client, replication = broker.address("client"), broker.address("replication")
        for item in broker.listeners:
            inner = item.name == str(broker.inter_broker)
            if inner and replication and str(item.address) == str(client):
                yield broker.report(LISTENER_NETWORK, "kafka_inter_broker_listener", item.name)
