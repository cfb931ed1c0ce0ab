"""Reads the state of a cluster before replicas move, and finds the reasons why they may not move."""

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
"""Part of each disk that has to stay free."""
SHOWN = 3


@dataclass(frozen=True)
class Snapshot:
    """The state of a cluster at one time, as its brokers reported it."""

    metadata: Metadata
    racks: Mapping[int, Rack] = field(default_factory=dict)
    """The rack of each broker that is up and reported its rack."""
    dirs: Sequence[LogDir] = ()
    """The log dirs that are online."""
    lost: Mapping[int, str] = field(default_factory=dict)
    """By broker, one of its offline log dirs."""
    running: Mapping[Place, Running] = field(default_factory=dict)
    devices: Devices = field(default_factory=dict)

    @cached_property
    def sizes(self) -> dict[Place, int]:
        """Return {partition: bytes of its largest replica}, as smaller replicas may be incomplete."""
        largest: dict[Place, int] = {}
        for log_dir in self.dirs:
            for place, size in log_dir.sizes.items():
                largest[place] = max(size, largest.get(place, 0))
        return largest

    def partitions(self, only: Collection[str] = ()) -> list[Replicas]:
        """Return the partitions of the topics in `only`, of all topics if it is empty."""
        return [
            Replicas(one.topic, one.number, one.replicas, self.sizes.get((one.topic, one.number), 0))
            for one in self.metadata.partitions
            if not only or one.topic in only
        ]


def look(admin: Admin, metadata: Metadata, devices: Devices = MappingProxyType({})) -> Snapshot:
    """Query the brokers in `metadata` for racks, log dirs and running reassignments.

    Raises AdminError if the cluster does not answer, ImportError if kafka-python is not installed.
    """
    racks = topics.racks(admin, metadata.brokers)
    dirs = log_dirs(admin, metadata.brokers)
    lost = {one.broker: one.path for one in dirs if one.given_up}
    return Snapshot(metadata, racks, [one for one in dirs if not one.given_up], lost, moves.running(admin), devices)


def at_controller(admin: Admin, metadata: Metadata, begun: Collection[Move] = ()) -> Metadata:
    """Return the metadata of the controller, since another broker that has just started may not know all partitions.

    Raises AdminError if the controller does not answer or has changed. Raises AdminError also if it lists no partitions
    although a run has moves (`begun`), unless no log dir holds a replica because all topics were deleted. Raises
    ImportError if kafka-python is not installed.
    """
    address = metadata.brokers.get(metadata.controller)
    if address is None:
        raise AdminError(f"no controller among the {len(metadata.brokers)} known brokers; run the same command again")
    own = kafka_python.metadata_of(admin.properties, f"{address[0]}:{address[1]}", metadata.controller)
    if own.controller != metadata.controller:
        raise AdminError(f"broker {metadata.controller} is not the controller any more; run the same command again")
    if begun and not own.partitions:
        dirs = log_dirs(admin, {*metadata.brokers, *own.brokers})
        if any(one.sizes for one in dirs):
            raise AdminError(no_partitions(own, dirs))
    return own


def no_partitions(metadata: Metadata, dirs: Iterable[LogDir]) -> str:
    """Return the error and advice for a controller that lists no partitions although log dirs hold replicas."""
    held = [f"{name}-{number} in {one.path} of broker {one.broker}" for one in dirs for name, number in one.sizes]
    more = ", ..." if len(held) > SHOWN else ""
    return (
        f"the controller, broker {metadata.controller}, lists no partitions, but brokers hold {len(held)} replicas "
        f"({', '.join(held[:SHOWN])}{more}); it may have just started: run the same command again. If all topics were "
        "deleted, these replicas are left over: stop the broker (stop.yml -l its host), move their folders out of the "
        "log dir, start it"
    )


