"""Whether a run of moves has come to its end: what is not as it was to be, and what is to be known of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import feasibility
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.feasibility import NONE, Failed
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import named


def moved(record: Record, metadata: Metadata, lost: Iterable[Move] = ()) -> list[tuple[Move, Partition]]:
    """Return the moves that were to be made, with what is there now: neither lost, nor out of the plan's hands."""
    there = {(one.topic, one.number): one for one in metadata.partitions}
    left = {move.place for move in lost}
    return [
        (move, there[move.place])
        for move in record.moves
        if move.place in there and move.place not in left and not taken_away(move, there[move.place].replicas)
    ]


def taken_away(move: Move, replicas: Collection[int]) -> bool:
    """Tell whether somebody else moved it: what is not on the move has the replicas of before, or of after."""
    return {*replicas} not in ({*move.before}, {*move.after})


def behind(made: Iterable[tuple[Move, Partition]]) -> list[Partition]:
    """Return the partitions of which a replica is not in sync."""
    return [one for _, one in made if {*one.replicas} - {*one.isr}]


def verified(
    record: Record, metadata: Metadata, failed: Failed = NONE, lost: Iterable[Move] = ()
) -> tuple[list[str], list[str]]:
    """Return what is not as it was to be in the end, in words, and notes of brokers that went away.

    A cancel waits for no replica on a disk that `failed`, either.
    """
    found, away, disks = list[str](), dict[int, list[str]](), dict[tuple[int, str], list[str]]()
    for move, one in moved(record, metadata, lost):
        if one.replicas != move.after:
            has, was = (",".join(map(str, brokers)) for brokers in (one.replicas, move.after))
            found.append(f"{one}: its replicas are {has}, and were to be {was}")
            continue
        led = one.leader in metadata.brokers
        out = {*one.replicas} - {*one.isr} if led else {*one.replicas, *one.isr}
        lacks = feasibility.missing(out, move.place, metadata.brokers, failed)
        for broker, why in lacks.items():
            if why == feasibility.DOWN:
                away.setdefault(broker, []).append(str(one))
            elif record.back:
                disks.setdefault((broker, failed[broker, move.place]), []).append(str(one))
            else:
                found.append(f"{one}: broker {broker} {why}")
        lag = sorted(out - lacks.keys()) if led or not (lacks and record.back) else []  # with nobody who could send it
        found += [f"{one}: broker {lag[0]} is not in sync"] if lag else []
    return found, _notes(away, disks)


def _notes(away: Mapping[int, Collection[str]], disks: Mapping[tuple[int, str], Collection[str]]) -> list[str]:
    """Return notes on partitions that lack a broker, or what was on one of its disks."""
    return [
        f"broker {broker} is down, and {named([*names])} lack it: start it, or move what it holds (drain={broker})"
        for broker, names in sorted(away.items())
    ] + [
        f"broker {broker} has given up {path}, and {named([*names])} lack it: mount a new disk (playbooks/"
        f"replace_disk.yml -e broker={broker} -e log_dir={path}), or move what it holds (drain={broker})"
        for (broker, path), names in sorted(disks.items())
    ]


def come(record: Record, metadata: Metadata) -> list[str]:
    """Say what came since the plan was made: to brokers that are to hold nothing, and more partitions of a topic."""
    found = []
    for broker in record.leaving:
        held = [str(one) for one in metadata.partitions if broker in one.replicas]
        held = [name for name in held if not record.topics or name.rpartition("-")[0] in record.topics]
        if held:
            found.append(f"broker {broker} holds {named(held)}, which came there meanwhile: run the same again")
    odd = [one for one in metadata.partitions if record.factors.get(one.topic, len(one.replicas)) != len(one.replicas)]
    if odd:
        names = named([str(one) for one in odd])
        found.append(f"{names} came meanwhile with another number of replicas than is declared: run the same again")
    return found


def strangers(moves: Iterable[Move]) -> str:
    """Say what of a plan somebody else took out of its hands."""
    names = [str(move) for move in moves]
    return f"{named(names)}: the topic was deleted, or somebody else moved it to other brokers; it is left so"
