"""Filters that return Kafka properties: for the security of listeners, and for tools on a broker's host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import (
    SCRAM,
    Listener,
    client_auth,
    encrypted,
    mechanisms,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.store_kinds import kind_of


def store(prefix: str, path: str, password: str) -> dict[str, Any]:
    """Return the properties `<prefix>.type`, `.location` and `.password` of a keystore or truststore.

    `prefix` is, for example, ssl.keystore. The file extension of `path` determines the type; a PEM file has no
    password.
    """
    properties = {f"{prefix}.type": kind_of(path), f"{prefix}.location": path}
    return properties if properties[f"{prefix}.type"] == "PEM" else {**properties, f"{prefix}.password": password}


def kafka_listener_security(
    listeners: Sequence[Mapping[str, Any]], keystore: str, truststore: str, password: str = ""
) -> dict[str, Any]:
    """Return the broker properties listener.name.* that secure the listeners: TLS stores and SASL mechanisms.

    `listeners` are entries of kafka_listeners. `keystore` and `truststore` are the paths for listeners that do not
    declare their own; `password` opens the keystores.
    """
    properties: dict[str, Any] = {}
    for listener in listeners:
        prefix, auth = f"listener.name.{listener['name'].lower()}", client_auth(listener)
        if encrypted(listener):
            properties |= store(f"{prefix}.ssl.keystore", listener.get("keystore") or keystore, password)
            properties[f"{prefix}.ssl.client.auth"] = auth
            if auth != "none":
                properties[f"{prefix}.ssl.truststore.type"] = "PEM"
                properties[f"{prefix}.ssl.truststore.location"] = listener.get("truststore") or truststore
            if listener.get("principal_mapping_rules"):
                properties[f"{prefix}.ssl.principal.mapping.rules"] = listener["principal_mapping_rules"]
        if names := mechanisms(listener):
            properties[f"{prefix}.sasl.enabled.mechanisms"] = names
        for name in names:
            if name.startswith("SCRAM-"):
                properties[f"{prefix}.{name.lower()}.sasl.jaas.config"] = f"{SCRAM} required;"
    return properties


def kafka_tool_properties(
    listeners: Sequence[Mapping[str, Any]], name: str, keystore: str, truststore: str, password: str = ""
) -> dict[str, Any]:
    """Return the properties with which a tool on a broker's host connects to this broker as the broker itself.

    The tool connects to the listener `name` of `listeners`. It uses the keystore and truststore that the listener
    declares, else `keystore` and `truststore`; `password` opens the keystore.
    """
    listener = next(entry for entry in listeners if entry["name"] == name)
    servers: dict[str, Any] = {"bootstrap.servers": f"{listener['address']}:{listener['port']}"}
    if listener["protocol"] == "PLAINTEXT":
        return servers
    return servers | {
        "security.protocol": listener["protocol"],
        **store("ssl.keystore", listener.get("keystore") or keystore, password),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": listener.get("truststore") or truststore,
    }


def kafka_endpoints(listeners: Sequence[Mapping[str, Any]], advertised: bool = False) -> list[str]:
    """Return `NAME://address:port` of each listener, with the address to which the broker binds.

    With `advertised`, the result contains the address that the broker advertises to clients instead. `listeners` are
    entries of kafka_listeners.
    """
    return [
        f"{listener.name}://{listener.advertised if advertised else f'{listener.address}:{listener.port}'}"
        for listener in map(Listener.of, listeners)
    ]


def declared_log_level(levels: Mapping[str, Any], logger: str) -> str | None:
    """Return the declared level of a logger; None if it is not declared, so that it has that of the logger above it.

    `levels` is {logger: level}, with the logger `root`; null is no entry. For a level that is off, this is FATAL, the
    highest one that running brokers accept.
    """
    level = levels.get(logger)
    if level is None:
        return "INFO" if logger == "root" else None
    return "FATAL" if not level or str(level).upper() == "OFF" else str(level).upper()


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "kafka_listener_security": kafka_listener_security,
            "kafka_tool_properties": kafka_tool_properties,
            "kafka_endpoints": kafka_endpoints,
            "declared_log_level": declared_log_level,
        }
