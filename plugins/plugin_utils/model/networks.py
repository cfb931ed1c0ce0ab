"""Rules on addresses, subnets and listeners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS, Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import (
    WILDCARDS,
    holders,
    inside,
    is_address,
    subnet,
    v6,
    whole,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

IPV6 = "IPv6: nothing here writes the brackets that Kafka and ZooKeeper want around it"


def addresses(model: Model) -> Iterator[Problem]:
    """Every host has its addresses, inside the declared subnets, and none is used twice."""
    cluster = {machine.name for machine in model.cluster}
    for machine in model.functional:
        for network in NETWORKS if machine.name in cluster else ("client",):
            if machine.inputs.values.get(f"{network}_address") is None:
                wrong, advice = f"no address in the {network} network", "write it on the host's line"
                yield machine.problem(f"{network}_address", "ADDRESS_MISSING", None, wrong, advice)
    found = []
    for host in model.all_groups["all"]:
        for network in NETWORKS:
            value = model.machines[host].inputs.values.get(f"{network}_address")
            if value is not None:
                if is_address(value):
                    found.append((str(ip_address(str(value))), f"{host}/{network}_address"))
                yield from _address(model.machines[host], network, value)
    for value, places in holders(iter(found)).items():
        hosts = tuple(dict.fromkeys(place.partition("/")[0] for place in places))
        yield Problem(hosts, "", "ADDRESS_DUPLICATE", value, f"declared as {' and '.join(places)}", "give each its own")


def _address(machine: Machine, network: str, value: Any) -> Iterator[Problem]:
    name = f"{network}_address"
    if not is_address(value):
        advice = "write an address, as 198.51.100.7"
        yield machine.problem(name, "ADDRESS_INVALID", value, "no IPv4 address", advice)
        return
    address, declared = ip_address(str(value)), subnet(machine.network(network))
    if declared is None or address.version != declared.version or address not in declared:
        return
    if declared.num_addresses > 2 and address in (declared.network_address, declared.broadcast_address):
        wrong = f"the network or broadcast address of {declared}"
        yield machine.problem(name, "ADDRESS_RESERVED", value, wrong, "give the host an address of its own")


def outside(model: Model) -> Iterator[Problem]:
    """Addresses are in their networks; two that are exchanged, or a network with nobody in it, are said once."""
    known = [machine for machine in model.machines.values() if machine.addresses]
    swapped = {machine.name for machine in known if _swapped(machine)}
    if swapped:
        every = all(machine.name in swapped or len(machine.addresses) < 2 for machine in known)
        wrong = "each address is in the subnet of the other network"
        advice = "exchange client_network and replication_network" if every else "exchange the two addresses"
        yield Problem(tuple(swapped), "", "NETWORKS_SWAPPED", None, wrong, advice)
        known = [machine for machine in known if not every and machine.name not in swapped]
    for network in NETWORKS:
        name = f"{network}_address"
        strange: dict[str, list[tuple[Machine, bool]]] = {}
        for machine in known:
            declared, value = subnet(machine.network(network)), machine.address(network)
            if declared and is_address(value) and not v6(declared) and not v6(value):
                strange.setdefault(str(declared), []).append((machine, not inside(value, declared)))
        for told, machines in strange.items():
            out = [machine for machine, is_out in machines if is_out]
            if len(out) == len(machines) > 1:
                hosts = tuple(machine.name for machine in out)
                wrong, advice = f"no {name} of these hosts is inside", "correct it, or their addresses"
                yield Problem(hosts, f"{network}_network", "NETWORK_ELSEWHERE", told, wrong, advice)
                continue
            if len(out) > max(2, len(machines) / 2):
                wrong = f"{len(out)} of {len(machines)} {name} are outside, as {out[0].address(network)}"
                hosts, advice = tuple(machine.name for machine, _ in machines), "correct it, or their addresses"
                yield Problem(hosts, f"{network}_network", "NETWORK_ELSEWHERE", told, wrong, advice)
                continue
            if len(out) > 1 and (wider := _wider(told, [str(machine.address(network)) for machine, _ in machines])):
                wrong = f"too small: {len(out)} of {len(machines)} {name} are outside, as {out[0].address(network)}"
                hosts = tuple(machine.name for machine, _ in machines)
                yield Problem(hosts, f"{network}_network", "NETWORK_ELSEWHERE", told, wrong, f"use {wider}")
                continue
            for machine in out:
                wrong, advice = f"outside the {network} network {told}", f"correct the address or {network}_network"
                yield machine.problem(name, "ADDRESS_OUTSIDE", machine.address(network), wrong, advice)


def _wider(declared: str, addresses: Sequence[str]) -> str | None:
    """Return the smallest network around another that has all addresses and is no wider than a /24; None for none."""
    network = ip_network(declared)
    for length in range(network.prefixlen - 1, 23, -1):
        wider = network.supernet(new_prefix=length)
        if all(ip_address(address) in [*wider][1:-1] for address in addresses):
            return str(wider)
    return None


def _swapped(machine: Machine) -> bool:
    """Tell whether both addresses of a host, and there are two, are in the other one's subnet alone."""
    pairs = [(machine.address(network), machine.network(network)) for network in NETWORKS]
    (client, client_network), (replication, replication_network) = pairs
    return (
        inside(client, replication_network)
        and inside(replication, client_network)
        and not inside(client, client_network)
    )


