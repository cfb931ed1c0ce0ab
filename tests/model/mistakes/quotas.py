"""Wrong inventories: quotas, and kafka_prune."""

from __future__ import annotations

from typing import Any

from model.mistakes.access import users
from model.mistakes.base import ALL, Mistake

LAB = f"{ALL}/kafka_users[lab].quotas"
PRUNE = f"{ALL}/kafka_prune"


def quotas(*entries: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return quotas."""
    return {"all": {"kafka_quotas": [*entries]}}


def prune(**scopes: Any) -> dict[str, dict[str, Any]]:
    """Return a kafka_prune of all hosts."""
    return {"all": {"kafka_prune": scopes}}


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "QUOTA_VALUE",
        f"{LAB}.producer_byte_rate",
        "for example 20MiB",
        variables=users(quotas={"producer_byte_rate": 0}),
    ),
    Mistake("QUOTA_EMPTY", LAB, "producer_byte_rate", variables=users(quotas={})),
    Mistake(
        "QUOTA_ENTITY",
        f"{ALL}/kafka_quotas[]",
        "set one of the two to a name",
        variables=quotas({"request_percentage": 50}),
    ),
    Mistake(
        "QUOTA_DUPLICATE",
        f"{ALL}/kafka_quotas[<default>]",
        "keep one",
        variables=quotas(
            {"user": "<default>", "request_percentage": 50}, {"user": "<default>", "consumer_byte_rate": "9MiB"}
        ),
    ),
    Mistake(
        "QUOTA_UNKNOWN_USER",
        f"{ALL}/kafka_quotas[order].user",
        "declare the user",
        variables=quotas({"user": "order", "request_percentage": 50}),
    ),
    Mistake("PRUNE_SCOPE", f"{PRUNE}.topics", "for example orders-*", variables=prune(topics=["*"], max_deletes=20)),
    Mistake("PRUNE_LIMIT", f"{PRUNE}.max_deletes", "for example 20", variables=prune(topics=["orders-*"])),
    Mistake("PRUNE_PROTECTED", f"{PRUNE}.acls", "longer prefix", variables=prune(acls=["User:ad*"], max_deletes=20)),
)
