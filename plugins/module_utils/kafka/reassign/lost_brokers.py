"""Keeps a cancel from waiting forever for brokers that stay down and for replicas in offline log dirs."""

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
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import Snapshot, named
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import Progress

AWAY = 300.0
"""Seconds after which a cancel no longer waits for a broker that is down, or for a replica in an offline log dir.

A broker that is restarted returns earlier.
"""


def outlooks(
    admin: Admin, progress: Progress, moves: Sequence[Move], metadata: Metadata, running: Mapping[Place, Running]
) -> list[Outlook]:
    """Return for each of these moves whether it can end and whether it can be canceled (an Outlook).

    Stores in `progress.away` the missing brokers and replicas for which the moves wait, and since when they are
    missing. A broker is asked for offline log dirs if its replica is out of sync, or was missing at the previous call.
    `running` is {partition: its reassignment}. Raises ImportError if kafka-python is not installed.
    """
    places = {move.place for move in moves}
    incomplete = [
        one
        for one in metadata.partitions
        if (one.topic, one.number) in places and (one.leader not in metadata.brokers or {*one.replicas} - {*one.isr})
    ]
    asked = out_of_sync(incomplete, metadata.brokers)
    for move in moves:
        for broker in {*move.added} & metadata.brokers.keys():
            if _replica_key(broker, move) in progress.away:
                asked.setdefault(broker, set()).add(move.place)
    unfinished = feasibility.outlooks(moves, metadata, running, not_served(admin, asked))
    time, before = waits.now(), progress.away
    progress.away = {key: before.get(key, time) for one in unfinished for key in _missing_keys(one)}
    return unfinished


def expired(progress: Progress, unfinished: Iterable[Outlook]) -> set[Place]:
    """Return the partitions whose moves need a broker or a replica that has been missing for AWAY seconds."""
    time = waits.now()
    return {
        one.move.place for one in unfinished if any(time - progress.away[key] >= AWAY for key in _missing_keys(one))
    }


def _missing_keys(one: Outlook) -> list[str]:
    """Return the keys in `progress.away` of the brokers and replicas that a move needs and that are missing."""
    return [str(broker) if why == DOWN else _replica_key(broker, one.move) for broker, why in one.missing.items()]


def _replica_key(broker: int, move: Move) -> str:
    """Return the key in `progress.away` of a broker's replica."""
    return f"{move} on {broker}"


def notes_while_waiting(unfinished: Iterable[Outlook]) -> list[str]:
    """Return notes on moves that cannot be reverted now: the reason, and when the cancel gives them up."""
    return [
        f"{names} cannot be reverted while {why}; after {AWAY:.0f} s they are left as they are"
        for names, why in _by_cause(unfinished)
    ]


def notes_at_end(lost: Iterable[Move], unfinished: Iterable[Outlook]) -> list[str]:
    """Return notes on the moves in `lost`, which were not reverted, with the reasons from `unfinished`."""
    places = {move.place for move in lost}
    return [
        f"{names} not reverted: {why}"
        for names, why in _by_cause(one for one in unfinished if one.move.place in places)
    ]


def _by_cause(unfinished: Iterable[Outlook]) -> list[tuple[str, str]]:
    """Return a pair of texts for each reason why moves cannot end: the names of their partitions, and the reason."""
    names_of: dict[str, list[str]] = {}
    for one in unfinished:
        if one.missing:
            cause = " and ".join(f"broker {broker} {why}" for broker, why in one.missing.items())
            names_of.setdefault(cause, []).append(str(one.move))
    return [(named(names), why) for why, names in names_of.items()]


def out_of_sync(partitions: Iterable[Partition], brokers: Collection[int]) -> dict[int, set[Place]]:
    """Return {broker: partitions of which its replica is not in sync}, for brokers that are up (in `brokers`).

    If a partition has no leader, all of its replicas count as out of sync.
    """
    places_of: dict[int, set[Place]] = {}
    for one in partitions:
        out = set(one.replicas) - set(one.isr) if one.leader in brokers else set(one.replicas)
        for broker in out & {*brokers}:
            places_of.setdefault(broker, set()).add((one.topic, one.number))
    return places_of


def offline_replicas(admin: Admin, lacking: Iterable[Partition], brokers: Collection[int]) -> Failed:
    """Return {(broker, partition): offline log dir} for replicas of `lacking` that are lost with a log dir.

    `lacking` are partitions. A replica counts as lost if it is out of sync, no online log dir of its broker holds it,
    and a log dir of this broker is offline. Brokers that do not answer are left out. Raises ImportError if kafka-python
    is not installed.
    """
    return not_served(admin, out_of_sync(lacking, brokers))


def not_served(admin: Admin, asked: Mapping[int, Collection[Place]]) -> Failed:
    """Return {(broker, partition): offline log dir} for replicas that are lost with an offline log dir.

    `asked` is {broker: partitions whose replica to look for}. Each of these brokers is asked; brokers that do not
    answer are left out. Raises ImportError if kafka-python is not installed.
    """
    lost_replicas: dict[tuple[int, Place], str] = {}
    for broker, places in sorted(asked.items()):
        try:
            dirs = log_dirs(admin, [broker], places)
        except AdminError:
            admin.leave_behind()
            continue
        lost = next((one.path for one in dirs if one.given_up), "")
        lost_replicas |= _unserved(broker, places, dirs, lost)
    return lost_replicas


def seen_offline(there: Snapshot, moves: Iterable[Move]) -> Failed:
    """Return {(broker, partition): offline log dir} for replicas of these moves that are lost with a log dir.

    Unlike `offline_replicas`, this uses only the snapshot `there` and sends no requests.
    """
    places, brokers = {move.place for move in moves}, there.metadata.brokers
    out = out_of_sync((one for one in there.metadata.partitions if (one.topic, one.number) in places), brokers)
    lost_replicas: dict[tuple[int, Place], str] = {}
    for broker, lost in there.lost.items():
        lost_replicas |= _unserved(
            broker, out.get(broker, ()), [one for one in there.dirs if one.broker == broker], lost
        )
    return lost_replicas


def _unserved(broker: int, places: Collection[Place], dirs: Iterable[LogDir], lost: str) -> Failed:
    """Return {(broker, partition): lost} for the partitions without a replica in `dirs`; {} if `lost` is ''."""
    served = {place for one in dirs for place in one.sizes}
    return {(broker, place): lost for place in {*places} - served} if lost else {}
