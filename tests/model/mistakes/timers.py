"""Wrong inventories: the timer of the admin host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model.mistakes.base import Mistake

WORD = "group all/rebalance_timer"
ADMIN = {"  children:\n    zookeeper:\n": "  children:\n    admin: {hosts: {dc1-zk1: {}}}\n    zookeeper:\n"}
RIGHT: Mapping[str, Any] = {"on_calendar": "Sun 03:00", "rate": "50MB", "at_most": "20GB", "run": True}


def timer(**changes: Any) -> dict[str, dict[str, Any]]:
    """Return the timer of all hosts with changes; None removes a key."""
    return {
        "all": {"rebalance_timer": {key: value for key, value in {**RIGHT, **changes}.items() if value is not None}}
    }


MISTAKES: tuple[Mistake, ...] = (
    Mistake("TIMER_NOWHERE", WORD, "into the group", variables=timer()),
    Mistake("TIMER_CALENDAR", f"{WORD}.on_calendar", "such as Sun 03:00", ADMIN, timer(on_calendar="Sun 25:00")),
    Mistake("TIMER_RATE", f"{WORD}.rate", "such as 50MB", ADMIN, timer(rate=None)),
    Mistake("TIMER_LIMIT", f"{WORD}.at_most", "such as 20GB", ADMIN, timer(at_most=None)),
    Mistake(
        "TIMER_LISTENERS",
        "dc1-zk1/kafka_admin_listeners",
        "in group all",
        ADMIN,
        {**timer(), "kafka": {"kafka_admin_listeners": {"CLIENT": {"bootstrap.servers": "198.18.1.21:9092"}}}},
    ),
)
