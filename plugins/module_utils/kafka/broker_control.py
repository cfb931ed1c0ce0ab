"""Settings of running brokers read, judged by each broker, written, and seen: between what is pure and the facade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import (
    KIND,
    Wanted,
    diff,
    differing,
    scope_name,
    warnings,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import (
    Change,
    Done,
    Half,
    Look,
    Outcome,
    Plan,
    Unsure,
    carry_out,
)
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
ADVICE = "look at: journalctl -u kafka there; null takes a setting back"


class Marred(Unsure):
    """Why a change is a failure whether it was made or not: a broker ended, or has it of its own."""


def plan(
    admin: Admin,
    metadata: Metadata,
    wanted: Wanted,
    allow_data_loss: bool = False,
    warn: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Return what is to be done, with what brokers refuse of it; nothing is written. Raises AdminError."""
    there = broker_config.found(admin, metadata.brokers)
    for words in warnings(wanted, there):
        warn(words)
    found = diff(wanted, there, allow_data_loss)
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


def apply(admin: Admin, metadata: Metadata, changes: Sequence[Change], look: Look) -> Done:
    """Write one scope after the other; it is done when each broker has taken it and goes on.

    What is for all brokers, one takes first.
    """

    def write(batch: Sequence[Change]) -> dict[str, str]:
        (change,) = batch
        scope, settings = change.work
        first, why = (None, "") if scope else tried_on_one(admin, metadata, settings)
        if why:
            return {change.name: why}
        why = told(admin, change, concerned(metadata, scope))
        if first and (left := taken_back(admin, first)):
            where = "as it was before" if why else "as all"
            kind = Marred if isinstance(why, Unsure) else Half
            why = kind(f"{why or 'all brokers have it'}; {first.name} still has it of its own, and not {where}: {left}")
        return {change.name: why} if why else {}

    def seen(again: Sequence[Change], why: Outcome) -> Outcome:
        marred = {name: Half(f"was written, and {text}") for name, text in why.items() if isinstance(text, Marred)}
        return {**marred, **look(again, why)}

    return carry_out([([change], write) for change in changes], seen)


def told(admin: Admin, change: Change, brokers: Sequence[int]) -> str:
    """Have the first of brokers write a change, and see that all take it; return why not, '' where they have.

    A write whose answer is lost is one where all go on with it.
    """
    scope, settings = change.work
    try:
        why = broker_config.write(admin, scope, settings, brokers[0])
    except AdminError as error:
        admin.leave_behind()
        why = (Unsure if error.unsure else str)(error)
    if why and not isinstance(why, Unsure):
        return why
    lacking, there = waited(admin, change, brokers)
    if not lacking:
        return ""
    if why:
        return Unsure(why) if there else Marred(f"{why}; {lacking}; {ADVICE}")
    return Half(f"was written, and {lacking}; {ADVICE}")


def tried_on_one(admin: Admin, metadata: Metadata, settings: Mapping[str, str | None]) -> tuple[Change | None, str]:
    """Have one broker take what all are to get, as its own; return that change, and why the others do not get it.

    One that has none of them of its own, and is not the controller where another is. What is taken back cannot be tried
    so. Raises AdminError.
    """
    sets = {key: value for key, value in settings.items() if value is not None}
    there = sorted(metadata.brokers, key=lambda broker: (broker == metadata.controller, broker))
    for broker in there if sets and len(there) > 1 else ():
        if not sets.keys() & broker_config.describe(admin, broker)[0].keys():
            break
    else:
        return None, ""
    change = Change(KIND, scope_name(str(broker)), "update", work=(str(broker), sets))
    why = told(admin, change, [broker])
    if not why:
        return change, ""
    left = taken_back(admin, change) if isinstance(why, Unsure | Half) else ""
    sure = not isinstance(why, Unsure)
    still = f"; it {'still has' if sure else 'may have'} it of its own: {left}" if left else ""
    answer = why if sure else f"nobody knows whether it did ({why})"
    text = f"{change.name} was to take it before all others, and {answer}; no other broker was told{still}"
    return None, Half(text) if left else text


def taken_back(admin: Admin, change: Change) -> str:
    """Take from a broker what it was told as its own; return why it still has it, '' where it has not."""
    scope, settings = change.work
    gone = Change(KIND, change.name, "update", work=(scope, dict.fromkeys(settings)))
    why = told(admin, gone, [int(scope)])
    return f"{why}; take {', '.join(sorted(settings))} of {change.name} back with null when it answers" if why else ""


def waited(admin: Admin, change: Change, brokers: Sequence[int]) -> tuple[str, bool]:
    """Wait until brokers have taken a change, and go on with it; return what they lack, and whether all are there.

    One that misses two questions in a row counts as ended by it: systemd starts it anew, and then it has the change.
    """
    deadline, settled = waits.now() + SECONDS, 0.0
    gone: Counter[int] = Counter()
    while True:
        lacking, silent = list[str](), list[str]()
        for broker in brokers:
            try:
                lacking += lacks(admin, change, broker)
                gone[broker] = 0
            except Unanswered as error:
                silent.append(f"broker {broker} gives no answer ({error})")
            except AdminError as error:
                gone[broker] += 1
                silent.append(f"broker {broker} no longer answers ({error})")
        settled = 0.0 if lacking or silent else settled or waits.now()
        if settled and waits.now() >= settled + SETTLED:
            return "", True
        if waits.now() > deadline or GONE in gone.values():
            return "; ".join([*lacking, *silent]) or "brokers came and went", bool(lacking and not silent)
        waits.rest(0.5)


def lacks(admin: Admin, change: Change, broker: int) -> list[str]:
    """Return what a broker has not taken of a change, in one text. Raises AdminError."""
    scope, settings = change.work
    own, everywhere, _ = broker_config.describe(admin, broker)
    waiting = differing(settings, own if scope else everywhere)
    return [f"broker {broker} has not taken {', '.join(waiting)}"] if waiting else []
