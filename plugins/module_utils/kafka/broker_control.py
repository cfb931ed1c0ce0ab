"""Settings of running brokers read, judged by each broker, written, and seen: between what is pure and the facade."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import Wanted, diff, differing
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Done, Plan, carry_out
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import broker_config
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    Admin,
    AdminError,
    Metadata,
    Unanswered,
)

SECONDS = 20.0
"""Until brokers have to have taken a setting."""
SETTLED = 1.0
"""Seconds for which they then have to go on: one that gets more memory than there is ends at once."""
GONE = 2
"""Questions in a row that a broker misses when it ended."""


def plan(admin: Admin, metadata: Metadata, wanted: Wanted) -> Plan:
    """Return what is to be done, with what brokers refuse of it; nothing is written. Raises AdminError."""
    found = diff(wanted, broker_config.found(admin, metadata.brokers))
    said = [] if found.refusals else [text for change in found.changes for text in judged(admin, metadata, change)]
    return Plan(found.changes, found.unchanged, found.unmanaged, [*found.refusals, *said])


def concerned(metadata: Metadata, scope: str) -> list[int]:
    """Return the brokers that a scope is about."""
    return [int(scope)] if scope else sorted(metadata.brokers)


def judged(admin: Admin, metadata: Metadata, change: Change) -> list[str]:
    """Return the refusals of each broker that a change is about: a number can fit the one, and not the other."""
    scope, settings = change.work
    answers = {
        broker: broker_config.write(admin, scope, settings, broker, validate_only=True)
        for broker in concerned(metadata, scope)
    }
    return [f"{change.name}: broker {broker} refuses: {why}" for broker, why in answers.items() if why]


def apply(admin: Admin, metadata: Metadata, changes: Sequence[Change]) -> Done:
    """Write one scope after the other; it is done when each broker has taken it and goes on."""

    def write(batch: Sequence[Change]) -> dict[str, str]:
        (change,) = batch
        scope, settings = change.work
        brokers = concerned(metadata, scope)
        why = broker_config.write(admin, scope, settings, brokers[0]) or taken(admin, change, brokers)
        return {change.name: why} if why else {}

    return carry_out([([change], write) for change in changes])


def taken(admin: Admin, change: Change, brokers: Sequence[int]) -> str:
    """Wait until brokers have taken a change, and go on with it; return why not, '' where they have.

    One that misses two questions in a row counts as ended by it: systemd starts it anew, and then it has the change.
    """
    deadline, tick, settled = time.monotonic() + SECONDS, threading.Event(), 0.0
    gone: Counter[int] = Counter()
    advice = "look at: journalctl -u kafka there; null takes a setting back"
    while True:
        lacking = []
        for broker in brokers:
            try:
                lacking += lacks(admin, change, broker)
                gone[broker] = 0
            except Unanswered as error:
                lacking.append(f"broker {broker} gives no answer ({error})")
            except AdminError as error:
                gone[broker] += 1
                lacking.append(f"broker {broker} no longer answers ({error})")
        settled = 0.0 if lacking else settled or time.monotonic()
        if settled and time.monotonic() >= settled + SETTLED:
            return ""
        if time.monotonic() > deadline or GONE in gone.values():
            return f"was written, and {'; '.join(lacking) or 'brokers came and went'}; {advice}"
        tick.wait(0.5)


def lacks(admin: Admin, change: Change, broker: int) -> list[str]:
    """Return what a broker has not taken of a change, in one text. Raises AdminError."""
    scope, settings = change.work
    own, everywhere, _ = broker_config.describe(admin, broker)
    waiting = differing(settings, own if scope else everywhere)
    return [f"broker {broker} has not taken {', '.join(waiting)}"] if waiting else []
