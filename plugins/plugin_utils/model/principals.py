"""Rules on whom Kafka and ZooKeeper take the holder of a certificate for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import ZOOKEEPER_PORTS, Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# SslPrincipalMapper of Kafka.
RULE = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")


def principal(rules: Sequence[str], subject: str) -> str | None:
    """Return whom Kafka takes the holder of a certificate for, '' for nobody; None where a rule cannot be judged here.

    As SslPrincipalMapper: the first rule whose pattern is the whole subject; no rule at all is DEFAULT, the subject
    itself. Patterns are Java's, of which Python's are most.
    """
    for rule in rules or ["DEFAULT"]:
        if rule.strip() == "DEFAULT":
            return subject
        found = RULE.fullmatch(rule.strip())
        if not found:
            return None
        pattern, replacement, letters = found.groups()
        try:
            match = re.fullmatch(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern), subject)
            if match:
                groups = [group or "" for group in (match.group(), *match.groups())]
                name = "".join(_literal(part, groups) for part in re.split(r"(\\.|\$\d)", replacement))
                return {"L": name.lower(), "U": name.upper()}.get(letters, name)
        except (re.error, IndexError):
            return None
    return ""


def _literal(part: str, groups: Sequence[str]) -> str:
    """Return a part of a replacement as Java's Matcher.replaceAll has it. Raises IndexError."""
    if part.startswith("\\"):
        return part[1:]
    return groups[int(part[1])] if re.fullmatch(r"\$\d", part) else part


def mapping_rules(model: Model) -> Iterator[Problem]:
    """Rules are such as Kafka reads."""
    for broker in model.brokers:
        for item in broker.encrypted:
            for rule in item.rules:
                if rule.strip() != "DEFAULT" and not RULE.fullmatch(rule.strip()):
                    wrong = "no rule as Kafka reads it, and it would not start"
                    advice = "write it as RULE:pattern/replacement/, with L or U at its end, or DEFAULT"
                    yield broker.problem(
                        f"{item.variable}.principal_mapping_rules", "PRINCIPAL_RULE", rule, wrong, advice
                    )
                elif lost := _lost_group(rule.strip()):
                    advice = "put what is meant into parentheses, as RULE:^CN=([^,]+),OU=...$/$1/"
                    place = f"{item.variable}.principal_mapping_rules"
                    yield broker.problem(place, "PRINCIPAL_RULE", rule, lost, advice)


