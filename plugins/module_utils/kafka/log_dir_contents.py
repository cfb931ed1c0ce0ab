"""Reads what the log dirs of a cluster hold, stray replicas in them, and throttles of copies that were left.

Metadata and log dirs are read one after the other, so a replica that seems to be a stray may just be being deleted.
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
"""Seconds after which strays are read again: brokers have deleted some within that time."""
MOST = 60.0
"""Seconds after which strays that still decrease are not reported."""

Held = tuple[int, str, Place]
"""A broker, one of its log dirs, and a partition of which the log dir has a replica."""
Left = TypeVar("Left")


@dataclass(frozen=True)
class Holdings:
    """The answers of all brokers."""

    dirs: Sequence[LogDir] = ()
    silent: Mapping[int, str] = field(default_factory=dict)
    """By broker that did not answer, the reason."""
    strays: Mapping[Held, int] | None = None
    """The bytes of replicas that do not belong to their broker, None if no broker could be asked."""
    limits: Mapping[int, str] = field(default_factory=dict)
    """By broker, the throttle of copies between its log dirs in bytes per second, although nothing is copied."""


def look(admin: Admin, state: State, limits: bool = False) -> Holdings:
    """Read the log dirs of a cluster, and read strays again. Raises ImportError."""
    try:
        answers = by_broker(admin, set(state.brokers) - set(state.mute))
    except AdminError as error:
        return Holdings(silent=dict.fromkeys(state.brokers, str(error)))
    dirs = [one for answer in answers.values() if not isinstance(answer, AdminError) for one in answer]
    silent = {broker: str(answer) for broker, answer in answers.items() if isinstance(answer, AdminError)}
    return Holdings(dirs, silent, strays(admin, state.partitions, dirs), forgotten(admin, dirs) if limits else {})


def strays(admin: Admin, partitions: Sequence[Partition], dirs: Sequence[LogDir]) -> dict[Held, int] | None:
    """Return the bytes of replicas that do not belong to their broker, None without an answer about them.

    They appear when a disk returns that was away while a topic was deleted or moved; Kafka does not delete them. A
    broker does not report replicas that it is deleting or has renamed as stray. Raises ImportError.
    """
    if not (partitions and dirs):
        return None
    sizes = {(one.broker, one.path, place): size for one in dirs for place, size in one.sizes.items()}

    def still(few: Collection[Held]) -> set[Held]:
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
    """Return the replicas that do not belong to their broker; copies in progress between log dirs do not count."""
    own = {(one.topic, one.number): one.replicas for one in partitions}
    return {
        (one.broker, one.path, place) for one in dirs for place in one.sizes if one.broker not in own.get(place, ())
    }


def forgotten(admin: Admin, dirs: Sequence[LogDir]) -> dict[int, str]:
    """Return the throttle of copies between log dirs of each broker that copies nothing. Raises ImportError."""

    def idle(now: Sequence[LogDir]) -> set[tuple[int, str]]:
        brokers = {one.broker: False for one in now} | {one.broker: True for one in now if one.coming}
        return {*throttles.of_copies(admin, [broker for broker, copies in brokers.items() if not copies]).items()}

    def still(few: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
        return {*few} & idle(log_dirs(admin, {broker for broker, _ in few}))

    try:
        return dict(sorted(confirmed(idle(dirs), still)))
    except AdminError:  # reported elsewhere
        return {}


def confirmed(first: set[Left], still: Callable[[Collection[Left]], set[Left]]) -> set[Left]:
    """Return the members of `first` that are found again, after WAIT seconds in which none of them disappeared.

    Return nothing if members disappear for as long as MOST seconds.
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
    """Return the result of the module kafka_cluster."""
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
