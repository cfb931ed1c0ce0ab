"""One look at a cluster before replicas move, and why they may not; no Ansible import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python, moves, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    Admin,
    AdminError,
    Metadata,
    Partition,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir, log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.moves import Running
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack, unplaceable
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, feasibility
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.file_systems import Devices, file_systems
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move, Wish
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.replica_layout import Replicas

RESERVE = 0.1
"""Of each disk that stays free."""
SHOWN = 3


@dataclass(frozen=True)
class Seen:
    """What brokers said."""

    metadata: Metadata
    racks: Mapping[int, Rack] = field(default_factory=dict)
    """Of each broker that is there and said it."""
    dirs: Sequence[LogDir] = ()
    """Those that brokers serve from."""
    lost: Mapping[int, str] = field(default_factory=dict)
    """By broker, one that it gave up."""
    running: Mapping[Place, Running] = field(default_factory=dict)
    devices: Devices = field(default_factory=dict)

    @cached_property
    def sizes(self) -> dict[Place, int]:
        """Return the bytes of one replica of each partition: the largest, for others may lag."""
        found: dict[Place, int] = {}
        for one in self.dirs:
            for place, size in one.sizes.items():
                found[place] = max(size, found.get(place, 0))
        return found

    def partitions(self, only: Collection[str] = ()) -> list[Replicas]:
        """Return the partitions of these topics, of all where none is named."""
        return [
            Replicas(one.topic, one.number, one.replicas, self.sizes.get((one.topic, one.number), 0))
            for one in self.metadata.partitions
            if not only or one.topic in only
        ]


def look(admin: Admin, metadata: Metadata, devices: Devices = MappingProxyType({})) -> Seen:
    """Ask. Raises AdminError, ImportError."""
    racks = topics.racks(admin, metadata.brokers)
    dirs = log_dirs(admin, metadata.brokers)
    lost = {one.broker: one.path for one in dirs if one.given_up}
    return Seen(metadata, racks, [one for one in dirs if not one.given_up], lost, moves.running(admin), devices)


def at_controller(admin: Admin, metadata: Metadata, begun: Collection[Move] = ()) -> Metadata:
    """Return what the controller itself says: a broker that has just started knows no partitions or brokers yet.

    Where moves were begun and it names no partitions, it is believed if no log dir holds any, either: else nothing
    that was begun would ever end. Raises AdminError where nobody can be believed, ImportError.
    """
    place = metadata.brokers.get(metadata.controller)
    if place is None:
        raise AdminError(f"no controller among the {len(metadata.brokers)} brokers that are known; run it again")
    found = kafka_python.metadata_of(admin.properties, f"{place[0]}:{place[1]}", metadata.controller)
    if found.controller != metadata.controller:
        raise AdminError(f"broker {metadata.controller} is not the controller any more; run it again")
    if begun and not found.partitions:
        dirs = log_dirs(admin, {*metadata.brokers, *found.brokers})
        if any(one.sizes for one in dirs):
            raise AdminError(nameless(found, dirs))
    return found


def nameless(metadata: Metadata, dirs: Iterable[LogDir]) -> str:
    """Say why a controller that names no partitions is not believed, and what is in the way where it is right."""
    held = [f"{name}-{number} in {one.path} of broker {one.broker}" for one in dirs for name, number in one.sizes]
    more = ", ..." if len(held) > SHOWN else ""
    return (
        f"the controller, broker {metadata.controller}, names no partitions, and brokers hold {len(held)} replicas "
        f"({', '.join(held[:SHOWN])}{more}); it may have just started: run it again. Where there are no topics any "
        "more, they were left behind: stop the broker (stop.yml -l its host), take their folders out of the log dir, "
        "start it"
    )


def lacking(
    partitions: Iterable[Partition],
    brokers: Collection[int],
    leaving: Collection[int],
    lost: Mapping[int, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the partitions that nobody may move or wait beside, each with why.

    That lacks in sync who is to hold nothing any more, the `leaving`, is no reason: to mend it is what they ask for.
    """
    found = {}
    for one in partitions:
        behind = sorted(set(one.replicas) - set(one.isr) - set(leaving))
        if one.leader not in brokers:
            found[str(one)] = "has no leader; start a broker that has all of it, or delete its topic"
        elif behind:
            place = one.topic, one.number
            lacks = feasibility.missing(
                behind, place, brokers, {(broker, place): path for broker, path in lost.items()}
            )
            broker, why = next(iter(lacks.items()), (behind[0], "is not in sync"))
            drained = ", or drain it" if why.startswith(feasibility.GIVEN_UP) else ""
            found[str(one)] = f"is under-replicated: broker {broker} {why}; {feasibility.cure(why)}{drained}"
    return found


def unwell(seen: Seen, moving: Collection[Place], leaving: Collection[int]) -> list[str]:
    """Return why nothing may be moved beside partitions that are not on the move, each reason once."""
    why: dict[str, list[str]] = {}
    others = [one for one in seen.metadata.partitions if (one.topic, one.number) not in moving]
    for name, reason in lacking(others, seen.metadata.brokers, leaving, seen.lost).items():
        why.setdefault(reason, []).append(name)
    return [f"{named(names)} {reason}, before anything is moved" for reason, names in why.items()]


