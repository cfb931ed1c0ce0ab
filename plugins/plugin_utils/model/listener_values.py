"""Rules on what brokers and servers listen with: names, mechanisms and addresses that the products take."""

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
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER", "GSSAPI")
# Words of a listener that are of its TLS alone.
TLS_WORDS = ("client_auth", "keystore", "truststore", "principal_mapping_rules")
# What properties need, by what they are called behind the name of the listener.
NEEDING = {
    "logins": re.compile(r"([\w-]+\.)?(sasl\..+|connections\.max\.reauth\.ms)"),
    "TLS": re.compile(r"ssl\..+"),
}
BETWEEN = "sasl.mechanism.inter.broker.protocol"
CLEAR = ("PLAINTEXT", "SASL_PLAINTEXT")


def listeners(model: Model) -> Iterator[Problem]:
    """There are listeners, each with a name and a port of its own, as Kafka compares them."""
    for broker in model.brokers:
        if not broker.listeners and isinstance(broker.inputs.values.get("kafka_listeners"), list):
            wrong = "no listener, and Kafka would not start"
            advice = "leave it out for the usual two, or name one at least"
            yield broker.problem("kafka_listeners", "LISTENERS_NONE", None, wrong, advice)
        for number, item in enumerate(broker.listeners):
            if not re.fullmatch(r"[A-Za-z0-9_-]+", str(item.name)):
                wrong = "Kafka parts lists of listeners at commas and colons, and blanks end a name"
                advice = "use letters, figures, _ and - alone, as CLIENT"
                yield broker.problem("kafka_listeners", "LISTENER_NAME", item.name, wrong, advice)
            for other in broker.listeners[:number]:
                yield from _pair(broker, other, item)


def _pair(broker: Broker, one: Listener, other: Listener) -> Iterator[Problem]:
    if one.name != other.name and one.name.lower() == other.name.lower():
        wrong, advice = f"Kafka takes it for {one.name}, and would not start", "give each a name of its own"
        yield broker.problem("kafka_listeners", "LISTENER_CASE", other.name, wrong, advice)
    places = {str(one.address), str(other.address)}
    versions = {ip_address(place).version for place in places if is_address(place)}
    clash = len(places) == 1 or places & set(WILDCARDS)  # said as PORT_CLASH
    if whole(one.port) == whole(other.port) is not None and not clash and versions != {4, 6}:
        wrong = f"{one.name} has it as well, and Kafka wants a port for each listener, whatever the address"
        yield broker.problem(other.variable, "LISTENER_PORT", other.port, wrong, "give it a port of its own")


def mechanisms(model: Model) -> Iterator[Problem]:
    """Mechanisms are a list of such as Kafka has, and what they need is there."""
    for broker in model.brokers:
        for entry in broker.inputs.entries("kafka_listeners"):
            declared, variable = entry.get("sasl_mechanisms"), f"kafka_listeners[{entry.get('name')}].sasl_mechanisms"
            if declared and _no_logins(broker, entry):
                wrong = f"nobody logs in to a listener of protocol {entry['protocol']}"
                advice = "take it out, or set protocol to SASL_SSL"
                yield broker.problem(variable, "MECHANISM_IDLE", None, wrong, advice, warning=True)
        for item in broker.listeners:
            for name in item.mechanisms:
                yield from _mechanism(broker, item, name)


def idle(model: Model) -> Iterator[Problem]:
    """What is said of logins and of TLS is said of a listener that has them."""
    for broker in model.brokers:
        meant = broker.inputs.get("security_profile") != "plaintext"  # else the wiring itself says more than is used
        for entry in broker.inputs.entries("kafka_listeners") if meant and not broker.production else ():
            told = [key for key in TLS_WORDS if entry.get(key) not in (None, "", "none", [], ())]
            for key in told if entry.get("protocol") in CLEAR else ():
                place, wrong = f"kafka_listeners[{entry.get('name')}].{key}", _without(str(entry["protocol"]), "TLS")
                yield broker.problem(place, "LISTENER_IDLE", None, wrong, _have("SSL or SASL_SSL"), warning=True)
        definitions = Definitions.load("kafka", str(broker.inputs.get("kafka_version")))
        for variable, layer in broker.layers:
            for name in (str(name) for name, value in layer.items() if value is not None):
                spec, covered = definitions.spec("broker", name), name in COVERED and all_covered(broker, name)
                if spec and not spec.get("kraft") and not covered:
                    yield from _idle(broker, f"{variable}[{name}]", name, meant)


