"""Rules on the firewall: SSH is none of its business, sources are addresses, nobody needed is left out."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

NAME, SITE = "base_firewall_rules", "site_firewall_rules"
# Words whose values have rules of their own.
DECLARED = ("client_address", "replication_address", "client_network")


def rules_of(machine: Machine) -> list[Mapping[str, Any]]:
    """Return the firewall rules of a host; none where it is switched off."""
    return machine.inputs.entries(NAME) if machine.inputs.on("base_firewall") else []


def left_alone(machine: Machine) -> list[int] | None:
    """Return the ports that a closed host does not judge, those of SSH.

    None where only the ports of rules are judged.
    """
    closed = machine.inputs.on("base_firewall") and machine.inputs.on("base_firewall_closed")
    return [SSH, machine.inputs.whole("ansible_port") or SSH] if closed else None


def ports(model: Model) -> Iterator[Problem]:
    """No rule names the port of SSH, or none at all."""
    for machine in model.functional:
        for port in dict.fromkeys(whole(rule.get("port")) for rule in rules_of(machine)):
            if port is not None and port in (SSH, machine.inputs.whole("ansible_port")):
                wrong = "the port of SSH: whoever the rule forgets is locked out, the control node first"
                advice = "take the rule out: SSH is left as the host has it"
                yield machine.problem(f"{NAME}[{port}]", "FIREWALL_SSH", port, wrong, advice)
            elif port is not None and not 1 <= port <= 65535 and port not in _numbers(model, machine):
                wrong = "no port from 1 to 65535"
                yield machine.problem(f"{NAME}[{port}]", "FIREWALL_PORT", port, wrong, "correct it")


def _numbers(model: Model, machine: Machine) -> list[int]:
    """Return the ports at which the services of a host are asked."""
    return list(dict.fromkeys(port.number for port in of_services(machine, model) if whole(port.number)))


def named(model: Model) -> Iterator[Problem]:
    """Where a host has rules, none of its services' ports is forgotten: that one would be open to everybody."""
    found: dict[str, tuple[dict[str, None], dict[int, None]]] = {}
    for machine in model.functional:
        rules = rules_of(machine)
        if not rules or left_alone(machine) is not None:
            continue
        judged = {whole(rule.get("port")) for rule in rules}
        if forgotten := [port for port in _numbers(model, machine) if port not in judged]:
            hosts, ports = found.setdefault(repr(rules), ({}, {}))
            hosts[machine.name] = None
            ports.update(dict.fromkeys(forgotten))
    for hosts, ports in found.values():  # what is written once is said once, with the ports of all that have it
        listed = ", ".join(map(str, ports))
        wrong = f"these rules replace those of functions, and none names {listed}: everybody may connect there"
        advice = f"write {SITE} instead, which adds to those of functions, and leave {NAME} out"
        yield Problem(tuple(hosts), NAME, "FIREWALL_FORGOTTEN", None, wrong, advice)


def sources(model: Model) -> Iterator[Problem]:
    """Every source is an address or a subnet."""
    fine = {str(machine.inputs.get(name)) for machine in model.machines.values() for name in DECLARED}
    for machine in model.functional:
        for rule in rules_of(machine):
            for source in rule.get("from") or []:
                if source in fine:
                    continue
                try:
                    ip_network(source)
                    fine.add(source)
                except ValueError:
                    advice = "write it as 198.51.100.7 or 198.51.100.0/24 (added sources: firewall_extra_sources)"
                    wrong, variable = "no address, no subnet, or one with host bits", place_of(machine, rule, source)
                    advice = advice if variable.startswith(NAME) else advice.partition(" (")[0]
                    yield machine.problem(variable, "FIREWALL_SOURCE", source, wrong, advice)


def place_of(machine: Machine, rule: Mapping[str, Any], source: Any) -> str:
    """Return where a source of a rule is said: the word that adds it to rules of functions, else the rule."""
    given = machine.inputs.mapping("firewall_extra_sources")
    own = [kind for kind, more in given.items() if isinstance(more, list) and source in more]
    site = any(_same(rule, one) for one in machine.inputs.entries(SITE))
    name = SITE if site and source not in _sources(machine, rule, but=SITE) else NAME
    return f"firewall_extra_sources.{own[0]}" if own else f"{name}[{rule.get('port')}]"


def _sources(machine: Machine, rule: Mapping[str, Any], but: str) -> list[Any]:
    """Return the sources of the other rules of a port, those of a word left out."""
    others = [one for one in rules_of(machine) if not any(_same(one, own) for own in machine.inputs.entries(but))]
    told = [one.get("from") for one in others if whole(one.get("port")) == whole(rule.get("port"))]
    return [source for given in told if isinstance(given, (list, tuple)) for source in given]


