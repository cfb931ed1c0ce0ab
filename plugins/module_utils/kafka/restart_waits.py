"""The waits of a restart: until brokers may stop, and until the cluster is as good as before.

How long, says kafka_restart_timeout (groups/kafka.yml). No Ansible import.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Block, Snapshot, uncontrolled
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate_facts import UntoldError
from ansible_collections.millrace.kafka.plugins.module_utils.waits import Lacking, Look, Patience, Verdict, watch

# Lacking, of a cluster: `brokers`, `offline`, `under_replicated` (each replica, as `topic-0 without 3`).
WITHOUT = " without "
JUDGE = 2.0
"""Seconds between two looks at all that the gate is told, at most."""
CONFIRM = 0.5
"""Seconds between two questions to each broker whether they are back, at most."""
SAME = 30.0
"""Seconds for which the same has to lack before anything is stopped in a cluster that is not whole."""


def lacking(state: State, expected: Iterable[int], own: Collection[int] = ()) -> dict[str, list[str]]:
    """Return what is not whole; {} where everything is.

    Not what lacks by the `own` brokers of a run alone: it has to be there when they are back.
    """
    offline = [p for p in state.offline() if not p.isr or set(p.isr) - set(own)]
    found = {
        "brokers": [str(broker) for broker in sorted(set(expected) - set(state.brokers) - set(own))],
        "offline": [str(partition) for partition in offline],
        "under_replicated": [
            f"{partition}{WITHOUT}{broker}"
            for partition in state.under_replicated(own)
            for broker in sorted(state.lacks(partition) - set(own))
        ],
    }
    return {kind: names for kind, names in found.items() if names}


def away(state: State, own: Collection[int], sick: Collection[int] = ()) -> dict[str, list[str]]:
    """Return what lacks by the `own` brokers, whoever else is away; {} where they have come back.

    A partition without a leader is theirs where one of them was in sync with it at last; else another one has to come.
    What those lack that have given up a disk, the `sick`, comes back with another disk.
    """
    found = {
        "brokers": [str(broker) for broker in sorted(set(own) - (set(state.brokers) - set(state.mute)))],
        "offline": [str(p) for p in state.offline() if set(p.isr) & set(own) - set(sick)],
        "under_replicated": [
            f"{p}{WITHOUT}{broker}"
            for p in state.partitions
            if p.leader in state.brokers
            for broker in sorted(state.lacks(p) & set(own) - set(sick))
        ],
    }
    return {kind: names for kind, names in found.items() if names}


def looks(
    ask: Callable[[], State],
    missing: Callable[[State], Lacking],
    words: Callable[[State], str],
    settled: Callable[[State, Lacking], Verdict],
) -> Callable[[], Look]:
    """Return what looks once at a cluster; silence, and a cluster without a controller, prove nothing."""

    def look() -> Look:
        try:
            state = ask()
        except ClusterError as error:
            return Look(None, str(error))
        found, why = missing(state), words(state)
        return Look(found, why, (lambda: settled(state, found)) if state.controller >= 0 else None)

    return look


Confirm = Callable[[State], Sequence[State]]
"""Asks, after a look that one broker answered, each of them (views.py). Raises ClusterError."""


def before_order(
    ask: Callable[[], State], tell: Callable[..., Snapshot], patience: Patience
) -> tuple[Verdict, Snapshot | None]:
    """Wait until brokers name one controller; return what that came to, and what they `tell` of a state."""
    found: list[Snapshot | None] = [None]

    def look() -> Look:
        try:
            state = ask()
            if state.controller < 0:
                return Look(None, "no controller")
            told = found[0] = tell(state=state)
            if headless := uncontrolled(told):
                return Look(None, str(headless))
        except UntoldError as error:
            untold = Verdict(False, {}, str(error), lasting=True)
            return Look({}, "", lambda: untold)
        except ClusterError as error:
            return Look(None, str(error))
        return Look({}, "", lambda: Verdict(True, {}))

    return watch(look, patience), found[0]


def before_restart(
    ask: Callable[[], State],
    judge: Callable[[State], Sequence[Block]],
    expected: Sequence[int],
    brokers: Sequence[int],
    patience: Patience,
    stopped: Collection[int] = (),
) -> Verdict:
    """Wait until brokers may be stopped: `judge` names nothing that is in the way.

    What lacks by those of them that the run itself has `stopped` needs no patience.
    """

    def settled(state: State, found: Lacking) -> Verdict:
        try:
            blocks = judge(state)
        except UntoldError as error:
            return Verdict(False, found, str(error), lasting=True)
        except ClusterError as error:
            return Verdict(False, found, str(error))
        if blocks:
            return Verdict(False, found, "; ".join(map(str, blocks)), lasting=any(block.lasting for block in blocks))
        words = "; ".join(state.problems(expected))
        who = f"broker{'s' if brokers[1:] else ''} {', '.join(map(str, brokers))} {'are' if brokers[1:] else 'is'}"
        gone = f"{who} restarted though the cluster is not whole ({words}): no partition would lose by it"
        return Verdict(True, found, gone if found else "")

    missing = looks(ask, lambda s: lacking(s, expected, stopped), lambda s: "; ".join(s.problems(expected)), settled)
    return watch(missing, patience)


def at_once(
    ask: Callable[[], State],
    judge: Callable[[State], Sequence[Block]],
    expected: Sequence[int],
    brokers: Sequence[int],
) -> list[int]:
    """Return `brokers` where nothing lacks and they may be stopped now; nobody where that is waited for, or refused.

    Raises UntoldError.
    """
    try:
        state = ask()
        return list(brokers) if brokers and not state.problems(expected) and not judge(state) else []
    except UntoldError:
        raise
    except ClusterError:
        return []


def settled(ask: Callable[[], State], confirm: Confirm, expected: Sequence[int]) -> bool:
    """Tell whether all say that nothing lacks, and that whoever is preferred leads."""
    try:
        return not any(state.problems(expected) or state.led_by_another() for state in confirm(ask()))
    except ClusterError:
        return False


def after_restart(
    ask: Callable[[], State],
    expected: Sequence[int],
    returned: Sequence[int],
    before: Lacking,
    patience: Patience,
    confirm: Confirm,
) -> Verdict:
    """Wait until brokers are back: all say that the cluster is whole, or has them and lacks nothing that it had."""

    def worse(state: State) -> bool:
        found = lacking(state, expected)
        more = {kind: sorted(set(names) - set(before.get(kind, ()))) for kind, names in found.items()}
        # What was offline may be under-replicated now.
        more["under_replicated"] = [
            name
            for name in more.get("under_replicated", ())
            if name.partition(WITHOUT)[0] not in before.get("offline", ())
        ]
        return bool(set(returned) - (set(state.brokers) - set(state.mute))) or any(more.values())

    def settled(state: State, found: Lacking) -> Verdict:
        try:
            states = confirm(state)
        except ClusterError as error:
            return Verdict(False, found, str(error))
        if bad := [one for one in states if worse(one)]:
            return Verdict(False, found, "; ".join(bad[0].problems(expected)))
        words = "; ".join(state.problems(expected))
        return Verdict(True, found, f"the cluster is not whole, as before: {words}" if found else "")

    missing = looks(ask, lambda s: lacking(s, expected), lambda s: "; ".join(s.problems(expected)), settled)
    return watch(missing, replace(patience, every=CONFIRM))


def after_start(
    ask: Callable[[], State],
    expected: Sequence[int],
    started: Sequence[int],
    patience: Patience,
    confirm: Confirm,
    sick: Callable[[State], Collection[int]] = lambda _: (),
) -> Verdict:
    """Wait until brokers that were started are registered, and in sync with all that somebody leads.

    Whoever else is away is not waited for, and neither are replicas of those that have given up a disk: `sick` asks for
    them, where something still lacks.
    """

    def words(found: Lacking) -> str:
        return "; ".join(f"{kind.replace('_', '-')}: {', '.join(names[:5])}" for kind, names in found.items())

    def settled(state: State, found: Lacking) -> Verdict:
        try:
            states = [one for one in confirm(state) if found or away(one, started)]
            lost = sick(state) if states else ()
            missing = next(filter(None, (away(one, started, lost) for one in states)), {})
        except ClusterError as error:
            return Verdict(False, found, str(error))
        if missing:
            return Verdict(False, found, words(missing))
        why = "; ".join(state.problems(expected))
        disks = f"; a disk was given up by: {', '.join(map(str, lost))}" if lost else ""
        return Verdict(True, found, f"the cluster is not whole yet: {why}{disks}" if why else "")

    missing = looks(ask, lambda s: away(s, started), lambda s: words(away(s, started)), settled)
    return watch(missing, replace(patience, every=CONFIRM))