def in_the_way(seen: Seen, wish: Wish, declared: Mapping[int, Rack]) -> list[str]:
    """Return why nothing may be moved now, whatever it is."""
    wrong = []
    if seen.running:
        wrong.append(
            f"replicas of {named([f'{t}-{n}' for t, n in sorted(seen.running)])} are being moved by somebody else, or "
            "by a run whose record is not on this control node: wait until that has ended, or call it off "
            "(kafka-reassign-partitions.sh --cancel)"
        )
    wrong += unwell(seen, seen.running, wish.leaving)
    placed = {broker: rack for broker, rack in declared.items() if broker not in wish.leaving}
    there = [broker for broker in seen.metadata.brokers if broker not in wish.leaving]
    return wrong + ([] if wish.leaders else unplaceable(placed, there, dict(seen.racks)))


def named(names: Sequence[str], what: str = "partition") -> str:
    """Return partitions, or topics, by name, the first of them."""
    more = ", ..." if len(names) > SHOWN else ""
    return f"{len(names)} {what}{'s' * (len(names) > 1)} ({', '.join(names[:SHOWN])}{more})"


@dataclass
class Disk:
    """One log dir as it would be."""

    broker: int
    path: str
    total: int | None
    free: int | None
    partitions: int
    system: int
    """Those of one file system have the same number."""
    coming: int = 0


def disks_after(seen: Seen, moves: Iterable[Move]) -> list[Disk]:
    """Return the log dirs with what each would get: a broker puts a new replica where fewest partitions are.

    What is taken away meanwhile is not counted: old and new replicas are there together. Of what is on its way there
    already, the rest comes to where it is.
    """
    systems = file_systems(seen.dirs, seen.devices)
    found = [
        Disk(one.broker, one.path, one.total, one.free, len(one.sizes), systems[one.broker, one.path])
        for one in seen.dirs
    ]
    of: dict[int, list[Disk]] = {}
    begun: dict[tuple[int, Place], tuple[Disk, int]] = {}
    for disk, one in zip(found, seen.dirs, strict=True):
        of.setdefault(disk.broker, []).append(disk)
        begun |= {(disk.broker, place): (disk, size) for place, size in one.sizes.items()}
    for move in moves:
        size = max(move.size, seen.sizes.get(move.place, 0))
        for broker in move.added if size else ():
            if (broker, move.place) in begun:
                disk, has = begun[broker, move.place]
                disk.coming += max(0, size - has)
            elif broker in of:
                disk = min(of[broker], key=lambda one: (one.partitions, one.path))
                disk.partitions += 1
                disk.coming += size
    return found


def too_full(disks: Iterable[Disk]) -> list[str]:
    """Return the disks that would not hold what comes to them, to all of their log dirs."""
    return [text for _, text in overfull(disks)]


def no_room(names: Sequence[str], full: Iterable[str]) -> str:
    """Say what of a cancel is not begun, for disks would be full of it."""
    return f"{named(names)} have no room where they were, and are not put back: {'; '.join(full)}"


def overfull(disks: Iterable[Disk]) -> list[tuple[int, str]]:
    """Return the same with their brokers."""
    of: dict[int, list[Disk]] = {}
    for one in disks:
        if one.coming:
            of.setdefault(one.system, []).append(one)
    wrong = list[tuple[int, str]]()
    for group in of.values():
        one, coming = group[0], sum(disk.coming for disk in group)
        free = min((disk.free for disk in group if disk.free is not None), default=None)
        if free is None or one.total is None:
            continue
        room = free - int(RESERVE * one.total)
        if coming > room:
            there = f"{amounts.size(free)} are free there, of which {amounts.size(free - room)} stay so"
            paths = " and ".join(sorted(disk.path for disk in group))
            paths += ", on one file system by all that is known," if len(group) > 1 else ""
            text = f"broker {one.broker}: {paths} would get {amounts.size(coming)}, and {there}: "
            text += "give it a larger disk, add a broker, or shorten a topic's retention"
            wrong.append((one.broker, text))
    return wrong


def before_and_after(seen: Seen, moves: Sequence[Move]) -> list[str]:
    """Return a table of what each broker holds and leads, and would: lines of columns."""
    then = {one.place: one.after for one in moves}
    held, led, size = ((Counter[int](), Counter[int]()) for _ in range(3))
    for one in seen.partitions():
        for side, brokers in enumerate((one.brokers, then.get(one.place, one.brokers))):
            held[side].update(brokers)
            led[side].update(brokers[:1])
            for broker in brokers:
                size[side][broker] += one.size
    disks = disks_after(seen, moves)
    coming = Counter[int]()
    for disk in disks:
        coming[disk.system] += disk.coming
    rows: list[tuple[str, ...]] = [("broker", "rack", "replicas", "leaders", "bytes", "fullest disk")]
    for broker in sorted({*seen.metadata.brokers, *held[0], *held[1]}):
        rack = seen.racks.get(broker) or "-" if broker in seen.metadata.brokers else "(down)"
        bytes_then = _became(*(amounts.size(side[broker]) for side in size))
        counts = [_became(str(side[0][broker]), str(side[1][broker])) for side in (held, led)]
        rows.append((str(broker), str(rack), *counts, bytes_then, _fullest(disks, broker, coming)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _became(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _fullest(disks: Iterable[Disk], broker: int, coming: Mapping[int, int]) -> str:
    """Return the disk of a broker that would be the fullest, in per cent; `coming` is what its file system gets."""
    known = [
        (1 - (one.free - coming[one.system]) / one.total, 1 - one.free / one.total, one.path)
        for one in disks
        if one.broker == broker and one.total and one.free is not None
    ]
    if not known:
        return "-"
    after, before, path = max(known)
    return f"{path} {_became(f'{before:.0%}', f'{after:.0%}')}"