def idle(model: Model) -> Iterator[Problem]:
    """A rule of the site's own changes who gets in: rules of a port add up, and none takes back another's."""
    for machine in model.functional:
        own = machine.inputs.entries("site_firewall_rules") if rules_of(machine) else []
        for rule in own:
            given, port, rejecting = rule.get("from"), whole(rule.get("port")), rule.get("action") == "reject"
            told = [str(source) for source in given if subnet(source)] if isinstance(given, (list, tuple)) else []
            others = [one for one in rules_of(machine) if not _same(one, rule) and one.get("action") != "reject"]
            others = [one for one in others if whole(one.get("port")) == port]
            idle = [source for source in told if _let_in(others, port, source, own if rejecting else [])]
            if idle and (rejecting or len(idle) == len(told)):
                wrong = "another rule lets it in, and goes before" if rejecting else "other rules let it in already"
                wrong += "" if rejecting else ": this one adds nobody, and keeps nobody out"
                advice = "take it out; to let in fewer, write base_firewall_rules, instead of the rules of functions"
                place, shown = f"site_firewall_rules[{rule.get('port')}]", ", ".join(idle)
                yield machine.problem(place, "FIREWALL_IDLE", shown, wrong, advice, warning=not rejecting)


def meant(model: Model) -> Iterator[Problem]:
    """A rule of the site's own for a port at which nothing of ours listens is not a slip of one that no rule names.

    A rule for what others run on the host is right: a slip is one figure too many, too few or another, or two
    exchanged; of ports that hosts have anyway, whose neighbours others use, one is not taken for another.
    """
    for machine in model.functional:
        own = [rule for rule in machine.inputs.entries(SITE) if rule.get("action") != "reject"]
        told = {port for rule in own if (port := whole(rule.get("port"))) is not None}
        if not told or not rules_of(machine):
            continue
        there = [port for port in of_services(machine, model) if isinstance(port.number, int)]
        open_ports = {SSH, *(port.number for port in [*there, *of_jvms(machine, model)])}
        usual = {f"kafka_listeners[{entry.get('name')}]" for entry in machine.inputs.entries("standard_listeners")}
        for number in sorted(port for port in told - open_ports if 1 <= port <= 65535):  # else said as FIREWALL_PORT
            left = (port for port in there if port.number not in told)
            near = (
                port
                for port in left
                if _slip(
                    str(number),
                    str(port.number),
                    another=port.variable.startswith("kafka_listeners[") and port.variable not in usual,
                )
            )
            if found := next(near, None):
                wrong, advice = "nothing of ours listens there", f"did you mean {found.number} ({found.what})?"
                yield machine.problem(f"{SITE}[{number}]", "FIREWALL_MEANT", number, wrong, advice, warning=True)


def _slip(one: str, other: str, another: bool) -> bool:
    """Tell whether two numbers differ by a slip; by another figure in one place only where that is asked."""
    if len(one) == len(other):
        differ = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
        exchanged = len(differ) == 2 and differ[1] == differ[0] + 1 and one[differ[0]] == other[differ[1]]
        return (another and len(differ) == 1) or (exchanged and one[differ[1]] == other[differ[0]])
    short, long = sorted((one, other), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two rules are one, however its port is written."""
    return {**one, "port": whole(one.get("port"))} == {**other, "port": whole(other.get("port"))}


def _let_in(others: Sequence[Mapping[str, Any]], port: int | None, source: str, own: Sequence[Any]) -> bool:
    """Tell whether rules let a source in, but for those of `own` that name it: of these FIREWALL_NOBODY is said."""
    rest = [
        rule
        for rule in others
        if not (any(_same(rule, one) for one in own) and source in map(str, rule.get("from") or ()))
    ]
    return bool(rest) and port is not None and lets_in(rest, port, source)


def everybody_needed(model: Model) -> Iterator[Problem]:
    """Whoever connects to a host on behalf of the cluster is let in there."""
    found: dict[tuple[str, int], list[str]] = {}
    wanted = {machine.name: rules_of(machine) for machine in model.functional}
    closed = {machine.name: left_alone(machine) is not None for machine in model.functional}
    for machine in model.functional:
        for peer in peers(model, machine.name):
            target, port = peer["host"], peer["port"]
            for network in NETWORKS:
                source = machine.address(network)
                asked = source and str(model.machines[target].address(network)) == peer["address"]
                if asked and not lets_in(wanted[target], port, str(source), closed[target]):
                    found.setdefault((target, port), []).append(str(source))
    for (target, port), left_out in found.items():
        wrong = "hosts of this inventory connect from there, and no rule lets them in"
        advice = "leave base_firewall_rules unset, or add them"
        yield Problem((target,), f"{NAME}[{port}]", "FIREWALL_PEER", ", ".join(left_out), wrong, advice)


def clients(model: Model) -> Iterator[Problem]:
    """Clients can come from somewhere."""
    for machine in model.functional:
        if rules_of(machine) and machine.inputs.mapping("firewall_sources").get("client") == []:
            wrong = "no subnet of clients is known, so the rules would shut them out"
            advice = "set client_network or firewall_extra_sources.client, or base_firewall: false"
            yield machine.problem("firewall_sources", "FIREWALL_CLIENTS", None, wrong, advice)
