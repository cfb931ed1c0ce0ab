"""Rules on principals: the names that Kafka and ZooKeeper derive from certificates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePath
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import mapping_rules as parsed_rules
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import ZOOKEEPER_PORTS, Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Parts of a replacement: escaped characters, and references to groups by number or name.
PARTS = re.compile(r"(\\.|\$\d|\$\{\w+\})")
REFERENCE = re.compile(r"\$(?:(\d)|\{(\w+)\})")
# SslPrincipalMapper of Kafka.
RULE = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")


def principal(rules: Sequence[str], subject: str) -> str | None:
    """Return the name that Kafka derives from the subject of a certificate by principal mapping rules.

    The first rule whose pattern matches the whole subject applies. The rule DEFAULT returns the subject itself; an
    empty list of rules does the same. Return "" if no rule matches.
    Return None if Python cannot evaluate a rule, because patterns are Java's regular expressions.
    """
    for rule in rules or ["DEFAULT"]:
        if rule.strip() == "DEFAULT":
            return subject
        parts = RULE.fullmatch(rule.strip())
        if not parts:
            return None
        pattern, replacement, case = parts.groups()
        try:
            match = re.fullmatch(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern), subject)
            if match:
                name = "".join(_literal(part, match) for part in PARTS.split(replacement))
                return {"L": name.lower(), "U": name.upper()}.get(case, name)
        except (re.error, IndexError):
            return None
    return ""


def _literal(part: str, match: re.Match[str]) -> str:
    """Return what one part of a mapping rule's replacement expands to, as in Java's Matcher.replaceAll.

    `part` is a text, an escaped character or a reference to a group of `match`, such as $1 or ${name}. Raises
    IndexError for a reference to a group that does not exist.
    """
    if part.startswith("\\"):
        return part[1:]
    group = REFERENCE.fullmatch(part)
    return (match[int(group[1]) if group[1] else group[2]] or "") if group else part


PRINCIPAL_RULE = ProblemKind(
    "PRINCIPAL_RULE",
    "not a valid rule, so Kafka would not start",
    "write it as RULE:pattern/replacement/, with L or U at its end, or DEFAULT",
)
PRINCIPAL_RULE_SEVERAL = PRINCIPAL_RULE.variant(
    message="several rules without commas between them: Kafka would not start, or would ignore all but the last",
    advice="write one entry of the list for each rule",
)
PRINCIPAL_RULE_LITERAL = PRINCIPAL_RULE.variant(
    message="the pattern has no group for {reference}, and every user would be called {reference} literally",
    advice="put the intended part into parentheses, for example RULE:^CN=([^,]+),OU=...$/$1/",
)
PRINCIPAL_RULE_GROUP = PRINCIPAL_RULE_LITERAL.variant(
    message="the pattern has no group for {reference}, and no client could log in: Java fails with `No group {number}`"
)


def mapping_rules(model: Model) -> Iterator[Problem]:
    """Yield a problem for each principal mapping rule that Kafka cannot parse, or that uses a missing regex group."""
    for broker in model.brokers:
        for item in broker.encrypted:
            variable = f"{item.variable}.principal_mapping_rules"
            for rule in item.rules:
                if rule.strip() != "DEFAULT" and not RULE.fullmatch(rule.strip()):
                    several = re.search(r".(RULE:|DEFAULT$)", rule, re.DOTALL)
                    yield broker.report(PRINCIPAL_RULE_SEVERAL if several else PRINCIPAL_RULE, variable, rule)
                elif group := _missing_group(rule.strip()):
                    kind, number = group
                    yield broker.report(kind, variable, rule, reference=f"${number}", number=number)


def _missing_group(rule: str) -> tuple[ProblemKind, str] | None:
    """Return (kind of problem, number) of a group that a rule's replacement uses, but its pattern does not have.

    Return None if there is none. The kind depends on what Kafka does then:
    SslPrincipalMapper.escapeLiteralBackReferences escapes such references if the pattern has any group.
    """
    parts = RULE.fullmatch(rule)
    if not parts:
        return None
    try:
        groups = re.compile(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", parts[1])).groups
    except re.error:
        return None
    for escape, name, number in re.findall(r"(\\?)(\$(\d))|\\.", parts[2]):
        if name and int(number) > groups and not (escape and not groups):
            return (PRINCIPAL_RULE_LITERAL if groups and not escape else PRINCIPAL_RULE_GROUP), number
    return None


PRINCIPAL_ANYBODY = ProblemKind(
    "PRINCIPAL_ANYBODY",
    "a certificate with {subject} becomes {principal}, a super user that may do everything",
    "make the pattern require the OU of the brokers, for example CN=[^,]+,OU=brokers,O=...",
)


def anybody(model: Model) -> Iterator[Problem]:
    """Yield a problem for each listener whose mapping rules give a super user's name to someone else's certificate.

    Only certificates of brokers and admins may have the name of a super user.
    """
    subjects = _other_subjects(model)
    for broker in model.brokers:
        unlimited = frozenset(name for name, _ in super_users(broker))
        for item in broker.encrypted if unlimited else ():
            variable, rules = rules_of(broker, item)
            for subject in subjects:
                name = _principal(rules, subject)
                if name and (mapped := f"User:{name}") in unlimited:
                    value = ", ".join(rules)
                    yield broker.report(PRINCIPAL_ANYBODY, variable, value, subject=subject, principal=mapped)
                    break


def _other_subjects(model: Model) -> list[str]:
    """Return subjects of certificates that are neither of brokers nor of admins, to test mapping rules.

    They are those of ZooKeeper servers and of Spark jobs, and two that no certificate in the inventory has.
    """
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
    of_brokers = [entry for broker in model.brokers for entry in broker.certificates]
    privileged = {written(entry.get("subject")) for entry in (*admins, *of_brokers)}
    nodes = [written(entry.get("subject")) for node in model.spark_nodes for entry in node.certificates]
    jobs = [subject for subject in nodes if subject not in privileged]
    organization = next((machine.inputs.get("organization") for machine in model.brokers), None)
    undeclared = ["CN=anybody,OU=anything,O=elsewhere", f"CN=anybody,OU=clients,O={organization}"]
    return list(dict.fromkeys([*undeclared, *declared[:3], *declared[-1:], *jobs[:3]]))


def written(text: Any) -> str:
    """Return the subject of a certificate as Kafka writes it, without blanks around commas."""
    return re.sub(r"\s*,\s*", ",", str(text))


def rules_of(broker: Broker, item: Listener) -> tuple[str, tuple[str, ...]]:
    """Return the principal mapping rules of a listener: (variable that sets the rules, rules)."""
    for variable, layer in reversed(broker.layers):
        name = f"listener.name.{item.name.lower()}.ssl.principal.mapping.rules"
        for key in (name,) if item.rules else (name, "ssl.principal.mapping.rules"):
            value = layer.get(key)
            if value is not None:
                return f"{variable}[{key}]", parsed_rules(value)
    return f"{item.variable}.principal_mapping_rules", item.rules


@cache
def _principal(rules: tuple[str, ...], subject: str) -> str | None:
    return principal(rules, subject)


PRINCIPAL_NOT_SUPER = ProblemKind(
    "PRINCIPAL_NOT_SUPER",
    "does not contain {principal}, the principal of all brokers: brokers would not replicate from one another",
    "add {principal}",
)
PRINCIPAL_NOT_SUPER_MAPPED = PRINCIPAL_NOT_SUPER.variant(
    message="a broker with this subject becomes {principal}, which is no super user: brokers would not replicate from "
    "one another",
    advice="make a rule map it to one of kafka_super_users ({super_users})",
)
PRINCIPAL_NOT_SUPER_UNMAPPED = PRINCIPAL_NOT_SUPER_MAPPED.variant(
    message="a broker with this subject is rejected, because no rule maps it: brokers would not replicate from one "
    "another"
)


def brokers(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker whose principal is not a super user: it could not replicate."""
    common = _common_principal(model)
    for broker in model.brokers:
        if common and f"User:{common}" not in broker.super_users and broker.super_users:
            value = ", ".join(broker.super_users)
            yield broker.report(PRINCIPAL_NOT_SUPER, "kafka_super_users", value, principal=f"User:{common}")
            continue
        for item in broker.encrypted if broker.super_users else ():
            if item.name == str(broker.inter_broker) and item.protocol == "SSL" and broker.keystore(item):
                yield from _not_super(broker, item)


