"""Rules on users for whom a certificate stands: some listener makes their name of one."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

SCRAM = ("SCRAM-SHA-512", "SCRAM-SHA-256")  # with other mechanisms the cluster keeps no password of anybody
SUBJECT = re.compile(r"[A-Za-z0-9.]+=")


def users(model: Model) -> Iterator[Problem]:
    """A user without a password can come: a certificate, a token or a ticket makes his name on some listener."""
    wanted = [user for user in model.present("kafka_users") if switch(user.get("credential")) is False]
    brokers = [broker for broker in model.brokers if broker.listeners] if wanted else []
    if not brokers or any(_unknown(broker) for broker in brokers):
        return
    asking = [(broker, item) for broker in brokers for item in broker.encrypted
              if item.protocol == "SSL" and item.asks_for_certificates]  # fmt: skip
    rules = {rules_of(broker, item)[1] for broker, item in asking if not _ours_alone(broker, item)}
    between = [(broker, item) for broker, item in asking if item.name == str(broker.inter_broker)]
    known = {name for broker, item in between for name in _known(model, broker, item)}
    ours = known if any(_ours_alone(broker, item) for broker, item in between) else set()
    clients = {item.name: rules_of(broker, item)[1] for broker, item in asking if item.name != str(broker.inter_broker)}
    taken = sorted({item.name for broker in brokers for item in broker.listeners})
    for user in wanted:
        name = str(user.get("name"))
        if name not in known and (found := _otherwise(clients, name)):
            listener, other = found
            wrong, place = f"the rule of {listener} makes {other} of it", f"kafka_users[{name}].name"
            advice = f"did you mean {other}?"
            yield Problem(names(model.brokers), place, "USER_NOBODY", name, wrong, advice, warning=True)
        elif name not in ours and not any(_made(one, name) for one in rules):
            wrong = (
                f"no listener ({', '.join(taken)}) makes this name of a certificate or a token: nobody can be this user"
            )
            more = "add a listener for clients with certificates (docs/security.md)"
            more = f"a name as the rules of {', '.join(sorted(clients))} make it" if clients else more
            advice = f"give the user a password, or {more}"
            place = f"kafka_users[{name}].credential"
            yield Problem(names(model.brokers), place, "USER_NOBODY", False, wrong, advice, warning=True)


def _otherwise(clients: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, str] | None:
    """Return a listener of clients whose rule writes a name in other letters, and how, where none makes it as it is."""
    if any(_made(rules, name) for rules in clients.values()):
        return None
    for listener, rules in clients.items():
        for rule in rules:
            found = RULE.fullmatch(rule.strip())
            other = {"L": name.lower(), "U": name.upper()}.get(found[3], name) if found else name
            if other != name and _fits(rule.strip(), other):
                return listener, other
    return None


def _ours_alone(broker: Broker, item: Listener) -> bool:
    """Tell whether brokers and the control node alone come to a listener: the site lets nobody else in there."""
    if item.name != str(broker.inter_broker) or not broker.inputs.on("base_firewall"):
        return False
    told = [whole(rule.get("port")) for rule in broker.inputs.entries("site_firewall_rules")]
    more = broker.inputs.mapping("firewall_extra_sources").get("admin")
    own = [whole(rule.get("port")) for rule in broker.inputs.entries("base_firewall_rules")]
    return item.port not in told and item.port in own and not more


def _known(model: Model, broker: Broker, item: Listener) -> Iterator[str]:
    """Yield whom such a listener makes of the certificates that the site declares, and super users."""
    yield from (name.removeprefix("User:") for name, _ in super_users(broker))
    rules = rules_of(broker, item)[1]
    for machine in model.machines.values():
        for entry in (*machine.certificates, *machine.inputs.entries("admin_certificates")):
            if name := principal(rules, written(entry.get("subject"))):
                yield name


def _unknown(broker: Broker) -> bool:
    """Tell whether a broker takes names from elsewhere, or asks nobody who he is."""
    elsewhere = any(set(item.mechanisms) - {*SCRAM} for item in broker.listeners)
    asked = any(item.protocol not in CLEAR or item.mechanisms for item in broker.listeners)
    return elsewhere or not asked or any("principal.builder.class" in str(name) for name in broker.config)


@cache
def _made(rules: tuple[str, ...], name: str) -> bool:
    """Tell whether rules may make a name of some subject; so where one cannot be judged."""
    return any(_fits(rule.strip(), name) for rule in rules or ("DEFAULT",))


def _fits(rule: str, name: str) -> bool:
    if rule == "DEFAULT":
        return bool(SUBJECT.match(name))
    found = RULE.fullmatch(rule)
    if not found:
        return True
    pattern, replacement, letters = found.groups()
    if {"L": name.lower(), "U": name.upper()}.get(letters, name) != name:
        return False
    parts = re.split(r"(\\.|\$\d)", replacement)
    groups = _groups(pattern)
    text = "".join(_part(part, groups, pattern) for part in parts)
    try:
        return re.fullmatch(text, name, re.IGNORECASE if letters else 0) is not None
    except re.error:
        return True


def _part(part: str, groups: Sequence[str], pattern: str) -> str:
    """Return a part of a replacement as a pattern of what it can become."""
    if re.fullmatch(r"\$\d", part):
        number = int(part[1])
        return "(?:.*)" if number == 0 or number > len(groups) else f"(?:{groups[number - 1]})"
    return re.escape(part[1:] if part.startswith("\\") else part)


def _groups(pattern: str) -> list[str]:
    """Return the patterns of the capturing groups, in order; what has groups inside is anything."""
    found: dict[int, str] = {}
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
                found[at] = ".*"
        elif sign == ")" and opened:
            begin = opened.pop()
            text = pattern[begin + 1 : at]
            if begin in found and "(" not in text:
                found[begin] = text
    return [found[begin] for begin in sorted(found)]
