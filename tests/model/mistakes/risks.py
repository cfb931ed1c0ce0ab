"""Wrong inventories: risks that are accepted."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, kafka

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "RISK_UNKNOWN",
        f"{BROKERS}/accept_risks",
        "AUTHORITY_KEYS, AUTHORIZER_NONE",
        variables=kafka(accept_risks=["JMX"]),
    ),
    Mistake(
        "RISK_IDLE",
        f"{BROKERS}/accept_risks",
        "remove the code",
        variables=kafka(accept_risks=["JMX_OPEN"]),
    ),
)
