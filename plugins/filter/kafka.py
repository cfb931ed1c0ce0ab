"""What the wiring says of brokers and listeners, as Kafka wants it."""

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
    """Return the properties of a Kafka keystore, of the kind that its name tells; all but PEM have a password."""
    found = {f"{prefix}.type": kind_of(path), f"{prefix}.location": path}
    return found if found[f"{prefix}.type"] == "PEM" else {**found, f"{prefix}.password": password}


def kafka_listener_security(
    listeners: Sequence[Mapping[str, Any]], keystore: str, truststore: str, password: str = ""
) -> dict[str, Any]:
    """Return the properties listener.name.* that protect each listener.

    A listener's own keystore and truststore go before the given ones.
    """
    found: dict[str, Any] = {}
    for listener in listeners:
        prefix, auth = f"listener.name.{listener['name'].lower()}", client_auth(listener)
        if encrypted(listener):
            found |= store(f"{prefix}.ssl.keystore", listener.get("keystore") or keystore, password)
            found[f"{prefix}.ssl.client.auth"] = auth
            if auth != "none":
                found[f"{prefix}.ssl.truststore.type"] = "PEM"
                found[f"{prefix}.ssl.truststore.location"] = listener.get("truststore") or truststore
            if listener.get("principal_mapping_rules"):
                found[f"{prefix}.ssl.principal.mapping.rules"] = listener["principal_mapping_rules"]
        if names := mechanisms(listener):
            found[f"{prefix}.sasl.enabled.mechanisms"] = names
        for name in names:
            if name.startswith("SCRAM-"):
                found[f"{prefix}.{name.lower()}.sasl.jaas.config"] = f"{SCRAM} required;"
    return found


def kafka_tool_properties(
    listeners: Sequence[Mapping[str, Any]], name: str, keystore: str, truststore: str, password: str = ""
) -> dict[str, Any]:
    """Return what a client on the broker's host needs to connect to the listener `name` as the broker itself."""
    listener = next(entry for entry in listeners if entry["name"] == name)
    found: dict[str, Any] = {"bootstrap.servers": f"{listener['address']}:{listener['port']}"}
    if listener["protocol"] == "PLAINTEXT":
        return found
    return found | {
        "security.protocol": listener["protocol"],
        **store("ssl.keystore", listener.get("keystore") or keystore, password),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": listener.get("truststore") or truststore,
    }


def kafka_endpoints(listeners: Sequence[Mapping[str, Any]], advertised: bool = False) -> list[str]:
    """Return NAME://address:port of each listener, as bound or as told to clients."""
    found = [Listener.of(entry) for entry in listeners]
    return [f"{one.name}://{one.advertised if advertised else f'{one.address}:{one.port}'}" for one in found]


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "kafka_listener_security": kafka_listener_security,
            "kafka_tool_properties": kafka_tool_properties,
            "kafka_endpoints": kafka_endpoints,
        }