def _idle(broker: Broker, place: str, name: str, meant: bool) -> Iterator[Problem]:
    """Judge one property of brokers, of a listener of theirs or of all."""
    found = OF_LISTENER.fullmatch(name)
    of, rest = (found[1], found[2]) if found else ("", name)
    kind = next((kind for kind, names in NEEDING.items() if names.fullmatch(rest)), "")
    asked = [item for item in broker.listeners if not of or item.name.lower() == of]
    if name == BETWEEN:
        asked = [item for item in broker.listeners if item.name == str(broker.inter_broker)]
    using = [item for item in asked if (item.encrypted if kind == "TLS" else item.protocol.startswith("SASL"))]
    said = broker.production and all(item.protocol in CLEAR for item in asked)  # as LISTENER_PLAINTEXT
    if kind and asked and not using and not said:
        told, wanted = " and ".join(sorted({item.protocol for item in asked})), "SSL or SASL_SSL"
        advice = _have(wanted if kind == "TLS" else "SASL_SSL")
        warning = not of or not meant
        yield broker.problem(place, "LISTENER_IDLE", None, _without(told, kind), advice, warning=warning)


def _no_logins(broker: Broker, entry: Mapping[str, Any]) -> bool:
    """Tell whether nobody logs in to a listener, and no other rule or word says so."""
    clear = not broker.production and broker.inputs.get("security_profile") != "plaintext"
    return entry.get("protocol") == "SSL" or (entry.get("protocol") == "PLAINTEXT" and clear)


def _without(protocol: str, kind: str) -> str:
    return f"does nothing: a listener of protocol {protocol} has no {kind}"


def _have(protocol: str) -> str:
    return f"take it out, or set protocol of the listener to {protocol}"


def _mechanism(broker: Broker, item: Listener, name: str) -> Iterator[Problem]:
    variable, prefix = f"{item.variable}.sasl_mechanisms", f"listener.name.{item.name.lower()}"
    if name not in MECHANISMS:
        near = next((known for known in MECHANISMS if known.replace("-", "") == name.upper().replace("-", "")), "")
        advice = f"did you mean {near}?" if near else f"one of {', '.join(MECHANISMS)}"
        yield broker.problem(variable, "MECHANISM_UNKNOWN", name, "no mechanism that Kafka has", advice)
        return
    wanted: list[tuple[str, ...]] = (
        [(f"{prefix}.{name.lower()}.sasl.jaas.config",)] if name in ("PLAIN", "GSSAPI", "OAUTHBEARER") else []
    )
    if name == "GSSAPI":
        service = "sasl.kerberos.service.name"
        wanted.append((f"{prefix}.{name.lower()}.{service}", f"{prefix}.{service}", service))
    lacking = [names[0] for names in wanted if not any(broker.config.get(key) for key in names)]
    if lacking:
        wrong = f"it needs {' and '.join(lacking)}, and Kafka would not start"
        elsewhere = _jaas_file(broker)
        yield broker.problem(
            variable, "MECHANISM_SETTINGS", name, wrong, "set what is missing in kafka_config", warning=elsewhere
        )


def _jaas_file(broker: Broker) -> bool:
    """Tell whether a file says what kafka_config does not: Kafka reads it then."""
    return "java.security.auth.login.config" in str(broker.inputs.get("kafka_java_options"))


