"""Computes the firewall rules for the ports that this project opens, and the nft lines of these rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions, unknown_source
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

# ZooKeeper probes the addresses of its peers by TCP port 7 (InetAddress.isReachable of an unprivileged process).
ECHO = 7
ADDRESSES = ("client_address", "replication_address")
SSH = 22
WILDCARDS = ("0.0.0.0", "::", "")
ONLY = "only"  # key of an entry of site_firewall_rules
# By source of connections of clients, the variable with their subnet.
CLIENTS = {"client": "client_network", "replication": "replication_network"}

Rules = Sequence[Mapping[str, Any]]


def sources(
    groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], extra: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return {source name: its addresses and subnets}; ports name the sources that may connect to them.

    A source name is a function, for the addresses of its hosts, or `client`, `replication` (clients in the replication
    network) or `admin`. Addresses that a host does not declare are skipped: preflight reports them. `groups` is {group:
    hosts}, `hostvars` is {host: variables}, and `extra` is {"client" or "admin": further addresses}.
    """
    hosts = {host: hostvars[host] for host in groups["all"]}

    def declared(group: str) -> list[str]:
        members = [hosts[host] for host in groups.get(group, [])]
        return list(dict.fromkeys(str(host[name]) for host in members for name in ADDRESSES if host.get(name)))

    def clients(variable: str) -> list[str]:
        networks = [str(values[variable]) for values in hosts.values() if values.get(variable)]
        return [source for source in dict.fromkeys([*networks, *extra.get("client", [])]) if source]

    return {
        **{name: declared(name) for name in functions()},
        **{name: clients(variable) for name, variable in CLIENTS.items()},
        "admin": [source for source in [*declared("admin"), *extra.get("admin", [])] if source],
    }


def listener_ports(listeners: Rules, inter_broker: str, replication_address: str = "") -> list[dict[str, Any]]:
    """Return the ports that a broker opens for its listeners, as dicts {port, from, what, input, address}.

    `from` are the functions or sources that may connect. To the listener named `inter_broker` these are the brokers,
    and clients only if there is no other listener. To all other listeners these are the clients: those in the
    replication network if the listener has the `replication_address` of the broker ('' if it has one network), else
    those in the client network.
    Admin hosts may connect to every listener, since they check the cluster through each.
    """
    ports = []
    for listener in listeners:
        among = ["kafka"] if listener["name"] == inter_broker else []
        name, address = listener["name"], listener.get("address")
        reached_at = listener.get("advertised_address") if address in WILDCARDS else address
        clients = "replication" if reached_at and reached_at == replication_address else "client"
        outside = [clients] if not among or len(listeners) == 1 else []
        origin = {"what": f"listener {name}", "input": f"kafka_listeners[{name}]", "address": address}
        ports.append({"port": listener["port"], "from": [*outside, *among, "admin"], **origin})
    return ports


def restricted(site_rules: Any) -> set[str]:
    """Return the ports, as texts, of the entries of site_firewall_rules with `only: true`.

    These entries replace the clients of the port. Anything in `site_rules` that is no entry is skipped.
    """
    entries = site_rules if isinstance(site_rules, (list, tuple)) else ()
    return {
        str(entry.get("port")) for entry in entries if isinstance(entry, Mapping) and switch(entry.get(ONLY)) is True
    }


def rules(ports: Rules, known: Mapping[str, Sequence[str]], site_rules: Rules = ()) -> list[dict[str, Any]]:
    """Return the firewall rules of one host (base_firewall_rules), as dicts {port, from, action}.

    `ports` are the ports that the host's functions open; port 0 means no port and is skipped. Names in `from` of a port
    become addresses; `known` is {name: addresses}, the result of `sources`. `site_rules` are added to these rules; an
    entry with `only: true` replaces the clients of its port. Raises ValueError if `from` contains a name that is not in
    `known`.
    """
    only = restricted(site_rules)
    firewall_rules = []
    for rule in ports:
        unknown = [name for name in rule["from"] if name not in known]
        if unknown:
            place = f"functions/{rule['function']}.yml: " if "function" in rule else ""
            raise ValueError(f"{place}{unknown_source(unknown[0], rule['port'], known)}")
        if rule["port"]:
            names = [name for name in rule["from"] if name not in CLIENTS or str(rule["port"]) not in only]
            sources = [source for name in names for source in known[name]]
            action = {"action": rule["action"]} if "action" in rule else {}
            firewall_rules.append({"port": rule["port"], "from": sources, **action})
    return [*firewall_rules, *map(_without_only, site_rules)]


def _without_only(entry: Any) -> Any:
    """Return an entry of site_firewall_rules without the key that base_firewall_rules does not have."""
    return {key: entry[key] for key in entry if key != ONLY} if isinstance(entry, Mapping) else entry


def lines(wanted: Rules, alone: Sequence[int] | None = None) -> list[str]:
    """Return the nft lines for the rules `wanted`, dicts {port, from, action}.

    The lines accept new connections from the addresses in `from` to the port, or reset them if `action` is reject; new
    connections to these ports from other addresses are dropped. Ports without a rule stay open; if `alone` is given,
    new connections to them are dropped too, except to the ports in `alone`. Raises ValueError if a source is neither an
    address nor a subnet.
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
    """Return networks as texts, sorted, without those inside another network: nft rejects a set with overlaps.

    A network of a single address has no mask.
    """
    kept: list[Any] = []
    for network in sorted(set(networks), key=lambda network: (int(network.network_address), network.prefixlen)):
        if not kept or not network.subnet_of(kept[-1]):
            kept.append(network)
    return [str(network.network_address if network.num_addresses == 1 else network) for network in kept]


def lets_in(wanted: Rules, port: int, source: str, closed: bool = False) -> bool:
    """Tell whether a connection from the address or subnet `source` to `port` gets a response (accept or reset).

    A connection gets a response if a rule in `wanted` for this port contains the source, or if the port has no rule and
    `closed` is false: `closed` is whether the host drops connections to ports without a rule. Malformed sources in
    rules match nothing.
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
    """Return the nft lines in `text`, the content of a ruleset file that contains the lines of the function `lines`."""
    return [line.strip() for line in text.splitlines() if line.strip().startswith("tcp dport")]
