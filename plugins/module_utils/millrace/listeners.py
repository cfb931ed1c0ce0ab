"""What a listener's own options mean where they are not said; no Ansible import. Filters write it, the model check and reloads read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Listener = Mapping[str, Any]


def encrypted(listener: Listener) -> bool:
    """Tell whether it speaks TLS."""
    return listener.get("protocol") in ("SSL", "SASL_SSL")


def client_auth(listener: Listener) -> str:
    """Return ssl.client.auth: who connects to a listener of protocol SSL needs a certificate, to one of SASL_SSL a login."""
    return str(listener.get("client_auth") or ("required" if listener.get("protocol") == "SSL" else "none"))


def mechanisms(listener: Listener) -> list[str]:
    """Return sasl.enabled.mechanisms; none without SASL, or where they are no list (reported with the role's inputs)."""
    if listener.get("protocol") not in ("SASL_PLAINTEXT", "SASL_SSL"):
        return []
    found = listener.get("sasl_mechanisms") or ["SCRAM-SHA-512"]
    return [str(name) for name in found] if isinstance(found, (list, tuple)) else []