def among_brokers(model: Model) -> Iterator[Problem]:
    """Brokers log in to one another only where their login is said: the role says none."""
    name = BETWEEN
    for broker in model.brokers:
        for item in broker.listeners:
            if item.name != str(broker.inter_broker) or not item.protocol.startswith("SASL"):
                continue
            mechanism = str(broker.config.get(name) or "")
            key = f"listener.name.{item.name.lower()}.{mechanism.lower()}.sasl.jaas.config"
            if not mechanism or not re.search(r"username\s*=|keyTab\s*=|oauth", str(broker.config.get(key)), re.I):
                other = next((one.name for one in broker.listeners if one.protocol == "SSL"), None)
                if other and not mechanism:
                    wrong = (
                        f"protocol {item.protocol}, in which brokers have no login of their own: they would not start"
                    )
                    name = "kafka_inter_broker_listener"
                    yield broker.problem(
                        name, "BROKERS_LISTENER", item.name, wrong, f"name {other}", warning=_jaas_file(broker)
                    )
                    continue
                wrong = "brokers have no login of their own, and would not start"
                advice = f"use SSL for it, where certificates are the login, or set {name} and the JAAS text with it"
                elsewhere = _jaas_file(broker)
                yield broker.problem(
                    item.variable, "LISTENER_BROKER_LOGIN", item.protocol, wrong, advice, warning=elsewhere
                )


def advertised(model: Model) -> Iterator[Problem]:
    """Clients are told an address, or a name, that leads to the broker from where they are."""
    for broker in model.brokers:
        for entry in broker.inputs.entries("kafka_listeners"):
            told, place = entry.get("advertised_address"), f"kafka_listeners[{entry.get('name')}].advertised_address"
            text = str(told or "")
            if not text:
                continue
            if text.lower().rstrip(".") == "localhost" or (is_address(text) and ip_address(text).is_loopback):
                wrong = "every client would look for the broker on its own host"
                advice = "name the address or the name at which clients reach this broker"
                yield broker.problem(place, "ADVERTISED_LOCAL", told, wrong, advice)
            elif not is_address(text) and not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?", text):
                wrong = "neither an address nor a name"
                advice = "write the name or the address alone; a port of its own stands in advertised_port"
                yield broker.problem(place, "ADVERTISED_INVALID", told, wrong, advice)


def shared(model: Model) -> set[tuple[str, int | None]]:
    """Return the addresses and ports at which clients are told to find several brokers."""
    told = (
        place
        for broker in model.brokers
        for place in {(str(item.advertised_address), whole(item.advertised_port)) for item in broker.listeners}
    )
    counted = Counter((address, port) for address, port in told if address not in (*WILDCARDS, "None"))
    return {place for place, count in counted.items() if count > 1}


def advertised_once(model: Model) -> Iterator[Problem]:
    """Clients are told of each broker where to find it alone: a name for all leads to any of them.

    Kafka refuses it as well (kafka.server.KafkaServer.createBrokerInfo, of all listeners of brokers that are there).
    """
    twice = shared(model)
    for broker in model.brokers:
        for item in broker.listeners:
            if (str(item.advertised_address), whole(item.advertised_port)) in twice:
                place = f"{item.variable}.advertised_address"
                wrong = "told of other brokers as well: who wants a partition of one would come to another, and Kafka "
                wrong += "starts no broker whose address and port another one has"
                advice = "give each broker a name or a port of its own; one for all is for bootstrap.servers of clients"
                yield broker.problem(place, "ADVERTISED_SHARED", item.advertised_address, wrong, advice)


def addresses(model: Model) -> Iterator[Problem]:
    """Addresses lead to this host from everywhere."""
    for machine in model.functional:
        for network in NETWORKS:
            value = str(machine.address(network) or "")
            if is_address(value):
                address = ip_address(value)
                if address.is_loopback or address.is_multicast or address.is_unspecified or address.is_link_local:
                    wrong = "no other host reaches this one there"
                    advice = "name the address of its interface"
                    yield machine.problem(f"{network}_address", "ADDRESS_LOCAL", value, wrong, advice)