def versions(model: Model) -> Iterator[Problem]:
    """Addresses and networks are IPv4: files of Kafka and ZooKeeper would need others to be written otherwise."""
    advice = "give the hosts IPv4 addresses"
    for machine in model.machines.values():
        for name in (f"{network}_{what}" for network in NETWORKS for what in ("address", "network")):
            value = machine.inputs.get(name)
            if v6(value):
                yield machine.problem(name, "ADDRESS_VERSION", None, IPV6, advice)
    for broker in model.brokers:
        for item in broker.listeners:
            for key, value in (("address", item.address), ("advertised_address", item.advertised_address)):
                if v6(str(value).strip("[]")) and value not in broker.addresses:
                    yield broker.problem(f"{item.variable}.{key}", "ADDRESS_VERSION", value, IPV6, advice)
                    break


def subnets(model: Model) -> Iterator[Problem]:
    """The two networks are declared, and none overlaps another."""
    declared: dict[tuple[str, str], None] = {}
    for machine in model.cluster:
        for network in NETWORKS:
            name, value = f"{network}_network", machine.network(network)
            if value is None:
                wrong = f"the {network} network is not declared, so addresses cannot be checked"
                yield machine.problem(name, "NETWORK_MISSING", None, wrong, "set it, as 198.51.100.0/24", warning=True)
            elif subnet(value) is None:
                wrong, advice = "no subnet, or one with host bits", "write it as 198.51.100.0/24"
                yield machine.problem(name, "NETWORK_INVALID", value, wrong, advice)
            else:
                declared[name, str(value)] = None
    for number, (first, value) in enumerate(declared):
        for second, other in list(declared)[number + 1 :]:
            one, two = ip_network(value), ip_network(other)
            if one.version == two.version and one.overlaps(two):
                wrong = f"overlaps {second} {other}: traffic of the two could not be told apart"
                yield Problem((), first, "NETWORK_OVERLAP", value, wrong, "give each network a subnet of its own")


def listeners(model: Model) -> Iterator[Problem]:
    """Listeners are named once, bind an address of the host, are told to clients as something reachable."""
    for broker in model.brokers:
        names = [item.name for item in broker.listeners]
        for name in sorted({name for name in names if names.count(name) > 1}):
            wrong, advice = "two listeners of that name", "give each a name of its own"
            yield broker.problem("kafka_listeners", "LISTENER_DUPLICATE", name, wrong, advice)
        for item in broker.listeners:
            yield from _listener(broker, item)
        wanted = broker.inter_broker
        if wanted and names and str(wanted) not in names:
            wrong = f"kafka_listeners has only {', '.join(names)}"
            yield broker.problem("kafka_inter_broker_listener", "LISTENER_UNKNOWN", wanted, wrong, "name one of them")


def _listener(broker: Broker, item: Listener) -> Iterator[Problem]:
    own = {str(broker.address(network)) for network in NETWORKS} | set(WILDCARDS)
    if str(item.advertised_address) in WILDCARDS:
        wrong = "clients would be told this address, and it leads nowhere"
        advice = "bind the host's address, or set advertised_address"
        yield broker.problem(item.variable, "LISTENER_ADVERTISED", item.advertised_address, wrong, advice)
    elif str(item.address) not in own and any(inside(item.address, broker.network(name)) for name in NETWORKS):
        wrong, advice = (
            "not an address of this host, so the broker could not bind it",
            "use client_address or replication_address",
        )
        yield broker.problem(item.variable, "LISTENER_ADDRESS", item.address, wrong, advice)
    told = whole(item.advertised_port)
    if told is not None and told != whole(item.port) and not 1 <= told <= 65535:
        wrong, advice = "clients would be told this port, and there is none", "correct it, or leave it out"
        yield broker.problem(item.variable, "PORT_RANGE", told, wrong, advice)
    if broker.production and item.protocol_said and item.protocol in ("PLAINTEXT", "SASL_PLAINTEXT"):
        wrong = "everything on this listener can be read on the network, and this is production"
        yield broker.problem(item.variable, "LISTENER_PLAINTEXT", item.protocol, wrong, "use SSL or SASL_SSL")


def replication_network(model: Model) -> Iterator[Problem]:
    """Brokers copy their data over the replication network."""
    for broker in model.brokers:
        client, replication = broker.address("client"), broker.address("replication")
        for item in broker.listeners:
            inner = item.name == str(broker.inter_broker)
            if inner and replication and str(item.address) == str(client) != str(replication):
                wrong = "brokers would copy their data over the client network"
                advice, name = "bind that listener to replication_address", "kafka_inter_broker_listener"
                yield broker.problem(name, "LISTENER_NETWORK", item.name, wrong, advice, warning=True)
