"""The waits of a restart: until brokers may stop, and until the cluster is as healthy as before.

The variable kafka_restart_timeout (functions/kafka.yml) limits each wait.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Block, Snapshot, uncontrolled
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate_facts import UntoldError
from ansible_collections.millrace.kafka.plugins.module_utils.waits import Lacking, Look, Patience, Verdict, watch

# What a cluster is missing, by kind: `brokers`, `offline`, `under_replicated` (each replica, as `topic-0 without 3`).
WITHOUT = " without "
JUDGE = 2.0
"""Maximum interval in seconds between two snapshots for the gate."""
CONFIRM = 0.5
"""Maximum interval in seconds between two requests to each broker that show whether restarted brokers are back."""
SAME = 30.0
"""Seconds for which nothing may change before a broker is stopped in a cluster that is not healthy."""


def lacking(state: State, expected: Iterable[int], own: Collection[int] = ()) -> dict[str, list[str]]:
    """Return {kind: names} of what is missing for a healthy cluster; {} if nothing is.

    Kinds: `brokers` (ids of `expected` brokers that are down), `offline` (partitions as TOPIC-NUMBER),
    `under_replicated` (replicas as `orders-0 without 3`). What is missing only because of brokers in `own`, which this
    run has stopped, is left out.
    """
    offline = [p for p in state.offline() if not p.isr or set(p.isr) - set(own)]
    missing = {
        "brokers": [str(broker) for broker in sorted(set(expected) - set(state.brokers) - set(own))],
        "offline": [str(partition) for partition in offline],
        "under_replicated": [
            f"{partition}{WITHOUT}{broker}"
            for partition in state.under_replicated(own)
            for broker in sorted(state.lacks(partition) - set(own))
        ],
    }
    return {kind: names for kind, names in missing.items() if names}


def away(state: State, own: Collection[int], sick: Collection[int] = ()) -> dict[str, list[str]]:
    """Return {kind: names} of what is missing because of the brokers in `own`; {} if these brokers are back.

    Kinds: `brokers` (ids), `offline` (partitions as TOPIC-NUMBER), `under_replicated` (replicas as `orders-0 without
    3`). Other brokers that are down do not matter. An offline partition counts if a broker in `own` is one of its
    in-sync replicas; otherwise another broker has to return. Replicas on `sick` brokers (with a failed disk) do not
    count.
    """
    missing = {
        "brokers": [str(broker) for broker in sorted(set(own) - (set(state.brokers) - set(state.mute)))],
        "offline": [str(p) for p in state.offline() if set(p.isr) & set(own) - set(sick)],
        "under_replicated": [
            f"{p}{WITHOUT}{broker}"
            for p in state.partitions
            if p.leader in state.brokers
            for broker in sorted(state.lacks(p) & set(own) - set(sick))
        ],
    }
    return {kind: names for kind, names in missing.items() if names}


def looks(
    ask: Callable[[], State],
    missing: Callable[[State], Lacking],
    message: Callable[[State], str],
    settled: Callable[[State, Lacking], Verdict],
) -> Callable[[], Look]:
    """Return a function that reads the cluster once and returns a Look, for watch() (module_utils/waits.py).

    `ask` reads the state. From a state, `missing` returns what is missing, `message` why the wait continues, and
    `settled` the decision. Without an answer, or without a controller, nothing is decided.
    """

    def look() -> Look:
        try:
            state = ask()
        except ClusterError as error:
            return Look(None, str(error))
        found, why = missing(state), message(state)
        return Look(found, why, (lambda: settled(state, found)) if state.controller >= 0 else None)

    return look


Confirm = Callable[[State], Sequence[State]]
"""Asks each broker for its view, after one broker has answered (broker_views.py). Raises ClusterError."""


def before_order(
    ask: Callable[[], State], tell: Callable[..., Snapshot], patience: Patience
) -> tuple[Verdict, Snapshot | None]:
    """Wait until all brokers name the same controller; return (verdict, last snapshot, or None if there was none).

    `ask` reads the state of the cluster, and `tell(state=...)` the snapshot for the gate.
    """
    last: list[Snapshot | None] = [None]

    def look() -> Look:
        try:
            state = ask()
            if state.controller < 0:
                return Look(None, "no controller")
            snapshot = last[0] = tell(state=state)
            if headless := uncontrolled(snapshot):
                return Look(None, str(headless))
        except UntoldError as error:
            closed = Verdict(False, {}, str(error), lasting=True)
            return Look({}, "", lambda: closed)
        except ClusterError as error:
            return Look(None, str(error))
        return Look({}, "", lambda: Verdict(True, {}))

    return watch(look, patience), last[0]


def before_restart(
    ask: Callable[[], State],
    judge: Callable[[State], Sequence[Block]],
    expected: Sequence[int],
    brokers: Sequence[int],
    patience: Patience,
    stopped: Collection[int] = (),
) -> Verdict:
    """Wait until `brokers` may be stopped, that is until `judge` returns no reason against it.

    `ask` reads the state of the cluster. What is missing because of brokers in `stopped`, which this run has stopped,
    is not waited for.
    """

    def settled(state: State, found: Lacking) -> Verdict:
        """Return the decision from one state of the cluster: whether the gate is open."""
        try:
            blocks = judge(state)
        except UntoldError as error:
            return Verdict(False, found, str(error), lasting=True)
        except ClusterError as error:
            return Verdict(False, found, str(error))
        if blocks:
            return Verdict(False, found, "; ".join(map(str, blocks)), lasting=any(block.lasting for block in blocks))
        problems = "; ".join(state.problems(expected))
        who = f"broker{'s' if brokers[1:] else ''} {', '.join(map(str, brokers))} {'are' if brokers[1:] else 'is'}"
        warning = f"{who} restarted although the cluster is not healthy ({problems}): no partition is affected"
        return Verdict(True, found, warning if found else "")

    missing = looks(ask, lambda s: lacking(s, expected, stopped), lambda s: "; ".join(s.problems(expected)), settled)
    return watch(missing, patience)


def at_once(
    ask: Callable[[], State],
    judge: Callable[[State], Sequence[Block]],
    expected: Sequence[int],
    brokers: Sequence[int],
) -> list[int]:
    """Return `brokers` if the cluster is healthy and they may be stopped now; otherwise []. Nothing is waited for.

    Raises UntoldError if no broker reports the settings of topics; then the request must not be repeated.
    """
    try:
        state = ask()
        return list(brokers) if brokers and not state.problems(expected) and not judge(state) else []
    except UntoldError:
        raise
    except ClusterError:
        return []


def settled(ask: Callable[[], State], confirm: Confirm, expected: Sequence[int]) -> bool:
    """Tell whether the cluster is healthy and all partitions are led by their preferred leaders.

    `ask` reads the state from one broker, and `confirm` the views of all brokers. Each view has to show both
    conditions.
    """
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
    """Wait until the brokers in `returned` are registered, and nothing is missing that was not missing before.

    `before` is what was missing before the restart, as {kind: names}. `confirm` returns the views of all brokers; the
    wait ends when all these views show it.
    """

    def worse(state: State) -> bool:
        """Tell whether a restarted broker is not back, or more is missing than before the restart."""
        found = lacking(state, expected)
        more = {kind: sorted(set(names) - set(before.get(kind, ()))) for kind, names in found.items()}
        # A partition that was offline may be under-replicated now.
        more["under_replicated"] = [
            name
            for name in more.get("under_replicated", ())
            if name.partition(WITHOUT)[0] not in before.get("offline", ())
        ]
        return bool(set(returned) - (set(state.brokers) - set(state.mute))) or any(more.values())

    def settled(state: State, found: Lacking) -> Verdict:
        """Return the decision from one state of the cluster: whether no view shows more missing than before."""
        try:
            states = confirm(state)
        except ClusterError as error:
            return Verdict(False, found, str(error))
        if bad := [one for one in states if worse(one)]:
            return Verdict(False, found, "; ".join(bad[0].problems(expected)))
        problems = "; ".join(state.problems(expected))
        return Verdict(True, found, f"the cluster is not healthy, as before: {problems}" if found else "")

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
    """Wait until the brokers in `started` are registered, and in sync with all partitions that have a leader.

    Other brokers that are down are not waited for. If something is missing, `sick` returns the brokers with a failed
    disk, whose replicas are not waited for either. `confirm` returns the views of all brokers; the wait ends when all
    these views show that nothing is missing.
    """

    def message(found: Lacking) -> str:
        return "; ".join(f"{kind.replace('_', '-')}: {', '.join(names[:5])}" for kind, names in found.items())

    def settled(state: State, found: Lacking) -> Verdict:
        """Return the decision from one state of the cluster: whether all views show the started brokers as back."""
        try:
            states = [one for one in confirm(state) if found or away(one, started)]
            lost = sick(state) if states else ()
            missing = next(filter(None, (away(one, started, lost) for one in states)), {})
        except ClusterError as error:
            return Verdict(False, found, str(error))
        if missing:
            return Verdict(False, found, message(missing))
        why = "; ".join(state.problems(expected))
        disks = f"; brokers with a failed disk: {', '.join(map(str, lost))}" if lost else ""
        return Verdict(True, found, f"the cluster is not healthy yet: {why}{disks}" if why else "")

    missing = looks(ask, lambda s: away(s, started), lambda s: message(away(s, started)), settled)
    return watch(missing, replace(patience, every=CONFIRM))
