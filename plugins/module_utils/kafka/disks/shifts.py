"""Computes which replicas move to another log dir of their broker ("shifts"). No I/O.

Equal input gives an equal result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import named
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.file_systems import Devices, file_systems
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import RESERVE, Disk, too_full

EVEN = 0.01
"""Log dirs are balanced if they differ by no more than this part of their average bytes."""


@dataclass(frozen=True)
class DiskWish:
    """The requested change between log dirs; exactly one of the fields `disk`, `empty` and `disks` is set."""

    disk: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """By broker and log dir to empty, the log dir that receives its replicas."""
    empty: Sequence[tuple[int, str]] = ()
    """Brokers and log dirs to empty."""
    disks: Sequence[int] = ()
    """Brokers whose log dirs are balanced by bytes."""
    devices: Devices = field(default_factory=dict)

    @property
    def leaving(self) -> set[tuple[int, str]]:
        """Return (broker, log dir) of each log dir that must hold no replica afterwards."""
        return {*self.disk, *self.empty}

    @property
    def brokers(self) -> list[int]:
        """Return the ids of the brokers whose log dirs the request names, sorted."""
        return sorted({*self.disks, *(broker for broker, _ in self.leaving)})


@dataclass(frozen=True)
class Shift:
    """The move of one replica from the log dir `source` to the log dir `target` of the same broker."""

    topic: str
    number: int
    broker: int
    source: str
    target: str
    size: int = 0

    @property
    def place(self) -> Place:
        """Return the partition as (topic, partition number)."""
        return self.topic, self.number

    @property
    def bytes(self) -> int:
        """Return how many bytes are copied: the size of the replica."""
        return self.size

    def __str__(self) -> str:
        """Return the partition as topic-number, as orders-0 in the logs of brokers."""
        return f"{self.topic}-{self.number}"


@dataclass
class Room:
    """One log dir while shifts are planned, with the replicas that it would hold after the shifts planned so far."""

    path: str
    total: int | None
    free: int | None
    held: dict[Place, int]
    coming: list[int]
    """Bytes of each replica that its file system receives, in any of its log dirs."""

    @property
    def bytes(self) -> int:
        """Return the bytes of all replicas that the log dir would hold."""
        return sum(self.held.values())

    def takes(self, size: int) -> bool:
        """Tell whether the log dir may receive `size` more bytes: the share RESERVE of its disk has to stay free.

        Replicas that leave the log dir are not subtracted. If the size of the disk is unknown, return True.
        """
        if self.total is None or self.free is None:
            return True
        return self.free - sum(self.coming) - size >= int(RESERVE * self.total)


@dataclass(frozen=True)
class Shifts:
    """The result of planning: the shifts, or only the reasons why the request is refused."""

    moves: tuple[Shift, ...] = ()
    refusals: tuple[str, ...] = ()


def wished(disk: Sequence[str], empty: Sequence[str], disks: Sequence[int]) -> DiskWish | None:
    """Parse the options `disk` (as `3:/data/1:/data/2`), `empty` (as `3:/data/1`) and `disks` (broker ids).

    Return None if none of these options is set. Raises ValueError if a text has another form or a log dir occurs twice.
    """
    if not (disk or empty or disks):
        return None
    pairs: dict[tuple[int, str], str] = {}
    for text in disk:
        match = re.fullmatch(r"(\d+):(/[^:]*):(/[^:]*)", text.strip())
        if not match:
            raise ValueError(f"disk {text}: set the broker and two of its log dirs, for example disk=3:/data/1:/data/2")
        source, target = _normal(match[2]), _normal(match[3])
        if source == target or (int(match[1]), source) in pairs:
            raise ValueError(f"disk {text}: {source} is named twice")
        pairs[int(match[1]), source] = target
    emptied = []
    for text in empty:
        match = re.fullmatch(r"(\d+):(/[^:]*)", text.strip())
        if not match:
            raise ValueError(f"empty {text}: set the broker and its log dir, for example empty=3:/data/1")
        emptied.append((int(match[1]), _normal(match[2])))
    wish = DiskWish(pairs, tuple(sorted(emptied)), tuple(sorted(disks)))
    if both := [path for (broker, _), path in pairs.items() if (broker, path) in wish.leaving]:
        raise ValueError(f"disk: {both[0]} is both a source and a target: move one log dir, then the other")
    return wish


def _normal(path: str) -> str:
    """Return a path without slashes at its end."""
    return path.rstrip("/") or "/"


def planned(wish: DiskWish, dirs: Iterable[LogDir], topics: Collection[str] = ()) -> Shifts:
    """Return the shifts for a request, or the reasons to refuse it.

    `dirs` are the log dirs of all brokers, including offline ones. If `topics` is not empty, only replicas of these
    topics move.
    """
    dirs_of: dict[int, list[LogDir]] = {broker: [] for broker in wish.brokers}
    for log_dir in dirs:
        if log_dir.broker in dirs_of:
            dirs_of[log_dir.broker].append(log_dir)
    refusals = [text for broker in wish.brokers for text in impossible(wish, broker, dirs_of[broker])]
    if refusals:
        return Shifts(refusals=tuple(refusals))
    shifts: list[Shift] = []
    for broker in wish.brokers:
        rooms = _rooms([one for one in dirs_of[broker] if not one.given_up], wish.devices)
        before = {place: room.path for room in rooms for place in room.held}
        movable = {place for place in before if not topics or place[0] in topics}
        if broker in wish.disks:
            _balance(rooms, movable)
        for path in sorted(path for number, path in wish.leaving if number == broker):
            refusals += _empty(broker, path, rooms, movable, wish)
        shifts += [
            Shift(*place, broker, before[place], room.path, size)
            for room in rooms
            for place, size in room.held.items()
            if before[place] != room.path
        ]
    moves = sorted(shifts, key=lambda one: (one.broker, one.place))
    return Shifts(refusals=tuple(refusals)) if refusals else Shifts(tuple(moves))


def _rooms(dirs: Iterable[LogDir], devices: Devices) -> list[Room]:
    """Return a Room for each of these log dirs, sorted by path; those on the same file system share `coming`."""
    ordered = sorted(dirs, key=lambda one: one.path)
    systems = file_systems(ordered, devices)
    coming: dict[int, list[int]] = {number: [] for number in systems.values()}
    return [
        Room(one.path, one.total, one.free, dict(one.sizes), coming[systems[one.broker, one.path]]) for one in ordered
    ]


def canceled(left: Iterable[Shift], dirs: Iterable[LogDir]) -> set[Shift]:
    """Return the shifts in `left`, the rest of a cancel, that need no copy.

    The replica of such a shift is still in its old log dir, because it stays there while it is copied to the other log
    dir. So the cancel only has to stop that copy. `dirs` are the log dirs that brokers reported.
    """
    has = {(one.broker, place): one.path for one in dirs for place in one.sizes}
    return {shift for shift in left if has.get((shift.broker, shift.place)) == shift.target}


def no_room(copied: Iterable[Shift], dirs: Iterable[LogDir], devices: Devices) -> list[str]:
    """Return an error text for each file system that is too small for the bytes which the shifts still have to copy.

    `dirs` are the log dirs that brokers reported, `devices` the device numbers that the brokers' hosts reported.
    """
    ordered = list(dirs)
    has = {(one.broker, place): size for one in ordered for place, size in one.sizes.items()}
    arrived = {(one.broker, one.path, place): size for one in ordered for place, size in one.coming.items()}
    more = Counter[tuple[int, str]]()
    for shift in copied:
        already = arrived.get((shift.broker, shift.target, shift.place), 0)
        more[shift.broker, shift.target] += max(0, has.get((shift.broker, shift.place), shift.size) - already)
    systems = file_systems(ordered, devices)
    return too_full(
        Disk(one.broker, one.path, one.total, one.free, 0, systems[key], more[key])
        for one in ordered
        if (key := (one.broker, one.path)) in more
    )


def offline(broker: int, path: str) -> str:
    """Return the error text that a broker starts no copy between its log dirs while its log dir `path` is offline.

    Kafka rejects new copies then (ReplicaManager.alterReplicaLogDirs); running copies continue.
    """
    return (
        f"broker {broker} has the offline log dir {path}, and until it is replaced the broker starts no new copy of a "
        f"replica: if it is full, free space on it and restart the broker; if it is broken, mount a new disk "
        f"(playbooks/replace_disk.yml -e broker={broker} -e log_dir={path})"
    )


def impossible(wish: DiskWish, broker: int, dirs: Sequence[LogDir]) -> list[str]:
    """Return the reasons why this broker cannot do what the request asks of it; [] if it can.

    `dirs` are the log dirs of the broker, none if it is down.
    """
    if not dirs:
        return [f"broker {broker} is down or does not exist: start it, or use another id"]
    known, lost = sorted(one.path for one in dirs), {one.path for one in dirs if one.given_up}
    sources = {path for number, path in wish.leaving if number == broker}
    targets = {path for (number, _), path in wish.disk.items() if number == broker}
    asked = sources | targets | ({*known} if broker in wish.disks else set())
    reasons = [f"broker {broker} has no log dir {path}: it has {', '.join(known)}" for path in sorted(asked - {*known})]
    reasons += [offline(broker, path) for path in sorted(lost)]
    if not reasons and not {*known} - lost - (sources if not targets else set()):
        reasons.append(f"broker {broker} has no log dir besides {', '.join(known)}: add one (kafka_log_dirs)")
    coming = {place for one in dirs for place in one.coming}
    if coming:
        reasons.append(
            f"broker {broker} is already copying {named(coming)} to another log dir, for another tool or for a run "
            "whose record is not on this control node: wait until that has ended"
        )
    return reasons


def _empty(broker: int, path: str, rooms: list[Room], movable: Collection[Place], wish: DiskWish) -> list[str]:
    """Move the movable replicas out of the log dir `path` in `rooms`; return a list with one error if there is no room.

    The largest replica goes first, each to the emptiest of the other log dirs, or to the one that the request names.
    """
    source = next(room for room in rooms if room.path == path)
    chosen = wish.disk.get((broker, path))
    others = [
        room
        for room in rooms
        if (room.path == chosen if chosen else room.path != path and (broker, room.path) not in wish.leaving)
    ]
    kept = 0
    for place, size in sorted(source.held.items(), key=lambda one: (-one[1], one[0])):
        if place not in movable:
            continue
        target = min((room for room in others if room.takes(size)), key=lambda one: (one.bytes, one.path), default=None)
        if target is None:
            kept += size
            continue
        _shift(source, target, place)
    if not kept:
        return []
    free = ", ".join(f"{room.path} {amounts.size(room.free or 0)}" for room in others) or "none"
    return [
        f"broker {broker}: {amounts.size(kept)} of {path} have no room in its other log dirs, of which 10 % must stay "
        f"free (free now: {free}): use a larger disk, move replicas to other brokers, or shorten a topic's retention"
    ]


def _shift(source: Room, target: Room, place: Place) -> None:
    """Move the replica of a partition from one Room to another, and count its bytes as received."""
    size = source.held.pop(place)
    target.held[place] = size
    target.coming.append(size)


def _balance(rooms: list[Room], movable: Collection[Place]) -> None:
    """Shift replicas in `rooms` until all log dirs hold about the same bytes, as far as whole replicas allow it.

    Each step shifts one replica from the fullest log dir to another. Its size is the nearest to the smaller of two
    amounts: the bytes of the fullest log dir above the average, and the bytes of the other log dir below it. So no more
    is copied than needed. Each step brings two log dirs closer, so the loop ends.
    """
    if not rooms:
        return
    level = sum(room.bytes for room in rooms) / len(rooms)
    while True:
        ordered = sorted(rooms, key=lambda one: (one.bytes, one.path))
        fullest = ordered[-1]
        for target in ordered[:-1]:
            apart = fullest.bytes - target.bytes
            if apart <= EVEN * level:
                continue
            best = min(fullest.bytes - level, level - target.bytes)
            fitting = [
                (abs(size - best), size, place)
                for place, size in fullest.held.items()
                if place in movable and 0 < size < apart and target.takes(size)
            ]
            if fitting:
                _shift(fullest, target, min(fitting)[2])
                break
        else:
            return