def _common_principal(model: Model) -> str:
    """Return the name that the certificates of all brokers are mapped to.

    Return "" if there are several names, or only one broker.
    """
    mapped = {
        principal(item.rules, written(certificate.get("subject")))
        for broker in model.brokers
        for item in broker.encrypted
        if item.name == str(broker.inter_broker) and item.protocol == "SSL"
        for certificate in broker.certificates
        if certificate.get("path") == broker.keystore(item)
    }
    return (next(iter(mapped)) or "") if len(mapped) == 1 and len(model.brokers) > 1 else ""


def _not_super(broker: Broker, item: Listener) -> Iterator[Problem]:
    for certificate in broker.certificates:
        subject = written(certificate.get("subject"))
        name = principal(item.rules, subject) if certificate.get("path") == broker.keystore(item) else None
        if name is not None and f"User:{name}" not in broker.super_users:
            kind = PRINCIPAL_NOT_SUPER_MAPPED if name else PRINCIPAL_NOT_SUPER_UNMAPPED
            variable = f"{item.variable}.principal_mapping_rules"
            yield broker.report(kind, variable, subject, principal=f"User:{name}", super_users=broker.super_users)


ZOOKEEPER_CONNECT_PLAIN = ProblemKind(
    "ZOOKEEPER_CONNECT_PLAIN",
    "port {port} is not encrypted, and kafka_zookeeper_keystore enables TLS: the broker could not connect",
    "use zookeeper_secure_client_port of the servers, or set kafka_zookeeper_keystore to ''",
)
ZOOKEEPER_CONNECT_SECURE = ProblemKind(
    "ZOOKEEPER_CONNECT_SECURE",
    "port {port} requires TLS and a certificate, and kafka_zookeeper_keystore is empty",
    "set kafka_zookeeper_keystore, or use zookeeper_client_port of the servers",
)
ZOOKEEPER_ACL_OWNER = ProblemKind(
    "ZOOKEEPER_ACL_OWNER",
    "the certificate of a broker identifies the owner of znodes, but kafka_zookeeper_keystore is empty: the broker "
    "cannot start",
    "remove it, and set kafka_zookeeper_keystore, which also sets zookeeper.set.acl",
)


