"""Describes what a run will do, as the plan that is printed before anything moves. No I/O."""

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
    """The plan of one run: its record, the moves still to be made, and the lines to print before the run starts."""

    record: Record
    lines: Sequence[str] = ()
    left: Sequence[Move | Shift] = ()
    """The moves of the record that are not made yet."""
    canceled: Sequence[Move] = ()
    """The moves in `left` whose running reassignment is only canceled; nothing is copied for them."""
    roomless: Sequence[Move] = ()
    """Moves that a cancel does not start because a disk would be too full; they are not in `left`."""
    full: Sequence[str] = ()
    """The disks that would be too full, as texts."""

    @property
    def bytes(self) -> int:
        """Return how many bytes this run copies: the moves in `left`, without those that it only cancels."""
        return sum(move.bytes for move in self.left) - sum(move.bytes for move in self.canceled)

    @property
    def spared(self) -> int:
        """Return how many bytes of the record's moves this run does not copy: moves that are made or only canceled."""
        return max(0, sum(move.bytes for move in self.record.moves) - self.bytes)

    @property
    def name(self) -> str:
        """Return the plan's name, 8 hexadecimal digits that a user can pass as -e plan=NAME to run exactly this plan.

        The name is a hash of each partition's brokers (or log dirs) before and after. Sizes do not change it.
        """
        moves: list[Any] = sorted((one.topic, one.number, one.before, one.after) for one in self.record.moves)
        moves += sorted((one.topic, one.number, one.broker, one.source, one.target) for one in self.record.shifts)
        return hashlib.sha256(json.dumps(moves).encode()).hexdigest()[:8]

    @property
    def text(self) -> list[str]:
        """Return the lines to print: the lines of the plan, then a line with the plan's name."""
        return [*self.lines, f"plan {self.name} (-e plan={self.name} runs only this plan)"]


def listed(headline: str, reasons: Sequence[str]) -> str:
    """Return the text of an error: `headline` with the number of `reasons`, then each reason on a line of its own."""
    count = f"{len(reasons)} reason{'s' * (len(reasons) > 1)}"
    return f"{headline}, for {count}:" + "".join(f"\n- {reason}" for reason in reasons)


def lines(record: Record, there: snapshot.Snapshot, moves: Sequence[Move]) -> list[str]:
    """Return the lines that show `moves` to the user before they are made.

    The lines are: the bytes to copy, the least duration at the rate in the record, the first NAMED moves, and a table
    of what each broker of `there` holds before and after.
    """
    copies, size = sum(len(move.added) for move in moves), sum(move.bytes for move in moves)
    fewer = sum(len(move.after) < len(move.before) for move in moves)
    orders = sum(not move.added and len(move.after) == len(move.before) for move in moves)
    headline = f"{record.asked}: {len(moves)} partitions change; {copies} replicas are copied, {amounts.size(size)}"
    headline += f"; {fewer} lose replicas" if fewer else ""
    headline += f"; {orders} only change the order of their replicas" if orders else ""
    text = [headline]
    if copies and record.rate:
        seconds = busiest(moves, there.metadata.partitions) / record.rate
        text.append(f"at {amounts.speed(record.rate)}/s per broker this takes {amounts.time(max(seconds, 1))} or more")
    text += declared_factors(record)
    named = [
        f"  {move}: {','.join(map(str, move.before))} -> {','.join(map(str, move.after))}, {amounts.size(move.bytes)}"
        for move in sorted(moves, key=lambda one: (-one.bytes, one.place))[:NAMED]
    ]
    named += [f"  and {len(moves) - NAMED} more"] if len(moves) > NAMED else []
    return [*text, *named, *(f"  {row}" for row in snapshot.before_and_after(there, moves))]


def declared_factors(record: Record) -> list[str]:
    """Return lines of the plan: for each declared number of replicas in the record, the topics that get this number."""
    topics: dict[int, list[str]] = {}
    for name, factor in sorted(record.factors.items()):
        topics.setdefault(factor, []).append(name)
    more = {factor: f", and {len(names) - NAMED} more" for factor, names in topics.items() if len(names) > NAMED}
    return [
        f"  {factor} replica{'s' * (factor > 1)} each: {', '.join(names[:NAMED])}{more.get(factor, '')}"
        for factor, names in sorted(topics.items())
    ]


def busiest(moves: Sequence[Move], partitions: Iterable[Partition]) -> int:
    """Return the bytes that the most loaded broker has to send or to receive.

    This number divided by the rate is the least duration of the moves. The leader of a partition sends the data.
    Nothing is sent for a partition without a leader: it is recreated empty on a new disk, because its records were
    given up.
    """
    leaders = {(one.topic, one.number): one.leader for one in partitions}
    sent, received = Counter[int](), Counter[int]()
    for move in moves:
        if (leader := leaders.get(move.place, -1)) >= 0:
            sent[leader] += move.bytes
        for broker in move.added:
            received[broker] += move.size
    return max([*sent.values(), *received.values()], default=0)
