"""Checks at the end of a run whether all replicas are placed as planned, and writes notes for the user. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import feasibility
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.feasibility import NONE, Failed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import named


def made_moves(record: Record, metadata: Metadata, lost: Iterable[Move] = ()) -> list[tuple[Move, Partition]]:
    """Return the moves that the run has made, as pairs (move, present state of its partition).

    Left out are the moves in `lost` (these cannot be reverted), moves of deleted topics, and moves of partitions that
    another tool has moved.
    """
    partitions = {(one.topic, one.number): one for one in metadata.partitions}
    lost_places = {move.place for move in lost}
    return [
        (move, partitions[move.place])
        for move in record.moves
        if move.place in partitions
        and move.place not in lost_places
        and not moved_by_others(move, partitions[move.place].replicas)
    ]


def moved_by_others(move: Move, replicas: Collection[int]) -> bool:
    """Tell whether another tool moved the partition of `move`, which has no running reassignment.

    This is the case if its present brokers (`replicas`) are neither the brokers before the move nor those after it.
    """
    return {*replicas} not in ({*move.before}, {*move.after})


def under_replicated(moves: Iterable[tuple[Move, Partition]]) -> list[Partition]:
    """Return the partitions with a replica out of sync; each item of `moves` is (move, its partition)."""
    return [partition for _, partition in moves if {*partition.replicas} - {*partition.isr}]


def verify(
    record: Record, metadata: Metadata, failed: Failed = NONE, lost: Iterable[Move] = ()
) -> tuple[list[str], list[str]]:
    """Compare the cluster with the record; return (differences, notes), two lists of texts.

    The run may end when there are no differences. A note names a broker that is down and its replicas out of sync. If
    the run is a cancel, a note may also name an offline log dir. `failed` is {(broker, partition): offline log dir of
    the replica}; moves in `lost` are not compared.
    """
    differences, down, offline = list[str](), dict[int, list[str]](), dict[tuple[int, str], list[str]]()
    for move, partition in made_moves(record, metadata, lost):
        if partition.replicas != move.after:
            actual, planned = (",".join(map(str, brokers)) for brokers in (partition.replicas, move.after))
            differences.append(f"{partition}: its replicas are {actual}, not {planned} as planned")
            continue
        has_leader = partition.leader in metadata.brokers
        out = {*partition.replicas} - {*partition.isr} if has_leader else {*partition.replicas, *partition.isr}
        unavailable = feasibility.unavailable(out, move.place, metadata.brokers, failed)
        for broker, why in unavailable.items():
            if why == feasibility.DOWN:
                down.setdefault(broker, []).append(str(partition))
            elif record.back:
                offline.setdefault((broker, failed[broker, move.place]), []).append(str(partition))
            else:
                differences.append(f"{partition}: broker {broker} {why}")
        # without a leader that could send the data, a cancel does not wait
        lagging = sorted(out - unavailable.keys()) if has_leader or not (unavailable and record.back) else []
        differences += [f"{partition}: broker {lagging[0]} is not in sync"] if lagging else []
    return differences, _notes(down, offline)


def _notes(down: Mapping[int, Collection[str]], offline: Mapping[tuple[int, str], Collection[str]]) -> list[str]:
    """Return a note for each broker that is down and for each offline log dir, with its partitions out of sync.

    `down` maps a broker to names of partitions, `offline` maps (broker, log dir) to them.
    """
    return [
        f"broker {broker} is down, and its replicas of {named([*names])} are not in sync: start it, or move its "
        f"replicas (drain={broker})"
        for broker, names in sorted(down.items())
    ] + [
        f"broker {broker} has the offline log dir {path}, and its replicas of {named([*names])} are not in sync: if "
        f"it is full, free space on it and restart the broker; if it is broken, mount a new disk "
        f"(playbooks/replace_disk.yml -e broker={broker} -e log_dir={path}), or move its replicas "
        f"(drain={broker})"
        for (broker, path), names in sorted(offline.items())
    ]


def new_since_plan(record: Record, metadata: Metadata) -> list[str]:
    """Return notes on replicas that were created after the plan was made, and that the plan therefore does not include.

    The notes concern replicas on drained brokers, and partitions whose number of replicas is not the declared number.
    """
    notes = []
    for broker in record.leaving:
        held = [str(one) for one in metadata.partitions if broker in one.replicas]
        held = [name for name in held if not record.topics or name.rpartition("-")[0] in record.topics]
        if held:
            notes.append(f"broker {broker} holds {named(held)}, placed there meanwhile: run the same command again")
    differing = [
        str(one) for one in metadata.partitions if record.factors.get(one.topic, len(one.replicas)) != len(one.replicas)
    ]
    if differing:
        notes.append(
            "created meanwhile with a number of replicas other than the declared one: "
            f"{named(differing)}; run the same command again"
        )
    return notes


def foreign_moves(moves: Iterable[Move]) -> str:
    """Return the note on moves that the run left out: a topic was deleted, or another tool moved a partition."""
    names = [str(move) for move in moves]
    return f"{named(names)}: the topic was deleted, or another tool moved it to other brokers; left unchanged"
