"""Rules on the values of listeners: names, ports, SASL mechanisms, advertised addresses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions
from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import Listener
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_limits import (
    COVERED,
    OF_LISTENER,
    all_covered,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import NETWORKS, Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import WILDCARDS, is_address, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER", "GSSAPI")
# Keys of a listener that concern TLS only.
TLS_KEYS = ("client_auth", "keystore", "truststore", "principal_mapping_rules")
# What a property requires of its listener, by its name behind `listener.name.<listener>.`.
REQUIRING = {
    "logins": re.compile(r"([\w-]+\.)?(sasl\..+|connections\.max\.reauth\.ms)"),
    "TLS": re.compile(r"ssl\..+"),
}
INTER_BROKER_MECHANISM = "sasl.mechanism.inter.broker.protocol"
CLEAR = ("PLAINTEXT", "SASL_PLAINTEXT")
LISTENERS_NONE = ProblemKind(
    "LISTENERS_NONE",
    "no listener, so Kafka would not start",
    "remove it (default: CLIENT and REPLICATION), or declare at least one",
)
LISTENER_NAME = ProblemKind(
    "LISTENER_NAME",
    "Kafka splits lists of listeners at commas and colons, and a blank ends a name",
    "use only letters, digits, _ and -, for example CLIENT",
)
LISTENER_CASE = ProblemKind(
    "LISTENER_CASE",
    "Kafka ignores case, so the name is the same as {other}, and Kafka would not start",
    "rename one of the two listeners",
)
LISTENER_PORT = ProblemKind(
    "LISTENER_PORT",
    "listener {other} has the same port, and Kafka requires a different port for each listener, whatever the address",
    "give one of the two listeners another port",
)


def listeners(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker without listeners, or with two listeners of the same name or port.

    Kafka ignores the case of listener names, and rejects names with some characters.
    """
    for broker in model.brokers:
        if not broker.listeners and isinstance(broker.inputs.values.get("kafka_listeners"), list):
            yield broker.report(LISTENERS_NONE, "kafka_listeners")
        for number, item in enumerate(broker.listeners):
            if not re.fullmatch(r"[A-Za-z0-9_-]+", str(item.name)):
                yield broker.report(LISTENER_NAME, "kafka_listeners", item.name)
            for other in broker.listeners[:number]:
                yield from _pair(broker, other, item)


def _pair(broker: Broker, first: Listener, second: Listener) -> Iterator[Problem]:
    """Yield a problem if two listeners of a broker have names that differ only in case, or the same port."""
    if first.name != second.name and first.name.lower() == second.name.lower():
        yield broker.report(LISTENER_CASE, "kafka_listeners", second.name, other=first.name)
    addresses = {str(first.address), str(second.address)}
    versions = {ip_address(address).version for address in addresses if is_address(address)}
    clash = len(addresses) == 1 or addresses & set(WILDCARDS)  # reported as PORT_CLASH
    if whole(first.port) == whole(second.port) is not None and not clash and versions != {4, 6}:
        yield broker.report(LISTENER_PORT, second.variable, second.port, other=first.name)


MECHANISM_IDLE = ProblemKind(
    "MECHANISM_IDLE",
    "clients do not log in to a listener with protocol {protocol}",
    "remove it, or set protocol to SASL_SSL",
    warning=True,
)


def mechanisms(model: Model) -> Iterator[Problem]:
    """Yield a problem for each SASL mechanism of a listener that Kafka does not know or that has no effect.

    Also yield a problem if settings that a mechanism requires are missing.
    """
    for broker in model.brokers:
        for entry in broker.inputs.entries("kafka_listeners"):
            declared, variable = entry.get("sasl_mechanisms"), f"kafka_listeners[{entry.get('name')}].sasl_mechanisms"
            if declared and _no_logins(broker, entry):
                yield broker.report(MECHANISM_IDLE, variable, protocol=entry["protocol"])
        for item in broker.listeners:
            for name in item.mechanisms:
                yield from _mechanism(broker, item, name)


LISTENER_IDLE = ProblemKind(
    "LISTENER_IDLE",
    "has no effect: a listener with protocol {protocols} has no {feature}",
    "remove it, or set protocol of the listener to {required}",
)