def lacking(
    partitions: Iterable[Partition],
    brokers: Collection[int],
    leaving: Collection[int],
    lost: Mapping[int, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return {partition: reason} for partitions that keep all moves from starting: no leader, or under-replicated.

    A replica on a drained broker (in `leaving`) may be out of sync, because draining is the remedy. `lost` is {broker:
    its offline log dir}.
    """
    reasons = {}
    for one in partitions:
        behind = sorted(set(one.replicas) - set(one.isr) - set(leaving))
        if one.leader not in brokers:
            reasons[str(one)] = "has no leader: start a broker that has a complete replica, or delete its topic"
        elif behind:
            place = one.topic, one.number
            by_broker = feasibility.unavailable(
                behind, place, brokers, {(broker, place): path for broker, path in lost.items()}
            )
            broker, why = next(iter(by_broker.items()), (behind[0], "is not in sync"))
            drained = ", or drain it" if why.startswith(feasibility.OFFLINE) else ""
            reasons[str(one)] = f"is under-replicated: broker {broker} {why}; {feasibility.remedy(why)}{drained}"
    return reasons


def unhealthy(seen: Snapshot, moving: Collection[Place], leaving: Collection[int]) -> list[str]:
    """Return the reasons why unhealthy partitions keep all moves from starting, each with its partitions.

    A partition is unhealthy if it has no leader or is under-replicated. The partitions in `moving`, which are under
    reassignment, are not checked. Replicas on brokers in `leaving` may be out of sync.
    """
    names_of: dict[str, list[str]] = {}
    others = [one for one in seen.metadata.partitions if (one.topic, one.number) not in moving]
    for name, reason in lacking(others, seen.metadata.brokers, leaving, seen.lost).items():
        names_of.setdefault(reason, []).append(name)
    return [f"{named(names)} {reason}, before anything is moved" for reason, names in names_of.items()]


def moved_by_another_tool(names: Sequence[str]) -> str:
    """Return the text that another tool moves replicas of the partitions `names`."""
    return f"replicas of {named(names)} are being moved by another tool"


def obstacles(seen: Snapshot, wish: Wish, declared: Mapping[int, Rack]) -> list[str]:
    """Return the reasons why no replicas may be moved now; [] if they may.

    Possible reasons: replicas are being moved already, a partition is unhealthy, or new replicas cannot be placed on
    all racks. `declared` is {broker in the inventory: rack}.
    """
    reasons = []
    if seen.running:
        names = [f"{topic}-{number}" for topic, number in sorted(seen.running)]
        reasons.append(
            f"{moved_by_another_tool(names)}, or by a run whose record is not on this control node: wait until that "
            "has ended, or cancel it (kafka-reassign-partitions.sh --cancel)"
        )
    reasons += unhealthy(seen, seen.running, wish.leaving)
    placed = {broker: rack for broker, rack in declared.items() if broker not in wish.leaving}
    there = [broker for broker in seen.metadata.brokers if broker not in wish.leaving]
    return reasons + ([] if wish.leaders else unplaceable(placed, there, dict(seen.racks)))


def named(names: Sequence[str], what: str = "partition") -> str:
    """Return a text as `5 partitions (a-0, a-1, b-0, ...)`: the number of names, and the first SHOWN of them."""
    more = ", ..." if len(names) > SHOWN else ""
    return f"{len(names)} {what}{'s' * (len(names) > 1)} ({', '.join(names[:SHOWN])}{more})"


@dataclass
class Disk:
    """One log dir during the moves: its present size and use, and the bytes that it would receive (`coming`)."""

    broker: int
    path: str
    total: int | None
    free: int | None
    partitions: int
    system: int
    """Number of its file system; log dirs on the same file system have the same number."""
    coming: int = 0


def disks_after(seen: Snapshot, moves: Iterable[Move]) -> list[Disk]:
    """Return a Disk for each online log dir, with the bytes that the moves would copy to it.

    A broker puts a new replica into the log dir with the fewest partitions; a replica whose copy has begun stays in its
    log dir. Removed replicas are not subtracted, because old and new replicas exist at the same time.
    """
    systems = file_systems(seen.dirs, seen.devices)
    disks = [
        Disk(one.broker, one.path, one.total, one.free, len(one.sizes), systems[one.broker, one.path])
        for one in seen.dirs
    ]
    of: dict[int, list[Disk]] = {}
    begun: dict[tuple[int, Place], tuple[Disk, int]] = {}
    for disk, one in zip(disks, seen.dirs, strict=True):
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
    return disks


def too_full(disks: Iterable[Disk]) -> list[str]:
    """Return an error text for each file system of which less than the share RESERVE would stay free."""
    return [text for _, text in overfull(disks)]


def no_room(names: Sequence[str], full: Iterable[str]) -> str:
    """Return the note on partitions that a cancel does not revert; `full` has a text for each disk without room."""
    return f"{named(names)} not reverted, because there is no room: {'; '.join(full)}"


def overfull(disks: Iterable[Disk]) -> list[tuple[int, str]]:
    """Return (broker, error text) for each file system of which less than the share RESERVE would stay free.

    The bytes of log dirs on the same file system are added up.
    """
    of: dict[int, list[Disk]] = {}
    for one in disks:
        if one.coming:
            of.setdefault(one.system, []).append(one)
    refusals = list[tuple[int, str]]()
    for group in of.values():
        one, coming = group[0], sum(disk.coming for disk in group)
        free = min((disk.free for disk in group if disk.free is not None), default=None)
        if free is None or one.total is None:
            continue
        room = free - int(RESERVE * one.total)
        if coming > room:
            paths = " and ".join(sorted(disk.path for disk in group))
            paths += " (on one file system, as far as is known)" if len(group) > 1 else ""
            text = f"broker {one.broker}: {paths} would receive {amounts.size(coming)}, but {amounts.size(free)} are "
            text += f"free, of which {amounts.size(free - room)} must stay free: use a larger disk, add a broker, or "
            text += "shorten a topic's retention"
            refusals.append((one.broker, text))
    return refusals


def before_and_after(seen: Snapshot, moves: Sequence[Move]) -> list[str]:
    """Return a table as lines: rack, replicas, leaders, bytes and fullest disk of each broker, before -> after."""
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
        bytes_then = _change(*(amounts.size(side[broker]) for side in size))
        counts = [_change(str(side[0][broker]), str(side[1][broker])) for side in (held, led)]
        rows.append((str(broker), str(rack), *counts, bytes_then, _fullest(disks, broker, coming)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _change(before: str, after: str) -> str:
    """Return `before -> after`, or only `before` if the two are equal."""
    return before if before == after else f"{before} -> {after}"


def _fullest(disks: Iterable[Disk], broker: int, coming: Mapping[int, int]) -> str:
    """Return the path and use (%) of the broker's log dir that would be the fullest, as `/data/1 40% -> 55%`, or '-'.

    `coming` maps each file system (Disk.system) to the bytes that would be copied to it.
    """
    known = [
        (1 - (one.free - coming[one.system]) / one.total, 1 - one.free / one.total, one.path)
        for one in disks
        if one.broker == broker and one.total and one.free is not None
    ]
    if not known:
        return "-"
    after, before, path = max(known)
    return f"{path} {_change(f'{before:.0%}', f'{after:.0%}')}"
