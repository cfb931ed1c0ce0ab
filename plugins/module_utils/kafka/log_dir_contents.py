"""Reads what the log dirs of a cluster hold, and finds two kinds of leftovers: stray replicas and unneeded throttles.

A stray replica does not belong to its broker. Partitions and log dirs are read one after the other, so a replica that
seems to be stray may be about to be deleted. It is read again before it counts as stray.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir, by_broker, log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import throttles
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import at_controller

WAIT = 10.0
"""Seconds between two reads of possible stray replicas: brokers have deleted some of them within that time."""
MOST = 60.0
"""Seconds after which stray replicas are not reported if their number still decreases."""

Held = tuple[int, str, Place]
"""A broker, one of its log dirs, and a partition of which the log dir has a replica."""
Left = TypeVar("Left")


@dataclass(frozen=True)
class Holdings:
    """The contents of the log dirs of all brokers that answered, with stray replicas and forgotten throttles."""

    dirs: Sequence[LogDir] = ()
    silent: Mapping[int, str] = field(default_factory=dict)
    """By broker that did not answer, the reason."""
    strays: Mapping[Held, int] | None = None
    """The bytes of replicas that do not belong to their broker, None if no broker could be asked."""
    limits: Mapping[int, str] = field(default_factory=dict)
    """By broker, the forgotten throttle of copies between its log dirs, in bytes per second."""


def look(admin: Admin, state: State, limits: bool = False) -> Holdings:
    """Read the log dirs of the brokers in `state`, and find stray replicas; brokers that do not answer are in `silent`.

    With `limits`, also find throttles of copies between log dirs that no copy needs.
    """
    try:
        answers = by_broker(admin, set(state.brokers) - set(state.mute))
    except AdminError as error:
        return Holdings(silent=dict.fromkeys(state.brokers, str(error)))
    dirs = [one for answer in answers.values() if not isinstance(answer, AdminError) for one in answer]
    silent = {broker: str(answer) for broker, answer in answers.items() if isinstance(answer, AdminError)}
    return Holdings(dirs, silent, strays(admin, state.partitions, dirs), forgotten(admin, dirs) if limits else {})


def strays(admin: Admin, partitions: Sequence[Partition], dirs: Sequence[LogDir]) -> dict[Held, int] | None:
    """Return {(broker, log dir, partition): bytes} of replicas that do not belong to their broker; None if unknown.

    Such a replica appears when a disk returns that was missing while a topic was deleted or moved; Kafka does not
    delete the replica. Replicas that a broker is deleting, or has renamed as stray, do not count.
    """
    if not (partitions and dirs):
        return None
    sizes = {(one.broker, one.path, place): size for one in dirs for place, size in one.sizes.items()}

    def still(few: Collection[Held]) -> set[Held]:
        """Read the replicas in `few` again, and return those that still seem to be stray."""
        found = log_dirs(admin, {broker for broker, _, _ in few}, {place for _, _, place in few})
        now = at_controller(admin, admin.metadata()).partitions
        if not now:
            raise AdminError("the controller reports no partitions; it may have just started")
        return {*few} & unassigned(now, found)

    try:
        return {one: sizes[one] for one in sorted(confirmed(unassigned(partitions, dirs), still))}
    except AdminError:
        return None


def unassigned(partitions: Iterable[Partition], dirs: Iterable[LogDir]) -> set[Held]:
    """Return the replicas in `dirs` that no partition assigns to their broker; unfinished copies do not count."""
    own = {(one.topic, one.number): one.replicas for one in partitions}
    return {
        (one.broker, one.path, place) for one in dirs for place in one.sizes if one.broker not in own.get(place, ())
    }


def forgotten(admin: Admin, dirs: Sequence[LogDir]) -> dict[int, str]:
    """Return {broker: rate, in bytes per second} of brokers with a throttle for copies between log dirs, but no copies.

    Return {} if a broker does not answer; this is reported elsewhere.
    """

    def idle(now: Sequence[LogDir]) -> set[tuple[int, str]]:
        """Return (broker, rate) of each broker in `now` that has a throttle for copies, but no copies."""
        brokers = {one.broker: False for one in now} | {one.broker: True for one in now if one.coming}
        return {*throttles.of_copies(admin, [broker for broker, copies in brokers.items() if not copies]).items()}

    def still(few: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
        """Read the brokers in `few` again, and return those that still have the throttle but no copies."""
        return {*few} & idle(log_dirs(admin, {broker for broker, _ in few}))

    try:
        return dict(sorted(confirmed(idle(dirs), still)))
    except AdminError:  # reported elsewhere
        return {}


def confirmed(first: set[Left], still: Callable[[Collection[Left]], set[Left]]) -> set[Left]:
    """Return the members of `first` that `still` keeps finding, once their number no longer decreases.

    `still` reads the cluster, and returns those of its argument that it finds. It is called every WAIT seconds. If
    members still disappear after MOST seconds, an empty set is returned.
    """
    kept, begun = still(first) if first else first, waits.now()
    while kept:
        waits.rest(WAIT)
        before, kept = kept, still(kept)
        if kept == before:
            return kept
        if waits.now() - begun >= MOST:
            return set()
    return kept


def described(found: Holdings) -> dict[str, Any]:
    """Convert holdings to the result of the module kafka_cluster: log_dirs, silent, strays and copies_throttled."""
    left: dict[tuple[int, str], list[tuple[Place, int]]] = {}
    for (broker, path, place), size in (found.strays or {}).items():
        left.setdefault((broker, path), []).append((place, size))
    return {
        "log_dirs": [
            {
                "broker": one.broker,
                "path": one.path,
                "replicas": len(one.sizes),
                "bytes": sum(one.sizes.values()),
                "largest": max(one.sizes.values(), default=0),
                "size": one.total,
                "free": one.free,
                "given_up": one.given_up,
            }
            for one in sorted(found.dirs, key=lambda one: (one.broker, one.path))
        ],
        "silent": {str(broker): why for broker, why in found.silent.items()},
        "strays": None
        if found.strays is None
        else [
            {
                "broker": broker,
                "path": path,
                "bytes": sum(size for _, size in held),
                "partitions": [f"{topic}-{number}" for (topic, number), _ in held],
            }
            for (broker, path), held in left.items()
        ],
        "copies_throttled": {str(broker): rate for broker, rate in found.limits.items()},
    }