def idle(model: Model) -> Iterator[Problem]:
    """Yield a problem for each setting of TLS or SASL that has no effect, because no listener uses TLS or SASL."""
    for broker in model.brokers:
        secure = broker.inputs.get("security_profile") != "plaintext"  # else the wiring sets more than is used
        for entry in broker.inputs.entries("kafka_listeners") if secure and not broker.production else ():
            keys = [key for key in TLS_KEYS if entry.get(key) not in (None, "", "none", [], ())]
            for key in keys if entry.get("protocol") in CLEAR else ():
                yield broker.report(
                    LISTENER_IDLE,
                    f"kafka_listeners[{entry.get('name')}].{key}",
                    warning=True,
                    protocols=str(entry["protocol"]),
                    feature="TLS",
                    required="SSL or SASL_SSL",
                )
        definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
        for variable, layer in broker.layers:
            for name in (str(name) for name, value in layer.items() if value is not None):
                spec, covered = definitions.spec("broker", name), name in COVERED and all_covered(broker, name)
                if spec and not spec.get("kraft") and not covered:
                    yield from _idle(broker, f"{variable}[{name}]", name, secure)


def _idle(broker: Broker, variable: str, name: str, secure: bool) -> Iterator[Problem]:
    """Yield the problem of one broker property that has no effect, because the listeners it applies to do not use it.

    `variable` is the property's place in the inventory; `secure` is false if security_profile is plaintext.
    """
    match = OF_LISTENER.fullmatch(name)
    listener, rest = (match[1], match[2]) if match else ("", name)
    feature = next((feature for feature, names in REQUIRING.items() if names.fullmatch(rest)), "")
    candidates = [item for item in broker.listeners if not listener or item.name.lower() == listener]
    if name == INTER_BROKER_MECHANISM:
        candidates = [item for item in broker.listeners if item.name == str(broker.inter_broker)]
    using = [item for item in candidates if (item.encrypted if feature == "TLS" else item.protocol.startswith("SASL"))]
    reported = broker.production and all(item.protocol in CLEAR for item in candidates)  # as LISTENER_PLAINTEXT
    if feature and candidates and not using and not reported:
        yield broker.report(
            LISTENER_IDLE,
            variable,
            warning=not listener or not secure,
            protocols=" and ".join(sorted({item.protocol for item in candidates})),
            feature=feature,
            required="SSL or SASL_SSL" if feature == "TLS" else "SASL_SSL",
        )


def _no_logins(broker: Broker, entry: Mapping[str, Any]) -> bool:
    """Tell whether sasl_mechanisms of this kafka_listeners entry has no effect, and no other rule reports that."""
    clear = not broker.production and broker.inputs.get("security_profile") != "plaintext"
    return entry.get("protocol") == "SSL" or (entry.get("protocol") == "PLAINTEXT" and clear)


MECHANISM_UNKNOWN = ProblemKind("MECHANISM_UNKNOWN", "not a SASL mechanism of Kafka", "use one of {mechanisms}")
MECHANISM_UNKNOWN_MEANT = MECHANISM_UNKNOWN.variant(advice="did you mean {near}?")
MECHANISM_SETTINGS = ProblemKind(
    "MECHANISM_SETTINGS",
    "this mechanism also requires {settings}, and Kafka would not start without",
    "set the missing properties in kafka_config",
)


def _mechanism(broker: Broker, item: Listener, name: str) -> Iterator[Problem]:
    variable, prefix = f"{item.variable}.sasl_mechanisms", f"listener.name.{item.name.lower()}"
    if name not in MECHANISMS:
        near = next((known for known in MECHANISMS if known.replace("-", "") == name.upper().replace("-", "")), "")
        if near:
            yield broker.report(MECHANISM_UNKNOWN_MEANT, variable, name, near=near)
        else:
            yield broker.report(MECHANISM_UNKNOWN, variable, name, mechanisms=MECHANISMS)
        return
    required: list[tuple[str, ...]] = (
        [(f"{prefix}.{name.lower()}.sasl.jaas.config",)] if name in ("PLAIN", "GSSAPI", "OAUTHBEARER") else []
    )
    if name == "GSSAPI":
        service = "sasl.kerberos.service.name"
        required.append((f"{prefix}.{name.lower()}.{service}", f"{prefix}.{service}", service))
    missing = [keys[0] for keys in required if not any(broker.config.get(key) for key in keys)]
    if missing:
        yield broker.report(
            MECHANISM_SETTINGS, variable, name, warning=_jaas_file(broker), settings=" and ".join(missing)
        )


def _jaas_file(broker: Broker) -> bool:
    """Tell whether Java options name a JAAS file, which may contain the logins that kafka_config does not."""
    return "java.security.auth.login.config" in str(broker.inputs.get("kafka_java_options"))