def zookeeper_clients(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker that uses TLS to a plaintext port of ZooKeeper, or plaintext to a TLS port.

    Also yield a problem for zookeeper.set.acl without TLS, because a certificate identifies the owner of znodes.
    """
    secure, plain = (
        {server.ports[name] for server in model.servers if name in server.ports} for name in ZOOKEEPER_PORTS
    )
    for broker in model.brokers:
        variable, keystore = "kafka_zookeeper_connect", broker.zookeeper_keystore
        ports = {whole(entry.rpartition(":")[2]) for entry in broker.zookeeper_connect}
        if keystore and ports & (plain - secure):
            yield broker.report(ZOOKEEPER_CONNECT_PLAIN, variable, port=min(plain - secure))
        if not keystore and ports & (secure - plain):
            yield broker.report(ZOOKEEPER_CONNECT_SECURE, variable, port=min(secure - plain))
        for layer_name, layer in broker.layers:
            if not keystore and str(layer.get("zookeeper.set.acl")).lower() == "true":
                yield broker.report(ZOOKEEPER_ACL_OWNER, f"{layer_name}[zookeeper.set.acl]", True)


def admin_principals(model: Model, broker: Broker) -> set[str]:
    """Return the principals that the control node has on the first listener of kafka_admin_listeners.

    The set is empty if that listener does not use certificates as logins (protocol SSL).
    """
    first = next(iter(broker.inputs.mapping("kafka_admin_listeners")), None)
    item = next((listener for listener in broker.encrypted if listener.name == first), None)
    if item is None or item.protocol != "SSL":
        return set()
    entries = [entry for machine in model.machines.values() for entry in machine.inputs.entries("admin_certificates")]
    subjects = shown_subjects(broker.inputs.mapping("kafka_admin_listeners")[first], entries)
    names = (_principal(rules_of(broker, item)[1], subject) for subject in subjects)
    return {f"User:{name}" for name in names if name}


def shown_subjects(client: Any, certificates: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the subjects, each once, of the certificate that a client of librdkafka shows to brokers.

    `client` are the client's properties: the file that they name is called like the entry in `certificates`.
    """
    location = client.get("ssl.certificate.location") if isinstance(client, Mapping) else None
    file = PurePath(str(location or "")).stem
    shown = (entry.get("subject") for entry in certificates if entry.get("name") == file)
    return list(dict.fromkeys(written(subject) for subject in shown if subject))
