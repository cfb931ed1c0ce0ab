"""Brokers are told what their files say: between what is pure and the facade."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import scope_name
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_control import told
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import (
    Change,
    Done,
    Half,
    Look,
    Plan,
    Unsure,
    carry_out,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import broker_config
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.live_config import (
    BY_HAND,
    KIND,
    Owed,
    Telling,
    telling,
)

RESTART = "its file has it, and it takes it from there when it is restarted (restart.yml -l <its host>)"
LATER = "is not told what its file says; it takes it from there when it starts, or the next run tells it"


def plan(
    admin: Admin,
    metadata: Metadata,
    owed: Sequence[Owed],
    warn: Callable[[str], None] = lambda _: None,
) -> tuple[Plan, Mapping[str, Mapping[str, Sequence[str]]]]:
    """Return what brokers are to be told, and by id of each that is settled so what is ours when that is done.

    One that does not answer is warned of, and left; so is what somebody else has set. Raises AdminError.
    """
    changes, unchanged, refusals = [], [], []
    ours: dict[str, Mapping[str, Sequence[str]]] = {}
    for one in owed:
        name, found = scope_name(str(one.broker)), asked(admin, metadata, one)
        if isinstance(found, str):
            warn(f"{name} {LATER}: {found}")
            continue
        for text in found.left:
            warn(f"{text}; {BY_HAND}")
        if found.settled:
            ours[str(one.broker)] = found.told
        if not found.waves:
            unchanged.append(name)
            continue
        changes.append(Change(KIND, name, "update", tuple(found.before), tuple(found.after), (one.broker, found.waves)))
        # Of one that is restarted before it is told, what it says now of what it would take is beside the point.
        if not one.anew and (
            why := broker_config.write(admin, str(one.broker), found.waves[0], one.broker, validate_only=True)
        ):
            refusals.append(f"{name}: it refuses: {why}; {RESTART}")
    return Plan(changes, unchanged, (), refusals), ours


def asked(admin: Admin, metadata: Metadata, one: Owed) -> Telling | str:
    """Return what a broker is to be told, or why it cannot be asked. Raises AdminError where it refuses to answer."""
    if one.broker not in metadata.brokers:
        return "it is not registered"
    try:
        return telling(one, broker_config.running(admin, one.broker))
    except AdminError as error:
        if not error.unsure:
            raise
        return str(error)


def apply(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Tell one broker after the other; each has to have taken it, and to go on, before the next is told."""

    def write(batch: Sequence[Change]) -> dict[str, str]:
        (change,) = batch
        broker, waves = change.work
        for number, wave in enumerate(waves):
            step = Change(KIND, change.name, "update", work=(str(broker), wave))
            if why := told(admin, step, [broker]):
                mid = number and not isinstance(why, Unsure | Half)
                return {change.name: Half(f"a part was written, and then: {why}") if mid else why}
        return {}

    return carry_out([([change], write) for change in changes], look)
