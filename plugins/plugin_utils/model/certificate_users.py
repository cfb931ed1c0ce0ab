"""Checks users without a password: a listener must derive their names from a certificate, a token or a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.listener_values import CLEAR
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.principals import RULE, principal, rules_of, written
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

SCRAM = ("SCRAM-SHA-512", "SCRAM-SHA-256")  # with other mechanisms the cluster stores no passwords
SUBJECT = re.compile(r"[A-Za-z0-9.]+=")


USER_NOBODY = ProblemKind(
    "USER_NOBODY",
    "no client can log in as this user: no listener ({listeners}) derives this name from a certificate or a token",
    "give the user a password, or add a listener for clients with certificates (docs/security.md)",
    warning=True,
)
USER_NOBODY_RULES = USER_NOBODY.variant(
    advice="give the user a password, or a name that principal_mapping_rules of {rules_of} derive"
)
USER_NOBODY_CASE = USER_NOBODY.variant(
    message="principal_mapping_rules of listener {listener} change this name to {other}", advice="did you mean {other}?"
)


def users(model: Model) -> Iterator[Problem]:
    """Yield a warning for each user without a password whose name no listener can derive.

    A listener derives a name from a certificate, a token or a Kerberos ticket.
    """
    without_password = [user for user in model.present("kafka_users") if switch(user.get("credential")) is False]
    brokers = [broker for broker in model.brokers if broker.listeners] if without_password else []
    if not brokers or any(_has_other_names(broker) for broker in brokers):
        return
    asking = [(broker, item) for broker in brokers for item in broker.encrypted
              if item.protocol == "SSL" and item.asks_for_certificates]  # fmt: skip
    rules = {rules_of(broker, item)[1] for broker, item in asking if not _is_internal(broker, item)}
    between = [(broker, item) for broker, item in asking if item.name == str(broker.inter_broker)]
    known = {name for broker, item in between for name in _known(model, broker, item)}
    internal = known if any(_is_internal(broker, item) for broker, item in between) else set()
    clients = {item.name: rules_of(broker, item)[1] for broker, item in asking if item.name != str(broker.inter_broker)}
    listeners = sorted({item.name for broker in brokers for item in broker.listeners})
    for user in without_password:
        name = str(user.get("name"))
        variable = f"kafka_users[{name}]"
        if name not in known and (other := _in_other_case(clients, name)):
            listener, derived = other
            yield USER_NOBODY_CASE.problem(
                names(model.brokers), f"{variable}.name", name, listener=listener, other=derived
            )
        elif name not in internal and not any(_can_derive(listener_rules, name) for listener_rules in rules):
            kind = USER_NOBODY_RULES if clients else USER_NOBODY
            yield kind.problem(
                names(model.brokers), f"{variable}.credential", False, listeners=listeners, rules_of=sorted(clients)
            )


def _in_other_case(clients: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, str] | None:
    """Return (listener, derived name) of a listener whose rule changes the case of `name`.

    Return None if a listener derives `name` as it is, or if there is no such listener. `clients` is {listener: its
    principal mapping rules}.
    """
    if any(_can_derive(rules, name) for rules in clients.values()):
        return None
    for listener, rules in clients.items():
        for rule in rules:
            parts = RULE.fullmatch(rule.strip())
            other = {"L": name.lower(), "U": name.upper()}.get(parts[3], name) if parts else name
            if other != name and _fits(rule.strip(), other):
                return listener, other
    return None


def _is_internal(broker: Broker, item: Listener) -> bool:
    """Tell whether only brokers and the control node can connect to a listener.

    Then it is the listener between brokers, and the firewall rules allow no other source.
    """
    if item.name != str(broker.inter_broker) or not broker.inputs.on("base_firewall"):
        return False
    site_ports = [whole(rule.get("port")) for rule in broker.inputs.entries("site_firewall_rules")]
    more = broker.inputs.mapping("firewall_extra_sources").get("admin")
    ports = [whole(rule.get("port")) for rule in broker.inputs.entries("base_firewall_rules")]
    return item.port not in site_ports and item.port in ports and not more


def _known(model: Model, broker: Broker, item: Listener) -> Iterator[str]:
    """Yield the names of super users, and those that a listener derives from all certificates in the inventory."""
    yield from (name.removeprefix("User:") for name, _ in super_users(broker))
    rules = rules_of(broker, item)[1]
    for machine in model.machines.values():
        for entry in (*machine.certificates, *machine.inputs.entries("admin_certificates")):
            if name := principal(rules, written(entry.get("subject"))):
                yield name


def _has_other_names(broker: Broker) -> bool:
    """Tell whether the user names of a broker cannot be checked.

    This is so if they come from another mechanism than SCRAM or from a principal.builder.class, or if no listener
    identifies clients.
    """
    elsewhere = any(set(item.mechanisms) - {*SCRAM} for item in broker.listeners)
    asked = any(item.protocol not in CLEAR or item.mechanisms for item in broker.listeners)
    return elsewhere or not asked or any("principal.builder.class" in str(name) for name in broker.config)


@cache
def _can_derive(rules: tuple[str, ...], name: str) -> bool:
    """Tell whether principal mapping rules can result in this user name; true if a rule cannot be analysed."""
    return any(_fits(rule.strip(), name) for rule in rules or ("DEFAULT",))


def _fits(rule: str, name: str) -> bool:
    """Tell whether one mapping rule can result in this user name; true if the rule cannot be analysed."""
    if rule == "DEFAULT":
        return bool(SUBJECT.match(name))
    parts_of_rule = RULE.fullmatch(rule)
    if not parts_of_rule:
        return True
    pattern, replacement, case = parts_of_rule.groups()
    if {"L": name.lower(), "U": name.upper()}.get(case, name) != name:
        return False
    parts = re.split(r"(\\.|\$\d)", replacement)
    groups = _groups(pattern)
    text = "".join(_part(part, groups, pattern) for part in parts)
    try:
        return re.fullmatch(text, name, re.IGNORECASE if case else 0) is not None
    except re.error:
        return True


def _part(part: str, groups: Sequence[str], pattern: str) -> str:
    """Return a regular expression of what one part of a mapping rule's replacement can result in.

    `part` is a text or a reference such as $1; `groups` are the regular expressions of the groups in the rule's
    pattern.
    """
    if re.fullmatch(r"\$\d", part):
        number = int(part[1])
        return "(?:.*)" if number == 0 or number > len(groups) else f"(?:{groups[number - 1]})"
    return re.escape(part[1:] if part.startswith("\\") else part)


def _groups(pattern: str) -> list[str]:
    """Return the regular expressions inside the capturing groups of `pattern`, in order; ".*" for a nested group."""
    patterns: dict[int, str] = {}
    opened: list[int] = []
    inside = False  # of [...]
    for at, sign in enumerate(pattern):
        escaped = at and pattern[at - 1] == "\\" and not (at > 1 and pattern[at - 2] == "\\")
        if escaped:
            continue
        if inside or sign == "[":
            inside = sign != "]" or pattern[at - 1] in "[^"
        elif sign == "(":
            opened.append(at)
            if pattern[at + 1 : at + 2] != "?":
                patterns[at] = ".*"
        elif sign == ")" and opened:
            begin = opened.pop()
            text = pattern[begin + 1 : at]
            if begin in patterns and "(" not in text:
                patterns[begin] = text
    return [patterns[begin] for begin in sorted(patterns)]
