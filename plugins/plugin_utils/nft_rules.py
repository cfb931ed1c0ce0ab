"""Who may connect to the ports that this project opens: from the inventory to rules, and from rules to lines of nft."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, stranger

# ZooKeeper tells whether an address of a peer is alive by TCP port 7 (InetAddress.isReachable of an unprivileged
# process).
ECHO = 7
ADDRESSES = ("client_address", "replication_address")
SSH = 22

Rules = Sequence[Mapping[str, Any]]


def sources(
    groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], extra: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return addresses and subnets by who connects from there: `client`, `admin`, and the hosts of each function.

    What a host does not declare is left out: preflight reports it. `extra` adds to `client` and `admin`.
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
    """Return the ports that a broker opens, as groups/*.yml say them.

    A broker's only listener serves clients and brokers. Admin hosts reach every listener, for they ask each whether
    the cluster is whole.
    """
    found = []
    for listener in listeners:
        among = ["kafka"] if listener["name"] == inter_broker else []
        outside = ["client"] if not among or len(listeners) == 1 else []
        name, address = listener["name"], listener.get("address")
        told = {"what": f"listener {name}", "input": f"kafka_listeners[{name}]", "address": address}
        found.append({"port": listener["port"], "from": [*outside, *among, "admin"], **told})
    return found


def rules(ports: Rules, known: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return base_firewall_rules of one host, `{port, from, action}`, from the ports that its functions open.

    A port that is 0 is none; `known` is what `sources` returns. Raises ValueError for a name that is not in it.
    """
    found = []
    for rule in ports:
        unknown = [name for name in rule["from"] if name not in known]
        if unknown:
            place = f"groups/{rule['function']}.yml: " if "function" in rule else ""
            raise ValueError(f"{place}{stranger(unknown[0], rule['port'], known)}")
        if rule["port"]:
            sources = [source for name in rule["from"] for source in known[name]]
            action = {"action": rule["action"]} if "action" in rule else {}
            found.append({"port": rule["port"], "from": sources, **action})
    return found


def lines(wanted: Rules, alone: Sequence[int] | None = None) -> list[str]:
    """Return the lines of nft that judge a new connection: who is let in (or answered with a reset), and nobody else.

    Ports that no rule names are not judged; on a closed host all are, but for those in `alone`.
    Raises ValueError for what is no address and no subnet.
    """
    found = []
    for rule in wanted:
        verdict = "reject with tcp reset" if rule.get("action") == "reject" else "accept"
        for family, version in (("ip", 4), ("ip6", 6)):
            if named := _distinct(network for network in map(ip_network, rule["from"]) if network.version == version):
                found.append(f"tcp dport {rule['port']} {family} saddr {{ {', '.join(named)} }} {verdict}")
    ports, but = (sorted({int(rule["port"]) for rule in wanted}), "") if alone is None else (sorted(set(alone)), "!= ")
    return [*found, f"tcp dport {but}{{ {', '.join(map(str, ports))} }} drop"] if ports else []


def _distinct(networks: Iterable[IPv4Network | IPv6Network]) -> list[str]:
    """Return the networks in order, those inside another left out: nft refuses a set with overlaps.

    Single addresses without a mask.
    """
    kept: list[Any] = []
    for network in sorted(set(networks), key=lambda one: (int(one.network_address), one.prefixlen)):
        if not kept or not network.subnet_of(kept[-1]):
            kept.append(network)
    return [str(network.network_address if network.num_addresses == 1 else network) for network in kept]


def lets_in(wanted: Rules, port: int, source: str, closed: bool = False) -> bool:
    """Tell whether a connection gets an answer.

    The source is in a rule of the port, or no rule names the port and the host is not closed.

    Malformed sources let nobody in.
    """
    named = [rule for rule in wanted if str(rule.get("port")) == str(port)]
    if not named:
        return not closed
    if any(source in rule.get("from", []) for rule in named):
        return True
    return any(_inside(_network(source), _network(network)) for rule in named for network in rule.get("from", []))


def _inside(one: IPv4Network | IPv6Network | None, other: IPv4Network | IPv6Network | None) -> bool:
    if isinstance(one, IPv4Network) and isinstance(other, IPv4Network):
        return one.subnet_of(other)
    return isinstance(one, IPv6Network) and isinstance(other, IPv6Network) and one.subnet_of(other)


def _network(text: Any) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(str(text))
    except ValueError:
        return None


def installed(text: str) -> list[str]:
    """Return the lines of a ruleset file that `lines` made."""
    return [line.strip() for line in text.splitlines() if line.strip().startswith("tcp dport")]
