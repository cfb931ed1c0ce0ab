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
from ansible_collections.millrace.kafka.plugins.plugin_utils.nft_rules import SSH, lets_in
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

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
    f"move your rules to {SITE}, which adds to the rules of functions/*.yml, and remove {NAME}",
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
    "remove it; to allow fewer sources, set base_firewall_rules, which replaces the rules of functions/*.yml",
    warning=True,
)
FIREWALL_IDLE_REJECT = FIREWALL_IDLE.variant(
    message="another rule allows a source that this rule rejects, and overrides this rule"
)


def idle(model: Model) -> Iterator[Problem]:
    """Yield a problem for each rule in site_firewall_rules that does not change which hosts may connect.

    All rules of a port add up: a rule that rejects a source has no effect if another rule allows this source.
    """
    for machine in model.functional:
        site_rules = machine.inputs.entries("site_firewall_rules") if rules_of(machine) else []
        for rule in site_rules:
            given, port, rejecting = rule.get("from"), whole(rule.get("port")), rule.get("action") == "reject"
            subnets = [str(source) for source in given if subnet(source)] if isinstance(given, (list, tuple)) else []
            others = [
                other for other in rules_of(machine) if not _same(other, rule) and other.get("action") != "reject"
            ]
            others = [other for other in others if whole(other.get("port")) == port]
            rivals = site_rules if rejecting else []
            admitted = [source for source in subnets if _admitted(others, port, source, rivals)]
            if admitted and (rejecting or len(admitted) == len(subnets)):
                kind, variable = FIREWALL_IDLE, f"site_firewall_rules[{rule.get('port')}]"
                if rejecting:
                    kind = FIREWALL_IDLE_REJECT
                yield machine.report(kind, variable, ", ".join(admitted), warning=not rejecting)


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
    """Tell whether two firewall rules are equal; a port as number and the same port as text are equal."""
    return {**rule, "port": whole(rule.get("port"))} == {**other, "port": whole(other.get("port"))}


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
    "remove base_firewall_rules, or add these addresses to a rule for this port",
)


def everybody_needed(model: Model) -> Iterator[Problem]:
    """Yield a problem for each port at which a host's firewall denies another declared host that has to connect."""
    denied: dict[tuple[str, int], list[str]] = {}
    rules = {machine.name: rules_of(machine) for machine in model.functional}
    closed = {machine.name: left_alone(machine) is not None for machine in model.functional}
    for machine in model.functional:
        for peer in peers(model, machine.name):
            target, port = peer["host"], peer["port"]
            for network in NETWORKS:
                source = machine.inner_address if network == "replication" else machine.address(network)
                connects = source and str(model.machines[target].address(network)) == peer["address"]
                if connects and not lets_in(rules[target], port, str(source), closed[target]):
                    denied.setdefault((target, port), []).append(str(source))
    for (target, port), addresses in denied.items():
        yield FIREWALL_PEER.problem((target,), f"{NAME}[{port}]", ", ".join(addresses))


FIREWALL_CLIENTS = ProblemKind(
    "FIREWALL_CLIENTS",
    "no subnet of clients is known, so the rules would deny all clients",
    "set client_network or firewall_extra_sources.client, or base_firewall: false",
)


def clients(model: Model) -> Iterator[Problem]:
    """Yield a problem for each host whose firewall rules contain no subnet of clients: every client would be denied."""
    for machine in model.functional:
        if rules_of(machine) and machine.inputs.mapping("firewall_sources").get("client") == []:
            yield machine.report(FIREWALL_CLIENTS, "firewall_sources")
