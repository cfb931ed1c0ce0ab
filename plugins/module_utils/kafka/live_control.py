"""Sends dynamic settings in the files of brokers to the running brokers, one broker after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_config import scope_name
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_control import write_and_wait
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import (
    Change,
    Done,
    Look,
    PartlyWritten,
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
    Update,
    update_of,
)

RESTART = "its file has the value, restart the broker to apply it (restart.yml -l HOST)"
LATER = "did not receive the settings of its file; it reads them when it starts, or gets them in the next run"


def plan(
    admin: Admin,
    metadata: Metadata,
    owed: Sequence[Owed],
    warn: Callable[[str], None] = lambda _: None,
) -> tuple[Plan, Mapping[str, Mapping[str, Sequence[str]]]]:
    """Return (plan, {broker id: {setting: values that this project has set once the plan is written}}).

    The second value has only brokers that then use the values of their files, unless other programs override these.
    `owed` has the settings in the files. `warn` is called for brokers that do not answer, and for settings of other
    programs. Raises AdminError if a broker rejects a request.
    """
    changes, unchanged, refusals = [], [], []
    ours: dict[str, Mapping[str, Sequence[str]]] = {}
    for one in owed:
        name, update = scope_name(str(one.broker)), read(admin, metadata, one)
        if isinstance(update, str):
            warn(f"{name} {LATER}: {update}")
            continue
        for text in update.left:
            warn(f"{text}; {BY_HAND}")
        if update.settled:
            ours[str(one.broker)] = update.told
        if not update.waves:
            unchanged.append(name)
            continue
        work = (one.broker, update.waves)
        changes.append(Change(KIND, name, "update", tuple(update.before), tuple(update.after), work))
        # A broker that is restarted before it receives the settings would validate them against its old values.
        if not one.anew and (
            why := broker_config.write(admin, str(one.broker), update.waves[0], one.broker, validate_only=True)
        ):
            refusals.append(f"{name}: rejects it: {why}; {RESTART}")
    return Plan(changes, unchanged, (), refusals), ours


def read(admin: Admin, metadata: Metadata, one: Owed) -> Update | str:
    """Return the changes of one broker; a text with the reason if the broker does not answer.

    Raises AdminError if the broker rejects the request.
    """
    if one.broker not in metadata.brokers:
        return "it is not registered"
    try:
        return update_of(one, broker_config.running(admin, one.broker))
    except AdminError as error:
        if not error.unsure:
            raise
        return str(error)


def apply(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Write to one broker after the other; each broker has to apply its settings and keep running before the next.

    For changes whose write got no answer, `look` reads from the cluster whether they were made.
    """

    def write(batch: Sequence[Change]) -> dict[str, str]:
        (change,) = batch
        broker, waves = change.work
        for number, wave in enumerate(waves):
            step = Change(KIND, change.name, "update", work=(str(broker), wave))
            if why := write_and_wait(admin, step, [broker]):
                mid = number and not isinstance(why, Unsure | PartlyWritten)
                return {change.name: PartlyWritten(f"a part was written, then: {why}") if mid else why}
        return {}

    return carry_out([([change], write) for change in changes], look)
