"""Wrong inventories: a timer of the admin host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model.mistakes.base import Mistake

WORD = "group all/rebalance_timer"
ADMIN = {"  children:\n    zookeeper:\n": "  children:\n    admin: {hosts: {dc1-zk1: {}}}\n    zookeeper:\n"}
RIGHT: Mapping[str, Any] = {"on_calendar": "Sun 03:00", "rate": "50MB", "at_most": "20GB", "run": True}


def said(**changes: Any) -> dict[str, dict[str, Any]]:
    """Return what all hosts say of the timer, with changes; null takes a word out."""
    return {"all": {"rebalance_timer": {key: one for key, one in {**RIGHT, **changes}.items() if one is not None}}}


MISTAKES: tuple[Mistake, ...] = (
    Mistake("TIMER_NOWHERE", WORD, "put a host there", variables=said()),
    Mistake("TIMER_CALENDAR", f"{WORD}.on_calendar", "as Sun 03:00", ADMIN, said(on_calendar="Sun 25:00")),
    Mistake("TIMER_RATE", f"{WORD}.rate", "as 50MB", ADMIN, said(rate=None)),
    Mistake("TIMER_LIMIT", f"{WORD}.at_most", "as 20GB", ADMIN, said(at_most=None)),
    Mistake(
        "TIMER_LISTENERS",
        "dc1-zk1/kafka_admin_listeners",
        "for all hosts",
        ADMIN,
        {**said(), "kafka": {"kafka_admin_listeners": {"CLIENT": {"bootstrap.servers": "198.18.1.21:9092"}}}},
    ),
)
