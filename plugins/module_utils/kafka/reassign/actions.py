"""What is to be done, and how a person is told of it before. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import Shift
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record

NAMED = 20
"""Moves that a plan names; the others are counted."""


@dataclass(frozen=True)
class Work:
    """What is to be done, and what a person is told of it before."""

    record: Record
    lines: Sequence[str] = ()
    left: Sequence[Move | Shift] = ()
    """The moves of the record that are not made yet."""
    off: Sequence[Move] = ()
    """Those of them that are called off, for which nothing is copied."""
    roomless: Sequence[Move] = ()
    """Moves of a cancel that are not begun, for a disk would be full of them; none of `left`."""
    full: Sequence[str] = ()
    """The disks that would be so, in words."""

    @property
    def bytes(self) -> int:
        """Return how many bytes are copied."""
        return sum(one.bytes for one in self.left) - sum(one.bytes for one in self.off)

    @property
    def spared(self) -> int:
        """Return how many bytes of the record are not copied any more, or never."""
        return max(0, sum(one.bytes for one in self.record.moves) - self.bytes)

    @property
    def name(self) -> str:
        """Return what tells this plan from another: from where to where each partition goes, and not its bytes."""
        moves: list[Any] = sorted((one.topic, one.number, one.before, one.after) for one in self.record.moves)
        moves += sorted((one.topic, one.number, one.broker, one.source, one.target) for one in self.record.shifts)
        return hashlib.sha256(json.dumps(moves).encode()).hexdigest()[:8]

    @property
    def text(self) -> list[str]:
        """Return what is printed of it."""
        return [*self.lines, f"plan {self.name} (-e plan={self.name} runs this one, and no other)"]


def listed(what: str, wrong: Sequence[str]) -> str:
    """Return all that is wrong, one in a line."""
    return f"{what}: {len(wrong)} refused" + "".join(f"\n- {text}" for text in wrong)


def lines(made: Record, there: snapshot.Seen, moves: Sequence[Move]) -> list[str]:
    """Return a plan for a person: what is copied, for how long, what brokers hold before and after."""
    copies, size = sum(len(move.added) for move in moves), sum(move.bytes for move in moves)
    fewer = sum(len(move.after) < len(move.before) for move in moves)
    orders = sum(not move.added and len(move.after) == len(move.before) for move in moves)
    text = f"{made.asked}: {len(moves)} partitions change; {copies} replicas are copied, {amounts.size(size)}"
    text += f"; {fewer} lose replicas" if fewer else ""
    text += f"; {orders} only change the order of their replicas" if orders else ""
    told = [text]
    if copies and made.rate:
        each = f"{amounts.speed(made.rate)} a second of each broker"
        seconds = busiest(moves, there.metadata.partitions) / made.rate
        told.append(f"at {each} that takes {amounts.time(max(seconds, 1))} or more")
    told += wanted(made)
    named = [
        f"  {move}: {','.join(map(str, move.before))} -> {','.join(map(str, move.after))}, {amounts.size(move.bytes)}"
        for move in sorted(moves, key=lambda one: (-one.bytes, one.place))[:NAMED]
    ]
    named += [f"  and {len(moves) - NAMED} more"] if len(moves) > NAMED else []
    return [*told, *named, *(f"  {row}" for row in snapshot.before_and_after(there, moves))]


def wanted(made: Record) -> list[str]:
    """Return a line for each number of replicas that topics are declared to have."""
    topics: dict[int, list[str]] = {}
    for name, factor in sorted(made.factors.items()):
        topics.setdefault(factor, []).append(name)
    more = {factor: f", and {len(names) - NAMED} more" for factor, names in topics.items() if len(names) > NAMED}
    return [
        f"  {one} replica{'s' * (one > 1)} each: {', '.join(names[:NAMED])}{more.get(one, '')}"
        for one, names in sorted(topics.items())
    ]


def busiest(moves: Sequence[Move], partitions: Iterable[Partition]) -> int:
    """Return the bytes of the broker that sends or takes most: that long it lasts.

    Who leads a partition sends it. That of which nobody leads any more, as it comes to an empty disk and was given up,
    is sent by nobody.
    """
    leaders = {(one.topic, one.number): one.leader for one in partitions}
    sends, takes = Counter[int](), Counter[int]()
    for move in moves:
        if (leader := leaders.get(move.place, -1)) >= 0:
            sends[leader] += move.bytes
        for broker in move.added:
            takes[broker] += move.size
    return max([*sends.values(), *takes.values()], default=0)
