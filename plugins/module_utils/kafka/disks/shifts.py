"""Which replicas go from one log dir of a broker to another. Pure; always the same for the same."""

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
"""Of what the log dirs of a broker hold on average: dirs that differ by no more are even."""


@dataclass(frozen=True)
class DiskWish:
    """What is asked for: one of these."""

    disk: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """By broker and log dir, the one that is to hold what that holds."""
    empty: Sequence[tuple[int, str]] = ()
    """Brokers and log dirs that are to hold nothing."""
    disks: Sequence[int] = ()
    """Brokers whose log dirs are to hold the same bytes."""
    devices: Devices = field(default_factory=dict)

    @property
    def leaving(self) -> set[tuple[int, str]]:
        """Return the log dirs that are to hold nothing."""
        return {*self.disk, *self.empty}

    @property
    def brokers(self) -> list[int]:
        """Return the brokers that it is about."""
        return sorted({*self.disks, *(broker for broker, _ in self.leaving)})


@dataclass(frozen=True)
class Shift:
    """One replica that goes to another log dir of its broker."""

    topic: str
    number: int
    broker: int
    source: str
    target: str
    size: int = 0

    @property
    def place(self) -> Place:
        """Return topic and number."""
        return self.topic, self.number

    @property
    def bytes(self) -> int:
        """Return how many bytes are copied."""
        return self.size

    def __str__(self) -> str:
        """Return topic-number, as in the broker's own logs."""
        return f"{self.topic}-{self.number}"


@dataclass
class Room:
    """One log dir, as it would be after the shifts so far."""

    path: str
    total: int | None
    free: int | None
    held: dict[Place, int]
    coming: list[int]
    """Bytes of each replica that comes to its file system, to another log dir there, too."""

    @property
    def bytes(self) -> int:
        """Return what it would hold."""
        return sum(self.held.values())

    def takes(self, size: int) -> bool:
        """Tell whether so many bytes more leave a tenth of it free; what goes away meanwhile is not counted."""
        if self.total is None or self.free is None:
            return True
        return self.free - sum(self.coming) - size >= int(RESERVE * self.total)


@dataclass(frozen=True)
class Shifts:
    """What is to be done; where there is one refusal, nothing is."""

    moves: tuple[Shift, ...] = ()
    refusals: tuple[str, ...] = ()


def wished(disk: Sequence[str], empty: Sequence[str], disks: Sequence[int]) -> DiskWish | None:
    """Return what is asked for, None where nothing is. Raises ValueError."""
    if not (disk or empty or disks):
        return None
    pairs: dict[tuple[int, str], str] = {}
    for text in disk:
        found = re.fullmatch(r"(\d+):(/[^:]*):(/[^:]*)", text.strip())
        if not found:
            raise ValueError(f"disk {text}: say the broker and two of its log dirs, as disk=3:/data/1:/data/2")
        source, target = _plain(found[2]), _plain(found[3])
        if source == target or (int(found[1]), source) in pairs:
            raise ValueError(f"disk {text}: {source} is named twice")
        pairs[int(found[1]), source] = target
    emptied = []
    for text in empty:
        found = re.fullmatch(r"(\d+):(/[^:]*)", text.strip())
        if not found:
            raise ValueError(f"empty {text}: say the broker and its log dir, as empty=3:/data/1")
        emptied.append((int(found[1]), _plain(found[2])))
    wish = DiskWish(pairs, tuple(sorted(emptied)), tuple(sorted(disks)))
    if both := [path for (broker, _), path in pairs.items() if (broker, path) in wish.leaving]:
        raise ValueError(f"disk: {both[0]} is to hold nothing, and to get what another holds: move one, then the other")
    return wish


def _plain(path: str) -> str:
    return path.rstrip("/") or "/"


def planned(wish: DiskWish, dirs: Iterable[LogDir], topics: Collection[str] = ()) -> Shifts:
    """Return the shifts that make a wish come true; `dirs` are those of all brokers, those that failed among them.

    With `topics` the replicas of all others stay where they are.
    """
    of: dict[int, list[LogDir]] = {broker: [] for broker in wish.brokers}
    for one in dirs:
        if one.broker in of:
            of[one.broker].append(one)
    wrong = [text for broker in wish.brokers for text in impossible(wish, broker, of[broker])]
    if wrong:
        return Shifts(refusals=tuple(wrong))
    found: list[Shift] = []
    for broker in wish.brokers:
        rooms = _rooms([one for one in of[broker] if not one.given_up], wish.devices)
        before = {place: room.path for room in rooms for place in room.held}
        movable = {place for place in before if not topics or place[0] in topics}
        if broker in wish.disks:
            _even(rooms, movable)
        for path in sorted(path for number, path in wish.leaving if number == broker):
            wrong += _emptied(broker, path, rooms, movable, wish)
        found += [
            Shift(*place, broker, before[place], room.path, size)
            for room in rooms
            for place, size in room.held.items()
            if before[place] != room.path
        ]
    moves = sorted(found, key=lambda one: (one.broker, one.place))
    return Shifts(refusals=tuple(wrong)) if wrong else Shifts(tuple(moves))


