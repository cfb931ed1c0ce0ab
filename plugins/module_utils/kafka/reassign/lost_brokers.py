"""What died meanwhile, and keeps no cancel from its end: brokers without which a move does not end, and disks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    Admin,
    AdminError,
    Metadata,
    Partition,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir, log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.moves import Running
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import feasibility
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.feasibility import DOWN, Failed, Outlook
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import Seen, named
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import Progress

AWAY = 300.0
"""Seconds for which a broker may be away, as while it is restarted, and a replica on a disk that was given up."""


def outlooks(
    admin: Admin, progress: Progress, moves: Sequence[Move], metadata: Metadata, running: Mapping[Place, Running]
) -> list[Outlook]:
    """Return what can become of these moves of a cancel; note since when what they lack is away. Raises ImportError.

    What was called off for the disk of a broker that was to get it would come to the same: it is asked for as well.
    """
    places = {move.place for move in moves}
    out = [
        one
        for one in metadata.partitions
        if (one.topic, one.number) in places and (one.leader not in metadata.brokers or {*one.replicas} - {*one.isr})
    ]
    asked = out_of_sync(out, metadata.brokers)
    for move in moves:
        for broker in {*move.added} & metadata.brokers.keys():
            if _replica(broker, move) in progress.away:
                asked.setdefault(broker, set()).add(move.place)
    found = feasibility.outlooks(moves, metadata, running, not_served(admin, asked))
    time, before = waits.now(), progress.away
    progress.away = {key: before.get(key, time) for one in found for key in _keys(one)}
    return found


def late(progress: Progress, found: Iterable[Outlook]) -> set[Place]:
    """Return the moves for which a cancel waits no more."""
    time = waits.now()
    return {one.move.place for one in found if any(time - progress.away[key] >= AWAY for key in _keys(one))}


def _keys(one: Outlook) -> list[str]:
    return [str(broker) if why == DOWN else _replica(broker, one.move) for broker, why in one.lacks.items()]


def _replica(broker: int, move: Move) -> str:
    return f"{move} on {broker}"


def told(found: Iterable[Outlook]) -> list[str]:
    """Say what cannot go back, without whom, and what comes of that."""
    return [
        f"{names} cannot go back while {why}; after {AWAY:.0f} s of that they stay as they are"
        for names, why in _by_cause(found)
    ]


def left(lost: Iterable[Move], found: Iterable[Outlook]) -> list[str]:
    """Return notes on what is not put back, none where all is."""
    places = {move.place for move in lost}
    return [f"{names} stay: {why}" for names, why in _by_cause(one for one in found if one.move.place in places)]


def _by_cause(found: Iterable[Outlook]) -> list[tuple[str, str]]:
    """Return partitions by name, with what keeps them from going back."""
    of: dict[str, list[str]] = {}
    for one in found:
        if one.lacks:
            cause = " and ".join(f"broker {who} {why}" for who, why in one.lacks.items())
            of.setdefault(cause, []).append(str(one.move))
    return [(named(names), why) for why, names in of.items()]


def out_of_sync(partitions: Iterable[Partition], brokers: Collection[int]) -> dict[int, set[Place]]:
    """Return by broker that is there what it has and is not in sync with; all that it has of what nobody leads."""
    found: dict[int, set[Place]] = {}
    for one in partitions:
        out = set(one.replicas) - set(one.isr) if one.leader in brokers else set(one.replicas)
        for broker in out & {*brokers}:
            found.setdefault(broker, set()).add((one.topic, one.number))
    return found


def given_up(admin: Admin, lacking: Iterable[Partition], brokers: Collection[int]) -> Failed:
    """Return the replicas that lack, and that brokers which gave up a log dir serve from no other. Raises ImportError.

    Who does not answer gave none up that is known.
    """
    return not_served(admin, out_of_sync(lacking, brokers))


def not_served(admin: Admin, asked: Mapping[int, Collection[Place]]) -> Failed:
    """Return the same of these replicas, by broker. Raises ImportError."""
    found: dict[tuple[int, Place], str] = {}
    for broker, places in sorted(asked.items()):
        try:
            dirs = log_dirs(admin, [broker], places)
        except AdminError:
            admin.leave_behind()
            continue
        lost = next((one.path for one in dirs if one.given_up), "")
        found |= _unserved(broker, places, dirs, lost)
    return found


def seen_given_up(there: Seen, moves: Iterable[Move]) -> Failed:
    """Return the same of what these moves have by now, as far as it was seen before a plan was made."""
    places, brokers = {move.place for move in moves}, there.metadata.brokers
    out = out_of_sync((one for one in there.metadata.partitions if (one.topic, one.number) in places), brokers)
    found: dict[tuple[int, Place], str] = {}
    for broker, lost in there.lost.items():
        found |= _unserved(broker, out.get(broker, ()), [one for one in there.dirs if one.broker == broker], lost)
    return found


def _unserved(broker: int, places: Collection[Place], dirs: Iterable[LogDir], lost: str) -> Failed:
    served = {place for one in dirs for place in one.sizes}
    return {(broker, place): lost for place in {*places} - served} if lost else {}