BROKERS_LISTENER = ProblemKind(
    "BROKERS_LISTENER",
    "this listener has protocol {protocol}, for which brokers have no login: they would not start",
    "set it to {other}",
)
LISTENER_BROKER_LOGIN = ProblemKind(
    "LISTENER_BROKER_LOGIN",
    "brokers use this listener, but have no SASL login, and would not start",
    "set protocol: SSL, where certificates are the login, or set {property} and its JAAS configuration in kafka_config",
)


def among_brokers(model: Model) -> Iterator[Problem]:
    """Yield a problem if the listener between brokers uses SASL, but the site sets no login of the brokers.

    The role does not set this login.
    """
    for broker in model.brokers:
        for item in broker.listeners:
            if item.name != str(broker.inter_broker) or not item.protocol.startswith("SASL"):
                continue
            mechanism, elsewhere = str(broker.config.get(INTER_BROKER_MECHANISM) or ""), _jaas_file(broker)
            key = f"listener.name.{item.name.lower()}.{mechanism.lower()}.sasl.jaas.config"
            if mechanism and re.search(r"username\s*=|keyTab\s*=|oauth", str(broker.config.get(key)), re.I):
                continue
            other = next((listener.name for listener in broker.listeners if listener.protocol == "SSL"), None)
            if other and not mechanism:
                yield broker.report(
                    BROKERS_LISTENER,
                    "kafka_inter_broker_listener",
                    item.name,
                    warning=elsewhere,
                    protocol=item.protocol,
                    other=other,
                )
            else:
                yield broker.report(
                    LISTENER_BROKER_LOGIN,
                    item.variable,
                    item.protocol,
                    warning=elsewhere,
                    property=INTER_BROKER_MECHANISM,
                )


ADVERTISED_LOCAL = ProblemKind(
    "ADVERTISED_LOCAL",
    "every client would look for the broker on its own host",
    "set the address or the name at which clients reach this broker",
)
ADVERTISED_INVALID = ProblemKind(
    "ADVERTISED_INVALID",
    "neither an address nor a host name",
    "set only the host name or the address here, and another port in advertised_port",
)


def advertised(model: Model) -> Iterator[Problem]:
    """Yield a problem for each advertised_address that is the loopback, or neither an address nor a name."""
    for broker in model.brokers:
        for entry in broker.inputs.entries("kafka_listeners"):
            address = entry.get("advertised_address")
            variable, text = f"kafka_listeners[{entry.get('name')}].advertised_address", str(address or "")
            if not text:
                continue
            if text.lower().rstrip(".") == "localhost" or (is_address(text) and ip_address(text).is_loopback):
                yield broker.report(ADVERTISED_LOCAL, variable, address)
            elif not is_address(text) and not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?", text):
                yield broker.report(ADVERTISED_INVALID, variable, address)


def shared(model: Model) -> set[tuple[str, int | None]]:
    """Return {(address, port)}: the advertised addresses and ports that several brokers have in common."""
    endpoints = (
        endpoint
        for broker in model.brokers
        for endpoint in {(str(item.advertised_address), whole(item.advertised_port)) for item in broker.listeners}
    )
    counted = Counter((address, port) for address, port in endpoints if address not in (*WILDCARDS, "None"))
    return {endpoint for endpoint, count in counted.items() if count > 1}


ADVERTISED_SHARED = ProblemKind(
    "ADVERTISED_SHARED",
    "other brokers advertise the same address and port: Kafka does not start a second broker with them, and a client "
    "could reach the wrong broker",
    "give each broker its own name or port (one name for all brokers is only for bootstrap.servers of clients)",
)


def advertised_once(model: Model) -> Iterator[Problem]:
    """Yield a problem for each advertised address and port that another broker advertises too.

    Kafka does not start such a broker (kafka.server.KafkaServer.createBrokerInfo).
    """
    twice = shared(model)
    for broker in model.brokers:
        for item in broker.listeners:
            if (str(item.advertised_address), whole(item.advertised_port)) in twice:
                variable = f"{item.variable}.advertised_address"
                yield broker.report(ADVERTISED_SHARED, variable, item.advertised_address)


ADDRESS_LOCAL = ProblemKind(
    "ADDRESS_LOCAL",
    "no other host can reach this host at this address",
    "set the address of the host's network interface",
)


def addresses(model: Model) -> Iterator[Problem]:
    """Yield a problem for each client_address or replication_address at which other hosts cannot reach the host.

    Such an address is a loopback, multicast, link-local or unspecified address.
    """
    for machine in model.functional:
        for network in NETWORKS:
            value = str(machine.address(network) or "")
            if is_address(value):
                address = ip_address(value)
                if address.is_loopback or address.is_multicast or address.is_unspecified or address.is_link_local:
                    yield machine.report(ADDRESS_LOCAL, f"{network}_address", value)