def _rooms(dirs: Iterable[LogDir], devices: Devices) -> list[Room]:
    """Return the log dirs of a broker in the order of their paths: in which it tells them changes nothing."""
    ordered = sorted(dirs, key=lambda one: one.path)
    systems = file_systems(ordered, devices)
    coming: dict[int, list[int]] = {number: [] for number in systems.values()}
    return [
        Room(one.path, one.total, one.free, dict(one.sizes), coming[systems[one.broker, one.path]]) for one in ordered
    ]


def called_off(left: Iterable[Shift], dirs: Iterable[LogDir]) -> set[Shift]:
    """Return those of which nothing is copied: the replica is where it is to be, and is on its way from there."""
    has = {(one.broker, place): one.path for one in dirs for place in one.sizes}
    return {shift for shift in left if has.get((shift.broker, shift.place)) == shift.target}


def no_room(copied: Iterable[Shift], dirs: Iterable[LogDir], devices: Devices) -> list[str]:
    """Return which log dirs would not hold what is still to come to them: less what has come already."""
    ordered = list(dirs)
    has = {(one.broker, place): size for one in ordered for place, size in one.sizes.items()}
    come = {(one.broker, one.path, place): size for one in ordered for place, size in one.coming.items()}
    more = Counter[tuple[int, str]]()
    for shift in copied:
        already = come.get((shift.broker, shift.target, shift.place), 0)
        more[shift.broker, shift.target] += max(0, has.get((shift.broker, shift.place), shift.size) - already)
    systems = file_systems(ordered, devices)
    return too_full(
        Disk(one.broker, one.path, one.total, one.free, 0, systems[key], more[key])
        for one in ordered
        if (key := (one.broker, one.path)) in more
    )


def offline(broker: int, path: str) -> str:
    """Return why a broker copies nothing (ReplicaManager.alterReplicaLogDirs); what it has begun goes on."""
    return (
        f"broker {broker} has given up {path}, and beside a log dir that is offline it makes no replica anew: mount a "
        f"new disk (playbooks/replace_disk.yml -e broker={broker} -e log_dir={path})"
    )


def impossible(wish: DiskWish, broker: int, dirs: Sequence[LogDir]) -> list[str]:
    """Return why a broker can do nothing of it."""
    if not dirs:
        return [f"broker {broker} is down, or there is none: start it, or name another"]
    known, lost = sorted(one.path for one in dirs), {one.path for one in dirs if one.given_up}
    sources = {path for number, path in wish.leaving if number == broker}
    targets = {path for (number, _), path in wish.disk.items() if number == broker}
    asked = sources | targets | ({*known} if broker in wish.disks else set())
    wrong = [f"broker {broker} has no log dir {path}: it has {', '.join(known)}" for path in sorted(asked - {*known})]
    wrong += [offline(broker, path) for path in sorted(lost)]
    if not wrong and not {*known} - lost - (sources if not targets else set()):
        wrong.append(f"broker {broker} has no other log dir than {', '.join(known)}: give it one more (kafka_log_dirs)")
    coming = {place for one in dirs for place in one.coming}
    if coming:
        wrong.append(
            f"broker {broker} copies {named(coming)} from one log dir to another already, for somebody else, or for a "
            "run whose record is not on this control node: wait until that has ended"
        )
    return wrong


def _emptied(broker: int, path: str, rooms: list[Room], movable: Collection[Place], wish: DiskWish) -> list[str]:
    """Take all out of a log dir, the largest first, each to where least is; return what has no room."""
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
        f"broker {broker}: {amounts.size(kept)} of {path} have no room in its other log dirs, where a tenth stays free "
        f"(free now: {free}): give it a larger disk, move replicas to other brokers, or shorten a topic's retention"
    ]


def _shift(source: Room, target: Room, place: Place) -> None:
    size = source.held.pop(place)
    target.held[place] = size
    target.coming.append(size)


def _even(rooms: list[Room], movable: Collection[Place]) -> None:
    """Have log dirs hold the same bytes, as far as whole replicas let them.

    From the fullest to one that holds less, again and again, what comes nearest to what the one has too much of and the
    other lacks: no more is copied than that. Each step brings two of them closer, so it ends.
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
