"""Rules on the firewall rules of hosts.

Firewall rules must not name the port of SSH, must have valid sources, and must not deny hosts that have to connect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ports import of_jvms, of_services
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.required_connections import peers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import subnet, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import (
    CLIENTS,
    ONLY,
    SSH,
    lets_in,
    restricted,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import (
    rules as computed_rules,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

NAME, SITE = "base_firewall_rules", "site_firewall_rules"
# Variables whose values other rules check.
DECLARED = ("client_address", "replication_address", "client_network")


def rules_of(machine: Machine) -> list[Mapping[str, Any]]:
    """Return the entries of base_firewall_rules of a host; an empty list if base_firewall is off."""
    return machine.inputs.entries(NAME) if machine.inputs.on("base_firewall") else []


def left_alone(machine: Machine) -> list[int] | None:
    """Return the SSH ports that the firewall of a host leaves open, if it closes all ports without a rule.

    Return None if base_firewall_closed or base_firewall is off: then ports without a rule are open.
    """
    closed = machine.inputs.on("base_firewall") and machine.inputs.on("base_firewall_closed")
    return [SSH, machine.inputs.whole("ansible_port") or SSH] if closed else None


FIREWALL_SSH = ProblemKind(
    "FIREWALL_SSH",
    "the port of SSH: the rule would deny SSH to every source that it does not name, above all to the control node",
    "remove the rule: the role leaves the port of SSH as the host has it",
)
FIREWALL_PORT = ProblemKind("FIREWALL_PORT", "not a port from 1 to 65535", "correct the port")


def ports(model: Model) -> Iterator[Problem]:
    """Yield a problem for each firewall rule for the port of SSH, or for an invalid port."""
    for machine in model.functional:
        for port in dict.fromkeys(whole(rule.get("port")) for rule in rules_of(machine)):
            if port is not None and port in (SSH, machine.inputs.whole("ansible_port")):
                yield machine.report(FIREWALL_SSH, f"{NAME}[{port}]", port)
            elif port is not None and not 1 <= port <= 65535 and port not in _numbers(model, machine):
                yield machine.report(FIREWALL_PORT, f"{NAME}[{port}]", port)


def _numbers(model: Model, machine: Machine) -> list[int]:
    """Return the port numbers at which the services of a host listen."""
    return list(dict.fromkeys(port.number for port in of_services(machine, model) if whole(port.number)))


FIREWALL_FORGOTTEN = ProblemKind(
    "FIREWALL_FORGOTTEN",
    "these rules replace the rules of functions/*.yml, and no rule is for {ports}: every host may connect there",
    f"move your rules to {SITE}, which adds to the rules of functions/*.yml (with {ONLY}: true in place of the clients "
    f"of the port), and remove {NAME}",
)


def named(model: Model) -> Iterator[Problem]:
    """Yield a problem for each service port without a firewall rule, on a host with firewall rules for other ports.

    Without a rule, every host could connect to that port.
    """
    by_rules: dict[str, tuple[dict[str, None], dict[int, None]]] = {}
    for machine in model.functional:
        rules = rules_of(machine)
        if not rules or left_alone(machine) is not None:
            continue
        covered = {whole(rule.get("port")) for rule in rules}
        if forgotten := [port for port in _numbers(model, machine) if port not in covered]:
            hosts, ports = by_rules.setdefault(repr(rules), ({}, {}))
            hosts[machine.name] = None
            ports.update(dict.fromkeys(forgotten))
    for hosts, ports in by_rules.values():  # one problem for hosts with the same rules, with the ports of all of them
        yield FIREWALL_FORGOTTEN.problem(tuple(hosts), NAME, ports=[*ports])


FIREWALL_SOURCE = ProblemKind(
    "FIREWALL_SOURCE",
    "neither an address nor a subnet, or a subnet with host bits set",
    "write it like 198.51.100.7 or 198.51.100.0/24",
)
FIREWALL_SOURCE_RULES = FIREWALL_SOURCE.variant(
    advice="write it like 198.51.100.7 or 198.51.100.0/24 (additional sources: firewall_extra_sources)"
)


def sources(model: Model) -> Iterator[Problem]:
    """Yield a problem for each source in a firewall rule that is neither an address nor a valid subnet."""
    valid = {str(machine.inputs.get(name)) for machine in model.machines.values() for name in DECLARED}
    for machine in model.functional:
        for rule in rules_of(machine):
            for source in rule.get("from") or []:
                if source in valid:
                    continue
                try:
                    ip_network(source)
                    valid.add(source)
                except ValueError:
                    variable = place_of(machine, rule, source)
                    kind = FIREWALL_SOURCE_RULES if variable.startswith(NAME) else FIREWALL_SOURCE
                    yield machine.report(kind, variable, source)


def place_of(machine: Machine, rule: Mapping[str, Any], source: Any) -> str:
    """Return the place in the inventory that adds `source` to a firewall rule, as a text for messages.

    The place is firewall_extra_sources.<key>, site_firewall_rules[port] or base_firewall_rules[port].
    """
    extra = machine.inputs.mapping("firewall_extra_sources")
    kinds = [kind for kind, more in extra.items() if isinstance(more, list) and source in more]
    site = any(_same(rule, other) for other in machine.inputs.entries(SITE))
    name = SITE if site and source not in _sources(machine, rule, but=SITE) else NAME
    return f"firewall_extra_sources.{kinds[0]}" if kinds else f"{name}[{rule.get('port')}]"


def _sources(machine: Machine, rule: Mapping[str, Any], but: str) -> list[Any]:
    """Return the sources of all rules for the same port as `rule`, without the rules in the variable named `but`."""
    without = machine.inputs.entries(but)
    others = [other for other in rules_of(machine) if not any(_same(other, own) for own in without)]
    lists = [other.get("from") for other in others if whole(other.get("port")) == whole(rule.get("port"))]
    return [source for given in lists if isinstance(given, (list, tuple)) for source in given]


FIREWALL_IDLE = ProblemKind(
    "FIREWALL_IDLE",
    "other rules for this port already allow these sources, so this rule has no effect",
    "remove it",
    warning=True,
)
FIREWALL_IDLE_CLIENTS = FIREWALL_IDLE.variant(
    advice=f"remove it, or add {ONLY}: true to it if no other client may connect to this port"
)
FIREWALL_IDLE_ONLY = FIREWALL_IDLE.variant(
    message=f"the rules of functions/*.yml allow no clients at this port, so {ONLY} has no effect",
    advice=f"remove {ONLY} from this rule",
)
FIREWALL_IDLE_REJECT = FIREWALL_IDLE.variant(
    message="another rule allows a source that this rule rejects, and overrides this rule"
)
FIREWALL_IDLE_REJECT_CLIENTS = FIREWALL_IDLE_REJECT.variant(
    advice=f"remove it, and add a rule for this port with {ONLY}: true and the clients that may connect"
)
IDLE = (FIREWALL_IDLE, FIREWALL_IDLE_CLIENTS)


def idle(model: Model) -> Iterator[Problem]:
    """Yield a problem for each rule in site_firewall_rules that does not change which hosts may connect.

    All rules of a port add up: a rule that rejects a source has no effect if another rule allows this source.
    """
    for machine in model.functional:
        site_rules = machine.inputs.entries(SITE) if rules_of(machine) else []
        only = restricted(site_rules)
        for rule in site_rules:
            has_clients = _clients_of(model, machine, whole(rule.get("port")))
            if str(rule.get("port")) in only:
                if not has_clients and switch(rule.get(ONLY)):
                    yield machine.report(FIREWALL_IDLE_ONLY, f"{SITE}[{rule.get('port')}]")
                continue
            given, port, rejecting = rule.get("from"), whole(rule.get("port")), rule.get("action") == "reject"
            subnets = [str(source) for source in given if subnet(source)] if isinstance(given, (list, tuple)) else []
            others = [
                other for other in rules_of(machine) if not _same(other, rule) and other.get("action") != "reject"
            ]
            others = [other for other in others if whole(other.get("port")) == port]
            rivals = site_rules if rejecting else []
            admitted = [source for source in subnets if _admitted(others, port, source, rivals)]
            if admitted and (rejecting or len(admitted) == len(subnets)):
                kinds = (FIREWALL_IDLE_REJECT, FIREWALL_IDLE_REJECT_CLIENTS) if rejecting else IDLE
                yield machine.report(
                    kinds[bool(has_clients)], f"{SITE}[{rule.get('port')}]", ", ".join(admitted), warning=not rejecting
                )


def _clients_of(model: Model, machine: Machine, port: int | None) -> set[str]:
    """Return the sources of clients, keys of CLIENTS, that functions/*.yml allow at a port of a host."""
    entries = [entry for _, entry in model.items(machine, "ports") if isinstance(entry, Mapping)]
    return {name for entry in entries if whole(entry.get("port")) == port for name in entry.get("from") or ()} & {
        *CLIENTS
    }


FIREWALL_MEANT = ProblemKind(
    "FIREWALL_MEANT",
    "no service of this project listens at this port",
    "did you mean {number} ({what})?",
    warning=True,
)


def meant(model: Model) -> Iterator[Problem]:
    """Yield a warning for each port in site_firewall_rules that looks like a typo of a service's port without a rule.

    A typo is one digit too many or too few, or two exchanged digits. A single wrong digit counts only if the other port
    belongs to a listener that the site adds: numbers near a default port often belong to other software.
    """
    for machine in model.functional:
        site_rules = [rule for rule in machine.inputs.entries(SITE) if rule.get("action") != "reject"]
        numbers = {port for rule in site_rules if (port := whole(rule.get("port"))) is not None}
        if not numbers or not rules_of(machine):
            continue
        services = [port for port in of_services(machine, model) if isinstance(port.number, int)]
        open_ports = {SSH, *(port.number for port in [*services, *of_jvms(machine, model)])}
        standard = {f"kafka_listeners[{entry.get('name')}]" for entry in machine.inputs.entries("standard_listeners")}
        # Other numbers are reported as FIREWALL_PORT.
        for number in sorted(port for port in numbers - open_ports if 1 <= port <= 65535):
            without_rule = (port for port in services if port.number not in numbers)
            near = (
                port
                for port in without_rule
                if _typo(
                    str(number),
                    str(port.number),
                    different=port.variable.startswith("kafka_listeners[") and port.variable not in standard,
                )
            )
            if meant_port := next(near, None):
                details = {"number": meant_port.number, "what": meant_port.what}
                yield machine.report(FIREWALL_MEANT, f"{SITE}[{number}]", number, **details)


def _typo(number: str, other: str, different: bool) -> bool:
    """Tell whether two port numbers differ by one digit too many, or by two adjacent digits that are exchanged.

    If `different` is true, one different digit also counts.
    """
    if len(number) == len(other):
        differ = [place for place, pair in enumerate(zip(number, other, strict=True)) if pair[0] != pair[1]]
        exchanged = len(differ) == 2 and differ[1] == differ[0] + 1 and number[differ[0]] == other[differ[1]]
        return (different and len(differ) == 1) or (exchanged and number[differ[1]] == other[differ[0]])
    short, long = sorted((number, other), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _same(rule: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two firewall rules are equal, apart from `only`; a port as number and as text are equal."""
    same = {"port": whole(rule.get("port")), ONLY: None}, {"port": whole(other.get("port")), ONLY: None}
    return {**rule, **same[0]} == {**other, **same[1]}


def _admitted(others: Sequence[Mapping[str, Any]], port: int | None, source: str, site_rules: Sequence[Any]) -> bool:
    """Tell whether the firewall rules `others` allow a source at a port.

    Rules that are in `site_rules` and name this source do not count.
    """
    rest = [
        rule
        for rule in others
        if not (any(_same(rule, other) for other in site_rules) and source in map(str, rule.get("from") or ()))
    ]
    return bool(rest) and port is not None and lets_in(rest, port, source)


FIREWALL_PEER = ProblemKind(
    "FIREWALL_PEER",
    "hosts of this inventory connect to this port from these addresses, but no rule allows them",
    f"remove {NAME}, or add these addresses to a rule for this port",
)
FIREWALL_PEER_SITE = FIREWALL_PEER.variant(advice=f"allow these addresses by a rule for this port in {SITE}")
FIREWALL_PEER_NETWORK = FIREWALL_PEER.variant(
    message="not set, so the firewall of {targets} does not allow this host to connect to port {port}",
    advice="set it, for example 198.51.100.0/24, or add the address of this host to firewall_extra_sources.client",
)


def everybody_needed(model: Model) -> Iterator[Problem]:
    """Yield a problem for each port at which a host's firewall denies another declared host that has to connect.

    The problem is at the variable that the site has to set: not at base_firewall_rules if the project computes it.
    """
    without_network: dict[tuple[str, str, int], list[str]] = {}
    for (target, port), hosts in _denied(model).items():
        machine, sources = model.machines[target], ", ".join(hosts)
        reached = [f"{address}:{port}" for _, address in hosts.values()]
        networks, by_site = _clients_of(model, machine, port), str(port) in restricted(machine.inputs.entries(SITE))
        if not _is_computed(model, machine):
            yield machine.report(FIREWALL_PEER, f"{NAME}[{port}]", sources, endpoints=reached)
        elif by_site or not networks:
            yield machine.report(FIREWALL_PEER_SITE, f"{SITE}[{port}]", sources, endpoints=reached)
        elif not networks <= _without_network(machine):  # else reported as FIREWALL_CLIENTS
            for name, _ in hosts.values():
                without_network.setdefault((name, CLIENTS[min(networks)], port), []).append(target)
    for (name, variable, port), targets in without_network.items():
        peer = model.machines[name]
        yield peer.report(FIREWALL_PEER_NETWORK, variable, targets=targets, port=port, endpoints=[])


def _denied(model: Model) -> dict[tuple[str, int], dict[str, tuple[str, str]]]:
    """Return {(host, port): {address that its firewall denies: (host with this address, address of the port)}}.

    Only connections that the hosts of the inventory have to make count.
    """
    denied: dict[tuple[str, int], dict[str, tuple[str, str]]] = {}
    rules = {machine.name: rules_of(machine) for machine in model.functional}
    closed = {machine.name: left_alone(machine) is not None for machine in model.functional}
    for machine in model.functional:
        for peer in peers(model, machine.name):
            target, port = peer["host"], peer["port"]
            for network in NETWORKS:
                source = machine.inner_address if network == "replication" else machine.address(network)
                connects = source and str(model.machines[target].address(network)) == peer["address"]
                if connects and not lets_in(rules[target], port, str(source), closed[target]):
                    denied.setdefault((target, port), {})[str(source)] = (machine.name, str(peer["address"]))
    return denied


def _is_computed(model: Model, machine: Machine) -> bool:
    """Tell whether base_firewall_rules of a host has the value that functions/all.yml computes."""
    ports = [entry for _, entry in model.items(machine, "ports")]
    try:
        computed = computed_rules(ports, machine.inputs.mapping("firewall_sources"), machine.inputs.entries(SITE))
    except (KeyError, TypeError, ValueError):
        return False
    return [*map(_key, computed)] == [*map(_key, rules_of(machine))]


def _key(rule: Mapping[str, Any]) -> tuple[int | None, list[str], str]:
    return whole(rule.get("port")), [*map(str, rule.get("from") or ())], str(rule.get("action") or "accept")


def _without_network(machine: Machine) -> set[str]:
    """Return the sources of clients, keys of CLIENTS, for which no subnet or address is known on a host."""
    known = machine.inputs.mapping("firewall_sources")
    return {name for name in CLIENTS if known.get(name) == []}


FIREWALL_CLIENTS = ProblemKind(
    "FIREWALL_CLIENTS",
    "not set, and firewall_extra_sources.client is empty, so the firewall rules would deny all clients",
    "set it, for example 198.51.100.0/24, or set firewall_extra_sources.client, or base_firewall: false",
)


def clients(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host whose firewall rules contain no subnet of clients: every client would be denied."""
    for machine in model.functional:
        only, ports = restricted(machine.inputs.entries(SITE)), [entry for _, entry in model.items(machine, "ports")]
        for name in sorted(_without_network(machine) if rules_of(machine) else ()):
            needs = [
                port.get("port") for port in ports if isinstance(port, Mapping) and name in (port.get("from") or ())
            ]
            if any(whole(port) and str(port) not in only for port in needs):
                yield machine.report(FIREWALL_CLIENTS, CLIENTS[name])
