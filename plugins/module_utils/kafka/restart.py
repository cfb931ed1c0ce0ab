"""May a broker be stopped, and is the cluster after its restart as good as it was before? No Ansible import."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ansible_collections.millrace.kafka.plugins.module_utils.host.network import connect
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.waits import Wait, now

Lacking = Mapping[str, Sequence[str]]
"""What is not whole, by kind: `brokers`, `offline`, `under_replicated` (each replica, as `topic-0 without 3`)."""
WITHOUT = " without "


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
            for broker in sorted(set(partition.replicas) - set(partition.isr) - set(own))
        ],
    }
    return {kind: names for kind, names in found.items() if names}


def missed(state: State, broker: int, elsewhere: bool = False) -> list[Partition]:
    """Return the partitions from which a stop of the broker would take something that the cluster still has.

    Those whose ISR lacks another member already. Not those that are offline, and where the broker is registered
    `elsewhere`, at an address that nobody reaches, not those that it alone holds: neither clients nor followers do.
    """
    held = [
        p for p in state.partitions if broker in p.isr and p.leader in state.brokers and len(p.isr) < len(p.replicas)
    ]
    return [p for p in held if not (elsewhere and p.isr == (broker,))]


def elsewhere(state: State, broker: int, endpoints: Iterable[str], timeout: float = 3.0) -> bool:
    """Tell whether a broker is registered at other addresses than its own, and does not answer there.

    `endpoints` are its own, each LISTENER://address:port.
    """
    declared = dict(endpoint.split("://", 1) for endpoint in endpoints)
    if any(p.leader == broker and len(p.isr) > 1 for p in state.partitions):
        return False  # others follow it
    told = {name: place for name, place in state.brokers.get(broker, {}).items() if name in declared}
    return bool(told) and all(
        place != declared[name] and connect(place.rpartition(":")[0], int(place.rpartition(":")[2]), timeout) != "open"
        for name, place in told.items()
    )


@dataclass(frozen=True)
class Part:
    """What the parts of a wait before this one saw lacking at last, and since when."""

    pause: float = 0
    """Seconds after which this one ends; 0: with the wait."""
    begun: float | None = None
    since: float | None = None
    lacking: Lacking = field(default_factory=dict)


WHOLE = Part()


@dataclass(frozen=True)
class Verdict:
    """What a wait came to."""

    go: bool
    lacking: Lacking
    why: str = ""
    """Why it goes on, or what it would cost, where the cluster is not whole."""
    rest: Part | None = None
    """What the next part has to know, where the wait goes on."""


def watch(
    ask: Callable[[], State],
    expected: Sequence[int],
    settled: Callable[[State, Lacking], Verdict],
    wait: tuple[float, float, Part],
    at_last: bool = False,
) -> Verdict:
    """Ask until the cluster is whole, or, where the same has lacked for `patience` seconds, `settled` lets it be.

    `wait` is the timeout (seconds), the patience, and the part. With `at_last`, what lacks in the end may have changed
    until then.
    """
    timeout, patience, part = wait
    whole, tick = Wait(timeout, part.pause, part.begun), threading.Event()
    deadline, until = whole.begun + timeout, now() + whole.part
    since, before = part.since or now(), {kind: list(names) for kind, names in part.lacking.items()}
    while True:
        at = now()
        try:
            state = ask()
            found = lacking(state, expected)
            if not found and state.controller >= 0:
                return Verdict(True, {})
            if found != before:
                since, before = at, found
            verdict = Verdict(False, found, "; ".join(state.problems(expected)))
            if state.controller >= 0 and (at - since >= patience or (at_last and at >= deadline)):
                verdict = settled(state, found)
        except ClusterError as error:
            since, verdict = at, Verdict(False, before, str(error))
        if verdict.go or at >= deadline:
            return verdict
        if at >= until:
            return replace(verdict, rest=Part(part.pause, whole.begun, since, before))
        tick.wait(0.2)


def before_restart(
    ask: Callable[[], State],
    expected: Sequence[int],
    broker: int,
    endpoints: Sequence[str],
    timeout: float,
    patience: float = 30.0,
    part: Part = WHOLE,
) -> Verdict:
    """Wait until the broker may be stopped: the cluster is whole, or nobody would miss it."""

    def settled(state: State, found: Lacking) -> Verdict:
        words = "; ".join(state.problems(expected))
        if missed(state, broker) and missed(state, broker, elsewhere(state, broker, endpoints)):
            return Verdict(False, found, words)
        return Verdict(
            True,
            found,
            f"broker {broker} is restarted though the cluster is not whole ({words}): no partition would lose by it",
        )

    return watch(ask, expected, settled, (timeout, patience, part))


def after_restart(
    ask: Callable[[], State],
    expected: Sequence[int],
    returned: Sequence[int],
    before: Lacking,
    timeout: float,
    patience: float = 30.0,
    part: Part = WHOLE,
) -> Verdict:
    """Wait until brokers are back: the cluster is whole, or has them and lacks nothing that it did not lack before."""

    def settled(state: State, found: Lacking) -> Verdict:
        worse = {kind: sorted(set(names) - set(before.get(kind, ()))) for kind, names in found.items()}
        # What was offline may be under-replicated now.
        worse["under_replicated"] = [
            name
            for name in worse.get("under_replicated", ())
            if name.partition(WITHOUT)[0] not in before.get("offline", ())
        ]
        words = "; ".join(state.problems(expected))
        if set(returned) - set(state.brokers) or any(worse.values()):
            return Verdict(False, found, words)
        return Verdict(True, found, f"the cluster is not whole, as before: {words}")

    return watch(ask, expected, settled, (timeout, patience, part), at_last=True)
