"""The options of a listener, with their defaults.

Filters write them; the model and reloads read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def encrypted(listener: Mapping[str, Any]) -> bool:
    """Tell whether a listener uses TLS."""
    return listener.get("protocol") in ("SSL", "SASL_SSL")


def client_auth(listener: Mapping[str, Any]) -> str:
    """Return ssl.client.auth: by default, SSL requires a certificate of clients, SASL_SSL does not."""
    return str(listener.get("client_auth") or ("required" if listener.get("protocol") == "SSL" else "none"))


def mechanisms(listener: Mapping[str, Any]) -> list[str]:
    """Return sasl.enabled.mechanisms; [] without SASL, or if they are no list (reported with the inputs)."""
    if listener.get("protocol") not in ("SASL_PLAINTEXT", "SASL_SSL"):
        return []
    names = listener.get("sasl_mechanisms") or ["SCRAM-SHA-512"]
    return [str(name) for name in names] if isinstance(names, (list, tuple)) else []


@dataclass(frozen=True)
class Listener:
    """An entry of kafka_listeners, with defaults for what it does not set."""

    name: str
    address: Any
    port: Any
    """As declared: a number unless the declaration is a mistake."""
    advertised_address: Any
    """The address that clients get: by default the one that is bound."""
    advertised_port: Any
    protocol: str
    client_auth: str
    mechanisms: tuple[str, ...]
    keystore: str
    """The listener's own keystore, or ''."""
    truststore: str
    rules: tuple[str, ...]
    """ssl.principal.mapping.rules."""
    protocol_declared: bool = True

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Listener:
        """Return the listener of an entry; missing values are None or '' (reported with the role's inputs)."""
        rules = entry.get("principal_mapping_rules")
        return cls(
            str(entry.get("name")),
            entry.get("address"),
            entry.get("port"),
            entry.get("advertised_address") or entry.get("address"),
            entry.get("advertised_port") or entry.get("port"),
            str(entry.get("protocol") or "PLAINTEXT"),
            client_auth(entry),
            tuple(mechanisms(entry)),
            str(entry.get("keystore") or ""),
            str(entry.get("truststore") or ""),
            tuple(map(str, rules)) if isinstance(rules, (list, tuple)) else (),
            bool(entry.get("protocol")),
        )

    @property
    def variable(self) -> str:
        """The entry's place in the inventory."""
        return f"kafka_listeners[{self.name}]"

    @property
    def advertised(self) -> str:
        """The address:port that clients get."""
        return f"{self.advertised_address}:{self.advertised_port}"

    @property
    def encrypted(self) -> bool:
        """Whether the listener uses TLS."""
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def asks_for_certificates(self) -> bool:
        """Whether the listener requests certificates of its clients."""
        return self.client_auth != "none"
