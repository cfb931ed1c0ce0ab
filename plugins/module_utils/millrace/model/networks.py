"""Rules on addresses, subnets and ports."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from ..problems import Problem
from .base import Model, holders

NETWORKS = ("client", "replication")
WILDCARDS = ("0.0.0.0", "::", "")
QUORUM_PORTS = {2888: "the quorum port of ZooKeeper", 3888: "the election port of ZooKeeper"}


def subnet(value: Any) -> IPv4Network | IPv6Network | None:
    """Return a network; None for what is none."""
    try:
        return ip_network(str(value))
    except ValueError:
        return None


def is_address(value: Any) -> bool:
    """Tell an IPv4 or IPv6 address from a name."""
    try:
        ip_address(str(value))
    except ValueError:
        return False
    return True


def inside(address: Any, network: Any) -> bool:
    """Tell whether an address is in a network; a name is in none."""
    found = subnet(network)
    return found is not None and is_address(address) and ip_address(str(address)) in found


def addresses(model: Model) -> Iterator[Problem]:
    """Every host has its addresses, inside the declared subnets, and none is used twice."""
    found = []
    for host in model.function_hosts:
        for network in NETWORKS if host in model.cluster_hosts else ("client",):
            if model.hosts[host].get(f"{network}_address") is None:
                advice = "write it on the host's line"
                yield Problem((host,), f"{network}_address", "ADDRESS_MISSING", None, f"no address in the {network} network", advice)
    for host in model.all_groups["all"]:
        for network in NETWORKS:
            name, value = f"{network}_address", model.hosts[host].get(f"{network}_address")
            if value is None:
                continue
            try:
                address = ip_address(str(value))
            except ValueError:
                yield Problem((host,), name, "ADDRESS_INVALID", value, "no IPv4 or IPv6 address", "write an address, as 198.51.100.7")
                continue
            found.append((str(address), f"{host}/{name}"))
            declared = subnet(model.get(host, f"{network}_network"))
            if declared is None:
                continue
            if address not in declared:
                advice = f"correct the address or {network}_network"
                yield Problem((host,), name, "ADDRESS_OUTSIDE", value, f"outside the {network} network {declared}", advice)
            elif declared.num_addresses > 2 and address in (declared.network_address, declared.broadcast_address):
                wrong = f"the network or broadcast address of {declared}"
                yield Problem((host,), name, "ADDRESS_RESERVED", value, wrong, "give the host an address of its own")
    for value, places in holders(iter(found)).items():
        hosts = tuple(dict.fromkeys(place.partition("/")[0] for place in places))
        yield Problem(hosts, "", "ADDRESS_DUPLICATE", value, f"declared as {' and '.join(places)}", "give each its own")


def subnets(model: Model) -> Iterator[Problem]:
    """The two networks are declared, and none overlaps another."""
    declared: dict[tuple[str, str], list[str]] = {}
    for host in model.cluster_hosts:
        for network in NETWORKS:
            name, value = f"{network}_network", model.get(host, f"{network}_network")
            if value is None:
                wrong = f"the {network} network is not declared, so addresses cannot be checked"
                yield Problem((host,), name, "NETWORK_MISSING", None, wrong, "set it, as 198.51.100.0/24", warning=True)
            elif subnet(value) is None:
                yield Problem((host,), name, "NETWORK_INVALID", value, "no subnet, or one with host bits", "write it as 198.51.100.0/24")
            else:
                declared.setdefault((name, str(value)), []).append(host)
    for number, (first, value) in enumerate(declared):
        for second, other in list(declared)[number + 1 :]:
            one, two = ip_network(value), ip_network(other)
            if one.version == two.version and one.overlaps(two):
                wrong = f"overlaps {second} {other}: traffic of the two could not be told apart"
                yield Problem((), first, "NETWORK_OVERLAP", value, wrong, "give each network a subnet of its own")


def ports(model: Model) -> Iterator[Problem]:
    """Nothing on a host listens where something else does."""
    for host in model.cluster_hosts:
        used: list[tuple[Any, Any, str]] = []
        if host in model.zookeeper:
            used += [(port, "", name) for name, port in model.zookeeper_ports(host).items()]
            used += [(port, "", what) for port, what in QUORUM_PORTS.items()]
        if host in model.kafka:
            used += [(item.get("port"), item.get("address"), f"listener {item.get('name')}") for item in model.listeners(host)]
        used.append((22, "", "the SSH server"))
        for number, (port, address, what) in enumerate(used):
            for other_port, other_address, other in used[number + 1 :]:
                if port == other_port and (address == other_address or address in WILDCARDS or other_address in WILDCARDS):
                    yield Problem((host,), "", "PORT_CLASH", port, f"taken by {what} and by {other}", "give one of them another port")
        for port, _, what in used:
            if isinstance(port, int) and not 1 <= port <= 65535:
                yield Problem((host,), "", "PORT_RANGE", port, f"{what} has no port from 1 to 65535", "correct it")


def listeners(model: Model) -> Iterator[Problem]:
    """Listeners are named once, bind an address of the host, are told to clients as something reachable, and carry inter-broker traffic."""
    for host in model.kafka:
        entries = model.listeners(host)
        own = {str(model.get(host, f"{network}_address")) for network in NETWORKS} | set(WILDCARDS)
        for name in sorted({str(item.get("name")) for item in entries if [i.get("name") for i in entries].count(item.get("name")) > 1}):
            yield Problem((host,), "kafka_listeners", "LISTENER_DUPLICATE", name, "two listeners of that name", "give each a name of its own")
        for item in entries:
            variable = f"kafka_listeners[{item.get('name')}]"
            told = item.get("advertised_address") or item.get("address")
            if str(told) in WILDCARDS:
                wrong = "clients would be told this address, and it leads nowhere"
                yield Problem((host,), variable, "LISTENER_ADVERTISED", told, wrong, "bind the host's address, or set advertised_address")
            elif str(item.get("address")) not in own and any(
                inside(item.get("address"), model.get(host, f"{network}_network")) for network in NETWORKS
            ):
                wrong = "not an address of this host, so the broker could not bind it"
                yield Problem((host,), variable, "LISTENER_ADDRESS", item.get("address"), wrong, "use client_address or replication_address")
            if model.production(host) and item.get("protocol", "PLAINTEXT") in ("PLAINTEXT", "SASL_PLAINTEXT"):
                wrong = "everything on this listener can be read on the network, and this is production"
                yield Problem((host,), variable, "LISTENER_PLAINTEXT", item.get("protocol", "PLAINTEXT"), wrong, "use SSL or SASL_SSL")
        names = [item.get("name") for item in entries]
        wanted = model.get(host, "kafka_inter_broker_listener")
        if wanted and names and wanted not in names:
            wrong = f"kafka_listeners has only {', '.join(str(name) for name in names)}"
            yield Problem((host,), "kafka_inter_broker_listener", "LISTENER_UNKNOWN", wanted, wrong, "name one of them")
        for item in entries:
            replication = model.get(host, "replication_address")
            if item.get("name") == wanted and replication and str(item.get("address")) == str(model.get(host, "client_address")) != str(replication):
                wrong = "brokers would copy their data over the client network"
                yield Problem(
                    (host,),
                    "kafka_inter_broker_listener",
                    "LISTENER_NETWORK",
                    wanted,
                    wrong,
                    "bind that listener to replication_address",
                    warning=True,
                )
