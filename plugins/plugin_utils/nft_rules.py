"""Firewall rules of the ports that this project opens: from the inventory to rules, and from rules to lines of nft."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, unknown_source

# ZooKeeper probes the addresses of its peers by TCP port 7 (InetAddress.isReachable of an unprivileged process).
ECHO = 7
ADDRESSES = ("client_address", "replication_address")
SSH = 22

Rules = Sequence[Mapping[str, Any]]


def sources(
    groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], extra: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return addresses and subnets by the group of hosts that connects: `client`, `admin`, and each function.

    Addresses that a host does not declare are skipped: preflight reports them. `extra` adds to `client` and `admin`.
    """
    hosts = {host: hostvars[host] for host in groups["all"]}

    def declared(group: str) -> list[str]:
        return [str(hosts[host][name]) for host in groups.get(group, []) for name in ADDRESSES if hosts[host].get(name)]

    networks = [str(values["client_network"]) for values in hosts.values() if values.get("client_network")]
    return {
        **{name: declared(name) for name in functions()},
        "client": [source for source in dict.fromkeys([*networks, *extra.get("client", [])]) if source],
        "admin": [source for source in [*declared("admin"), *extra.get("admin", [])] if source],
    }


def listener_ports(listeners: Rules, inter_broker: str) -> list[dict[str, Any]]:
    """Return the ports that a broker opens, in the form of groups/*.yml.

    A broker's only listener serves clients and brokers. Admin hosts reach every listener, because they check the
    cluster through each.
    """
    ports = []
    for listener in listeners:
        among = ["kafka"] if listener["name"] == inter_broker else []
        outside = ["client"] if not among or len(listeners) == 1 else []
        name, address = listener["name"], listener.get("address")
        origin = {"what": f"listener {name}", "input": f"kafka_listeners[{name}]", "address": address}
        ports.append({"port": listener["port"], "from": [*outside, *among, "admin"], **origin})
    return ports


def rules(ports: Rules, known: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return base_firewall_rules of one host, `{port, from, action}`, from the ports that its functions open.

    Port 0 opens nothing; `known` is the result of `sources`. Raises ValueError for a name that is not in it.
    """
    firewall_rules = []
    for rule in ports:
        unknown = [name for name in rule["from"] if name not in known]
        if unknown:
            place = f"groups/{rule['function']}.yml: " if "function" in rule else ""
            raise ValueError(f"{place}{unknown_source(unknown[0], rule['port'], known)}")
        if rule["port"]:
            sources = [source for name in rule["from"] for source in known[name]]
            action = {"action": rule["action"]} if "action" in rule else {}
            firewall_rules.append({"port": rule["port"], "from": sources, **action})
    return firewall_rules


def lines(wanted: Rules, alone: Sequence[int] | None = None) -> list[str]:
    """Return the lines of nft that accept (or reset) the new connections of the rules, and drop all others.

    Ports without rules are not filtered, unless the host is closed: then `alone` are the only ports not filtered.
    Raises ValueError for a source that is no address and no subnet.
    """
    accepted = []
    for rule in wanted:
        verdict = "reject with tcp reset" if rule.get("action") == "reject" else "accept"
        for family, version in (("ip", 4), ("ip6", 6)):
            if named := _distinct(network for network in map(ip_network, rule["from"]) if network.version == version):
                accepted.append(f"tcp dport {rule['port']} {family} saddr {{ {', '.join(named)} }} {verdict}")
    ports, but = (sorted({int(rule["port"]) for rule in wanted}), "") if alone is None else (sorted(set(alone)), "!= ")
    return [*accepted, f"tcp dport {but}{{ {', '.join(map(str, ports))} }} drop"] if ports else []


def _distinct(networks: Iterable[IPv4Network | IPv6Network]) -> list[str]:
    """Return the networks in order, without those inside another: nft rejects a set with overlaps.

    Single addresses have no mask.
    """
    kept: list[Any] = []
    for network in sorted(set(networks), key=lambda network: (int(network.network_address), network.prefixlen)):
        if not kept or not network.subnet_of(kept[-1]):
            kept.append(network)
    return [str(network.network_address if network.num_addresses == 1 else network) for network in kept]


def lets_in(wanted: Rules, port: int, source: str, closed: bool = False) -> bool:
    """Tell whether a connection is answered (accepted or reset).

    It is if the source is in a rule of the port, or the port has no rule and the host is not closed. Malformed sources
    of rules admit nothing.
    """
    named = [rule for rule in wanted if str(rule.get("port")) == str(port)]
    if not named:
        return not closed
    if any(source in rule.get("from", []) for rule in named):
        return True
    return any(_inside(_network(source), _network(network)) for rule in named for network in rule.get("from", []))


def _inside(network: IPv4Network | IPv6Network | None, other: IPv4Network | IPv6Network | None) -> bool:
    if isinstance(network, IPv4Network) and isinstance(other, IPv4Network):
        return network.subnet_of(other)
    return isinstance(network, IPv6Network) and isinstance(other, IPv6Network) and network.subnet_of(other)


def _network(text: Any) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(str(text))
    except ValueError:
        return None


def installed(text: str) -> list[str]:
    """Return the lines of a ruleset file that `lines` made."""
    return [line.strip() for line in text.splitlines() if line.strip().startswith("tcp dport")]