def _lost_group(rule: str) -> str | None:
    """Return what comes of a group that the replacement of a rule names, and its pattern does not have.

    Where a pattern has groups, Kafka escapes those that it does not have, be they escaped or not
    (SslPrincipalMapper.escapeLiteralBackReferences).
    """
    found = RULE.fullmatch(rule)
    if not found:
        return None
    try:
        groups = re.compile(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", found[1])).groups
    except re.error:
        return None
    for escape, name, number in re.findall(r"(\\?)(\$(\d))|\\.", found[2]):
        if name and int(number) > groups and not (escape and not groups):
            what = f"the pattern has no group for {name}, and "
            if groups and not escape:
                return f"{what}everybody would be called {name} as it stands"
            return f"{what}nobody could log in: Java ends with `No group {number}`"
    return None


def anybody(model: Model) -> Iterator[Problem]:
    """No rule takes the holder of any other certificate for a super user."""
    strangers = _strangers(model)
    for broker in model.brokers:
        almighty = frozenset(name for name, _ in super_users(broker))
        for item in broker.encrypted if almighty else ():
            variable, rules = rules_of(broker, item)
            found = next((one for one in strangers if f"User:{_principal(rules, one)}" in almighty), None)
            if found is not None:
                wrong = f"{found} becomes User:{_principal(rules, found)}, who may do everything"
                advice = "let the pattern name the OU of the brokers, as CN=[^,]+,OU=brokers,O=..."
                yield broker.problem(variable, "PRINCIPAL_ANYBODY", ", ".join(rules), wrong, advice)


def _strangers(model: Model) -> list[str]:
    """Return subjects of holders who are neither brokers nor admins: servers, jobs, and somebody unknown."""
    paths: dict[str, Sequence[Machine]] = {
        "zookeeper_keystore": model.servers,
        "kafka_zookeeper_keystore": model.brokers,
    }
    declared = [
        written(entry.get("subject"))
        for name, machines in paths.items()
        for machine in machines
        for entry in machine.certificates
        if entry.get("path") and entry.get("path") == machine.inputs.get(name)
    ]
    admins = [entry for machine in model.functional for entry in machine.inputs.entries("admin_certificates")]
    own = [entry for broker in model.brokers for entry in broker.certificates]
    proper = {written(entry.get("subject")) for entry in (*admins, *own)}
    nodes = [written(entry.get("subject")) for node in model.spark_nodes for entry in node.certificates]
    jobs = [subject for subject in nodes if subject not in proper]
    organization = next((machine.inputs.get("organization") for machine in model.brokers), None)
    somebody = ["CN=anybody,OU=anything,O=elsewhere", f"CN=anybody,OU=clients,O={organization}"]
    return list(dict.fromkeys([*somebody, *declared[:3], *declared[-1:], *jobs[:3]]))


def listed(rules: Any) -> tuple[str, ...]:
    """Return rules one by one, of a list or of a property's text."""
    return tuple(map(str, rules if isinstance(rules, list | tuple) else re.split(r",\s*(?=RULE:|DEFAULT)", str(rules))))


def written(text: Any) -> str:
    """Return a subject as Kafka writes it."""
    return re.sub(r"\s*,\s*", ",", str(text))


def rules_of(broker: Broker, item: Listener) -> tuple[str, tuple[str, ...]]:
    """Return the rules that hold for a listener, and where they are said."""
    for variable, layer in reversed(broker.layers):
        name = f"listener.name.{item.name.lower()}.ssl.principal.mapping.rules"
        for key in (name,) if item.rules else (name, "ssl.principal.mapping.rules"):
            value = layer.get(key)
            if value is not None:
                return f"{variable}[{key}]", listed(value)
    return f"{item.variable}.principal_mapping_rules", item.rules


@cache
def _principal(rules: tuple[str, ...], subject: str) -> str | None:
    return principal(rules, subject)


def brokers(model: Model) -> Iterator[Problem]:
    """Brokers take each other for a super user; else they refuse to copy from one another."""
    everybody = _everybody(model)
    for broker in model.brokers:
        if everybody and f"User:{everybody}" not in broker.super_users and broker.super_users:
            wrong = f"lacks User:{everybody}, for whom brokers are taken: they would not copy from one another"
            shown = ", ".join(broker.super_users)
            yield broker.problem("kafka_super_users", "PRINCIPAL_NOT_SUPER", shown, wrong, f"add User:{everybody}")
            continue
        for item in broker.encrypted if broker.super_users else ():
            if item.name == str(broker.inter_broker) and item.protocol == "SSL" and broker.keystore(item):
                yield from _not_super(broker, item)


def _everybody(model: Model) -> str:
    """Return for whom all brokers are taken, '' where that is not one."""
    found = {
        principal(item.rules, written(certificate.get("subject")))
        for broker in model.brokers
        for item in broker.encrypted
        if item.name == str(broker.inter_broker) and item.protocol == "SSL"
        for certificate in broker.certificates
        if certificate.get("path") == broker.keystore(item)
    }
    return (next(iter(found)) or "") if len(found) == 1 and len(model.brokers) > 1 else ""


def _not_super(broker: Broker, item: Listener) -> Iterator[Problem]:
    for certificate in broker.certificates:
        subject = written(certificate.get("subject"))
        found = principal(item.rules, subject) if certificate.get("path") == broker.keystore(item) else None
        if found is not None and f"User:{found}" not in broker.super_users:
            taken = f"taken for User:{found}" if found else "refused, no rule maps it"
            but = "and no super user: brokers would not copy from one another"
            wrong = f"a broker that comes with this subject is {taken}, {but}"
            advice = f"let a rule map it to one of kafka_super_users ({', '.join(broker.super_users)})"
            yield broker.problem(
                f"{item.variable}.principal_mapping_rules", "PRINCIPAL_NOT_SUPER", subject, wrong, advice
            )


def zookeeper_clients(model: Model) -> Iterator[Problem]:
    """Brokers speak to ZooKeeper as the port that they are told of does."""
    secure, plain = (
        {server.ports[name] for server in model.servers if name in server.ports} for name in ZOOKEEPER_PORTS
    )
    for broker in model.brokers:
        variable, keystore = "kafka_zookeeper_connect", broker.zookeeper_keystore
        ports = {whole(entry.rpartition(":")[2]) for entry in broker.zookeeper_connect}
        if keystore and ports & (plain - secure):
            clear = f"port {min(plain - secure)} is in the clear"
            wrong = f"{clear}, and kafka_zookeeper_keystore says TLS: the broker could not connect"
            advice = "name zookeeper_secure_client_port, or set kafka_zookeeper_keystore to ''"
            yield broker.problem(variable, "ZOOKEEPER_CONNECT_PLAIN", None, wrong, advice)
        if not keystore and ports & (secure - plain):
            asks = f"port {min(secure - plain)} speaks TLS and asks for a certificate"
            wrong, advice = (
                f"{asks}, and kafka_zookeeper_keystore is empty",
                "set kafka_zookeeper_keystore, or name zookeeper_client_port",
            )
            yield broker.problem(variable, "ZOOKEEPER_CONNECT_SECURE", None, wrong, advice)
        for layer_name, layer in broker.layers:
            if not keystore and str(layer.get("zookeeper.set.acl")).lower() == "true":
                known = "the owner of a znode is known by its certificate"
                wrong = f"{known}, and kafka_zookeeper_keystore is empty: the broker would not start"
                place, advice = (
                    f"{layer_name}[zookeeper.set.acl]",
                    "set kafka_zookeeper_keystore, which sets this as well",
                )
                yield broker.problem(place, "ZOOKEEPER_ACL_OWNER", True, wrong, advice)


def admin_principals(model: Model, broker: Broker) -> set[str]:
    """Return whom a broker takes the control node for, on the listener that it uses first."""
    first = next(iter(broker.inputs.mapping("kafka_admin_listeners")), None)
    item = next((one for one in broker.encrypted if one.name == first), None)
    if item is None or item.protocol != "SSL":
        return set()
    entries = [entry for machine in model.machines.values() for entry in machine.inputs.entries("admin_certificates")]
    subjects = {written(entry.get("subject")) for entry in entries if entry.get("subject")}
    found = (_principal(rules_of(broker, item)[1], subject) for subject in subjects)
    return {f"User:{name}" for name in found if name}
