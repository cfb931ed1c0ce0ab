"""What a listener's own options mean where they are not said; no Ansible import.

Filters write it, the model check and reloads read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def encrypted(listener: Mapping[str, Any]) -> bool:
    """Tell whether it speaks TLS."""
    return listener.get("protocol") in ("SSL", "SASL_SSL")


def client_auth(listener: Mapping[str, Any]) -> str:
    """Return ssl.client.auth: who connects to one of protocol SSL needs a certificate, to one of SASL_SSL a login."""
    return str(listener.get("client_auth") or ("required" if listener.get("protocol") == "SSL" else "none"))


def mechanisms(listener: Mapping[str, Any]) -> list[str]:
    """Return sasl.enabled.mechanisms; none without SASL, or where they are no list (reported with the inputs)."""
    if listener.get("protocol") not in ("SASL_PLAINTEXT", "SASL_SSL"):
        return []
    found = listener.get("sasl_mechanisms") or ["SCRAM-SHA-512"]
    return [str(name) for name in found] if isinstance(found, (list, tuple)) else []


@dataclass(frozen=True)
class Listener:
    """An entry of kafka_listeners, with what is meant where it says nothing."""

    name: str
    address: Any
    port: Any
    """As declared: a number, unless that is a mistake."""
    advertised_address: Any
    """What clients are told: the address that is bound, unless another is declared."""
    advertised_port: Any
    protocol: str
    client_auth: str
    mechanisms: tuple[str, ...]
    keystore: str
    """Its own, or ''."""
    truststore: str
    rules: tuple[str, ...]
    """ssl.principal.mapping.rules."""
    protocol_said: bool = True

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Listener:
        """Return the listener of an entry; what is missing is None or '' (reported with the role's inputs)."""
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
        """Its place in the inventory."""
        return f"kafka_listeners[{self.name}]"

    @property
    def advertised(self) -> str:
        """What clients are told, as address:port."""
        return f"{self.advertised_address}:{self.advertised_port}"

    @property
    def encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def asks_for_certificates(self) -> bool:
        """Whether it asks its clients for certificates."""
        return self.client_auth != "none"
