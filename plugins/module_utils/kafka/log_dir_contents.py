"""What the log dirs of a cluster hold, and what was left behind in them or set for them; no Ansible import.

What looks left behind may be in the middle of going: metadata and log dirs are asked one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir, log_dirs, told
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import throttles
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import at_controller

WAIT = 10.0
"""Seconds after which it is asked again: brokers delete within that, or are in the middle of deleting more."""
MOST = 60.0
"""Seconds after which nothing is said of what still goes, one after the other."""

Held = tuple[int, str, Place]
"""A broker, one of its log dirs, and a partition of which that has a replica."""
Left = TypeVar("Left")


@dataclass(frozen=True)
class Holdings:
    """What brokers said."""

    dirs: Sequence[LogDir] = ()
    silent: Mapping[int, str] = field(default_factory=dict)
    """By broker that did not tell, why."""
    strays: Mapping[Held, int] | None = None
    """The bytes of replicas that are not their broker's, None where nobody could be asked."""
    limits: Mapping[int, str] = field(default_factory=dict)
    """By broker, the bytes a second that it may copy between its log dirs, though nothing is copied."""


def look(admin: Admin, state: State, limits: bool = False) -> Holdings:
    """Ask the brokers of a cluster once, and once more where something was left. Raises ImportError."""
    try:
        said = told(admin, set(state.brokers) - set(state.mute))
    except AdminError as error:
        return Holdings(silent=dict.fromkeys(state.brokers, str(error)))
    dirs = [one for found in said.values() if not isinstance(found, AdminError) for one in found]
    silent = {broker: str(found) for broker, found in said.items() if isinstance(found, AdminError)}
    return Holdings(dirs, silent, strays(admin, state.partitions, dirs), forgotten(admin, dirs) if limits else {})


def strays(admin: Admin, partitions: Sequence[Partition], dirs: Sequence[LogDir]) -> dict[Held, int] | None:
    """Return the bytes of replicas that are not their broker's, None where nobody says what there is, or whose it is.

    They were away when their topic was deleted or moved, as a disk that comes back later; Kafka itself deletes none of
    them. What a broker deletes it names no more, nor a replica that it renamed as stray. Raises ImportError.
    """
    if not (partitions and dirs):
        return None
    sizes = {(one.broker, one.path, place): size for one in dirs for place, size in one.sizes.items()}

    def still(few: Collection[Held]) -> set[Held]:
        found = log_dirs(admin, {broker for broker, _, _ in few}, {place for _, _, place in few})
        now = at_controller(admin, admin.metadata()).partitions
        if not now:
            raise AdminError("the controller names no partitions; it may have just started")
        return {*few} & unassigned(now, found)

    try:
        return {one: sizes[one] for one in sorted(confirmed(unassigned(partitions, dirs), still))}
    except AdminError:
        return None


def unassigned(partitions: Iterable[Partition], dirs: Iterable[LogDir]) -> set[Held]:
    """Return the replicas that are not their broker's; a copy on its way between log dirs counts as none."""
    own = {(one.topic, one.number): one.replicas for one in partitions}
    return {
        (one.broker, one.path, place) for one in dirs for place in one.sizes if one.broker not in own.get(place, ())
    }


def forgotten(admin: Admin, dirs: Sequence[LogDir]) -> dict[int, str]:
    """Return by broker the limit of its copies between log dirs where it copies none. Raises ImportError."""

    def idle(now: Sequence[LogDir]) -> set[tuple[int, str]]:
        brokers = {one.broker: False for one in now} | {one.broker: True for one in now if one.coming}
        return {*throttles.of_copies(admin, [broker for broker, copies in brokers.items() if not copies]).items()}

    def still(few: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
        return {*few} & idle(log_dirs(admin, {broker for broker, _ in few}))

    try:
        return dict(sorted(confirmed(idle(dirs), still)))
    except AdminError:  # who does not answer has said so elsewhere
        return {}


def confirmed(first: set[Left], still: Callable[[Collection[Left]], set[Left]]) -> set[Left]:
    """Return what of it is so when it is asked for again, and for WAIT seconds in which none of it goes.

    Nothing where some of it goes for as long as MOST.
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
    """Return it as the module kafka_cluster answers it."""
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
