"""Plans and writes dynamic settings of brokers: has brokers validate the changes, and waits until they are applied."""

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
    Look,
    Outcome,
    PartlyWritten,
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
"""Seconds within which brokers have to apply a setting."""
SETTLED = 1.0
"""Seconds for which brokers then have to keep running: a broker that gets too little memory stops at once."""
GONE = 2
"""Number of requests in a row without an answer after which a broker counts as stopped."""
ADVICE = "look at: journalctl -u kafka there; null removes a setting"


class FailedAnyway(Unsure):
    """The reason of a change that may have been written, and that counts as failed even if it was written.

    Either a broker stopped after the change, or a broker still has the trial setting.
    """


def plan(
    admin: Admin,
    metadata: Metadata,
    wanted: Wanted,
    allow_data_loss: bool = False,
    warn: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Return the changes of dynamic settings, with the refusals of diff() and of the brokers; writes nothing.

    `warn` is called with each warning. Raises AdminError if a broker does not answer.
    """
    existing = broker_config.found(admin, metadata.brokers)
    for warning in warnings(wanted, existing):
        warn(warning)
    compared = diff(wanted, existing, allow_data_loss)
    accepted = [] if compared.refusals else compared.changes
    rejected = [text for change in accepted for text in validated(admin, metadata, change)]
    return Plan(compared.changes, compared.unchanged, compared.unmanaged, [*compared.refusals, *rejected])


def brokers_of(metadata: Metadata, scope: str) -> list[int]:
    """Return the ids of the brokers to which a scope applies: [1] for '1', all registered brokers for ''."""
    return [int(scope)] if scope else sorted(metadata.brokers)


def validated(admin: Admin, metadata: Metadata, change: Change) -> list[str]:
    """Ask each broker to which a change applies to validate it; return one message for each broker that rejects it.

    All these brokers are asked because a number can suit one broker and not another.
    """
    scope, settings = change.work
    answers = {
        broker: broker_config.write(admin, scope, settings, broker, validate_only=True)
        for broker in brokers_of(metadata, scope)
    }
    return [f"{change.name}: broker {broker} rejects it: {why}" for broker, why in answers.items() if why]


def apply(admin: Admin, metadata: Metadata, changes: Sequence[Change], look: Look) -> Done:
    """Write one change after the other; a change is done when each broker has applied it and keeps running.

    A change for all brokers is tried on one broker first, as a setting of that broker; the trial setting is removed
    afterwards. For changes whose write got no answer, `look` reads from the cluster whether they were made.
    """

    def write(batch: Sequence[Change]) -> dict[str, str]:
        (change,) = batch
        scope, settings = change.work
        first, why = (None, "") if scope else tried_on_one(admin, metadata, settings)
        if why:
            return {change.name: why}
        why = write_and_wait(admin, change, brokers_of(metadata, scope))
        if first and (left := undone(admin, first)):
            kind = FailedAnyway if isinstance(why, Unsure) else PartlyWritten
            why = kind(f"{why or 'all brokers have it'}; {first.name} still has it as a setting of its own: {left}")
        return {change.name: why} if why else {}

    def read_again(unsure: Sequence[Change], why: Outcome) -> Outcome:
        """Return {failed change: reason}; a change with FailedAnyway stays failed even if it was written."""
        failed = {
            name: PartlyWritten(f"was written, but {text}")
            for name, text in why.items()
            if isinstance(text, FailedAnyway)
        }
        return {**failed, **look(unsure, why)}

    return carry_out([([change], write) for change in changes], read_again)


def write_and_wait(admin: Admin, change: Change, brokers: Sequence[int]) -> str:
    """Write a change through the first of `brokers`, and wait until all of `brokers` have applied it.

    Return '' on success, else the reason: a PartlyWritten if the change is written but not all brokers applied it, an
    Unsure if it is unknown whether the change is written, a plain str if it is not written. If the write got no answer,
    the change succeeds if all brokers have applied it.
    """
    scope, settings = change.work
    try:
        why = broker_config.write(admin, scope, settings, brokers[0])
    except AdminError as error:
        admin.leave_behind()
        why = (Unsure if error.unsure else str)(error)
    if why and not isinstance(why, Unsure):
        return why
    missing, all_answer = wait_until_applied(admin, change, brokers)
    if not missing:
        return ""
    if why:
        return Unsure(why) if all_answer else FailedAnyway(f"{why}; {missing}; {ADVICE}")
    return PartlyWritten(f"was written, but {missing}; {ADVICE}")


def tried_on_one(admin: Admin, metadata: Metadata, settings: Mapping[str, str | None]) -> tuple[Change | None, str]:
    """Try `settings`, which all brokers are to get, on one broker first, as settings of that broker.

    Return (the trial change, which the caller has to undo, '') or (None, why the trial failed). Return (None, '') if
    there is no trial: the cluster has one broker, settings are only removed, or each broker overrides one of the
    settings already. The controller is chosen only if no other broker can be. Raises AdminError if a broker does not
    answer before the trial.
    """
    sets = {key: value for key, value in settings.items() if value is not None}
    candidates = sorted(metadata.brokers, key=lambda broker: (broker == metadata.controller, broker))
    for broker in candidates if sets and len(candidates) > 1 else ():
        if not sets.keys() & broker_config.describe(admin, broker)[0].keys():
            break
    else:
        return None, ""
    change = Change(KIND, scope_name(str(broker)), "update", work=(str(broker), sets))
    why = write_and_wait(admin, change, [broker])
    if not why:
        return change, ""
    left = undone(admin, change) if isinstance(why, Unsure | PartlyWritten) else ""
    sure = not isinstance(why, Unsure)
    still = f"; it {'still has' if sure else 'may have'} it as a setting of its own: {left}" if left else ""
    answer = why if sure else f"it is unknown whether the broker has it ({why})"
    text = f"was tried on {change.name} first: {answer}; no other broker was changed{still}"
    return None, PartlyWritten(text) if left else text


def undone(admin: Admin, change: Change) -> str:
    """Remove the settings that `change`, a trial, set on one broker; return '', or why the broker still has them."""
    scope, settings = change.work
    removal = Change(KIND, change.name, "update", work=(scope, dict.fromkeys(settings)))
    why = write_and_wait(admin, removal, [int(scope)])
    return f"{why}; remove {', '.join(sorted(settings))} of {change.name} with null when it answers" if why else ""


def wait_until_applied(admin: Admin, change: Change, brokers: Sequence[int]) -> tuple[str, bool]:
    """Wait up to SECONDS seconds until brokers have applied a change, and then keep running for SETTLED seconds.

    Return ('', True) on success, otherwise (what is missing, whether all brokers answer). If a broker leaves GONE
    requests in a row unanswered, the function returns at once: the change has stopped the broker, systemd restarts it,
    and it starts with the change.
    """
    deadline, settled = waits.now() + SECONDS, 0.0
    gone: Counter[int] = Counter()
    while True:
        missing, silent = list[str](), list[str]()
        for broker in brokers:
            try:
                missing += not_applied(admin, change, broker)
                gone[broker] = 0
            except Unanswered as error:
                silent.append(f"broker {broker} does not answer ({error})")
            except AdminError as error:
                gone[broker] += 1
                silent.append(f"broker {broker} no longer answers ({error})")
        settled = 0.0 if missing or silent else settled or waits.now()
        if settled and waits.now() >= settled + SETTLED:
            return "", True
        if waits.now() > deadline or GONE in gone.values():
            return "; ".join([*missing, *silent]) or "brokers came and went", bool(missing and not silent)
        waits.rest(0.5)


def not_applied(admin: Admin, change: Change, broker: int) -> list[str]:
    """Return [] if a broker has applied a change, else a list with one sentence that names the settings still missing.

    Raises AdminError if the broker does not answer.
    """
    scope, settings = change.work
    own, everywhere, _ = broker_config.describe(admin, broker)
    waiting = differing(settings, own if scope else everywhere)
    return [f"broker {broker} has not applied {', '.join(waiting)}"] if waiting else []
