"""Reads the options of a Kafka listener from an entry of the variable kafka_listeners, with their defaults.

Filters write these options into configuration files; the model and the reload of certificates use the options too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def encrypted(listener: Mapping[str, Any]) -> bool:
    """Tell whether this entry of kafka_listeners uses TLS."""
    return listener.get("protocol") in ("SSL", "SASL_SSL")


def client_auth(listener: Mapping[str, Any]) -> str:
    """Return the ssl.client.auth of a listener (an entry of kafka_listeners).

    It is the declared `client_auth`, else `required` for the protocol SSL and `none` for other protocols.
    """
    return str(listener.get("client_auth") or ("required" if listener.get("protocol") == "SSL" else "none"))


def mechanisms(listener: Mapping[str, Any]) -> list[str]:
    """Return the SASL mechanisms of a listener (an entry of kafka_listeners), by default [SCRAM-SHA-512].

    Returns [] if the listener does not use SASL, or if the declared value is not a list: the validation of inputs
    reports that mistake.
    """
    if listener.get("protocol") not in ("SASL_PLAINTEXT", "SASL_SSL"):
        return []
    names = listener.get("sasl_mechanisms") or ["SCRAM-SHA-512"]
    return [str(name) for name in names] if isinstance(names, (list, tuple)) else []


def mapping_rules(rules: Any) -> tuple[str, ...]:
    """Return principal mapping rules as a tuple; `rules` is a list, or the text of the property.

    A text may contain several rules. Only a comma that is followed by a new rule (RULE: or DEFAULT) separates rules, as
    in Kafka.
    """
    texts = rules if isinstance(rules, (list, tuple)) else [rules]
    return tuple(rule.strip() for text in texts for rule in re.split(r",\s*(?=RULE:|DEFAULT)", str(text)))


@dataclass(frozen=True)
class Listener:
    """One entry of the variable kafka_listeners, with defaults for the keys that the entry does not set."""

    name: str
    address: Any
    port: Any
    """As declared: a number unless the declaration is a mistake."""
    advertised_address: Any
    """The address that clients get; by default the address to which the broker binds."""
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
        """Return the Listener for one entry of kafka_listeners, with defaults for keys that the entry does not set.

        Without the keys `address` or `port`, the attributes are None: the validation of inputs reports missing keys.
        """
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
            mapping_rules(rules) if isinstance(rules, (list, tuple)) else (),
            bool(entry.get("protocol")),
        )

    @property
    def variable(self) -> str:
        """The listener's place in the inventory, for messages, such as `kafka_listeners[CLIENT]`."""
        return f"kafka_listeners[{self.name}]"

    @property
    def advertised(self) -> str:
        """The `address:port` that the broker advertises to clients."""
        return f"{self.advertised_address}:{self.advertised_port}"

    @property
    def encrypted(self) -> bool:
        """Whether the listener uses TLS."""
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def asks_for_certificates(self) -> bool:
        """Whether the listener requests or requires certificates from its clients."""
        return self.client_auth != "none"
