"""Rules on the firewall: SSH is none of its business, sources are addresses, and no host that has to connect is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from ..firewall import SSH, lets_in
from ..problems import Problem
from .base import Model, whole
from .peers import peers

NAME = "base_firewall_rules"
BOOLEANS_TRUE = ("y", "yes", "on", "1", "true", "t")  # as Ansible reads text
# Words whose values have rules of their own.
DECLARED = ("client_address", "replication_address", "client_network")


def rules_of(model: Model, host: str) -> list[Mapping[str, Any]]:
    """Return the firewall rules of a host; none where it is switched off."""
    return [rule for rule in model.sequence(host, NAME) if isinstance(rule, Mapping)] if _on(model, host, "base_firewall") else []


def left_alone(model: Model, host: str) -> list[int] | None:
    """Return the ports that a closed host does not judge, those of SSH; None where only the ports of rules are judged."""
    closed = _on(model, host, "base_firewall") and _on(model, host, "base_firewall_closed")
    return [SSH, model.whole(host, "ansible_port") or SSH] if closed else None


def _on(model: Model, host: str, name: str) -> bool:
    """Tell whether a switch is on, also where -e gave it as text."""
    value = model.get(host, name)
    return value.lower() in BOOLEANS_TRUE if isinstance(value, str) else bool(value)


def ports(model: Model) -> Iterator[Problem]:
    """No rule names the port of SSH, or none at all."""
    for host in model.function_hosts:
        for port in dict.fromkeys(whole(rule.get("port")) for rule in rules_of(model, host)):
            if port in (SSH, model.whole(host, "ansible_port")):
                wrong = "the port of SSH: whoever the rule forgets is locked out, the control node first"
                yield Problem((host,), f"{NAME}[{port}]", "FIREWALL_SSH", port, wrong, "take the rule out: SSH is left as the host has it")
            elif port is not None and not 1 <= port <= 65535 and port not in _listening(model, host):
                yield Problem((host,), f"{NAME}[{port}]", "FIREWALL_PORT", port, "no port from 1 to 65535", "correct it")


def _listening(model: Model, host: str) -> list[Any]:
    """Return the ports that are judged as listeners' ports."""
    return [listener.get("port") for listener in model.listeners(host)] + [*model.zookeeper_ports(host).values()]


def sources(model: Model) -> Iterator[Problem]:
    """Every source is an address or a subnet."""
    fine = {str(model.get(host, name)) for host in model.all_groups["all"] for name in DECLARED}
    for host in model.function_hosts:
        for rule in rules_of(model, host):
            for source in rule.get("from") or []:
                if source in fine:
                    continue
                try:
                    ip_network(source)
                    fine.add(source)
                except ValueError:
                    advice = "write it as 198.51.100.7 or 198.51.100.0/24 (added sources: firewall_extra_sources)"
                    wrong = "no address, no subnet, or one with host bits"
                    yield Problem((host,), f"{NAME}[{rule.get('port')}]", "FIREWALL_SOURCE", source, wrong, advice)


def everybody_needed(model: Model) -> Iterator[Problem]:
    """Whoever connects to a host on behalf of the cluster is let in there."""
    found: dict[tuple[str, int], list[str]] = {}
    wanted = {host: rules_of(model, host) for host in model.function_hosts}
    for host in model.function_hosts:
        for peer in peers(model, host):
            target, port = peer["host"], peer["port"]
            for network in ("client_address", "replication_address"):
                source = model.get(host, network)
                asked = source and str(model.get(target, network)) == peer["address"]
                if asked and not lets_in(wanted[target], port, str(source), left_alone(model, target) is not None):
                    found.setdefault((target, port), []).append(str(source))
    for (target, port), left_out in found.items():
        wrong = "hosts of this inventory connect from there, and no rule lets them in"
        yield Problem(
            (target,), f"{NAME}[{port}]", "FIREWALL_PEER", ", ".join(left_out), wrong, "leave the rules to group_vars/all/firewall.yml, or add them"
        )


def clients(model: Model) -> Iterator[Problem]:
    """Clients can come from somewhere."""
    for host in model.function_hosts:
        if rules_of(model, host) and model.mapping(host, "firewall_sources").get("client") == []:
            wrong = "no subnet of clients is known, so the rules would shut them out"
            advice = "set client_network or firewall_extra_sources.client, or base_firewall: false"
            yield Problem((host,), "firewall_sources", "FIREWALL_CLIENTS", None, wrong, advice)
