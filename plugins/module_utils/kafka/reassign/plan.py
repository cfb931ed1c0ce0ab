"""What somebody asks for becomes moves, or the reasons why it cannot be had. Pure; always the same for the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import balance
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.replica_layout import (
    Layout,
    Replicas,
    shares,
)

SHOWN = 3
"""Partitions or topics that are named; the others are counted."""


@dataclass(frozen=True)
class Wish:
    """What is asked for: one of these."""

    add: Sequence[int] = ()
    """Brokers that are to hold their share."""
    drain: Sequence[int] = ()
    """Brokers that are to hold nothing."""
    replace: Mapping[int, int] = field(default_factory=dict)
    """By broker, the one that is to hold what it holds."""
    rebalance: bool = False
    leaders: bool = False
    """Leaders alone are evened out; nothing is copied."""
    factors: Mapping[str, int] = field(default_factory=dict)
    """By topic, how many replicas each of its partitions is to have."""
    fewer_racks: bool = False
    """Partitions may come to be in fewer racks than they are, or with more replicas in one."""

    @property
    def leaving(self) -> set[int]:
        """Return the brokers that are to hold nothing."""
        return {*self.drain, *self.replace}


@dataclass(frozen=True)
class Move:
    """One partition that gets other replicas, or the same in another order."""

    topic: str
    number: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    size: int = 0
    """Bytes of one replica."""

    @property
    def place(self) -> Place:
        """Return topic and number."""
        return self.topic, self.number

    @property
    def added(self) -> tuple[int, ...]:
        """Return the brokers that copy it."""
        return tuple(one for one in self.after if one not in self.before)

    @property
    def bytes(self) -> int:
        """Return how many bytes are copied."""
        return self.size * len(self.added)

    def __str__(self) -> str:
        """Return topic-number, as in the broker's own logs."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True)
class Plan:
    """What is to be moved; where there is one refusal, nothing is."""

    moves: tuple[Move, ...] = ()
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def plan(
    wish: Wish,
    racks: Mapping[int, Rack],
    partitions: Sequence[Replicas],
    declared: Mapping[int, Rack] = MappingProxyType({}),
) -> Plan:
    """Return the moves that make a wish come true.

    `racks` are those of the brokers that are there, `declared` those of all that are to be: a dead one's is known too.
    Where some are declared, nothing is moved to others.
    """
    empty = [one for one in partitions if not one.brokers]
    partitions = sorted((one for one in partitions if one.brokers), key=lambda one: one.place)
    known = racks.keys() & declared.keys() if declared else racks.keys()
    stay = {broker: rack for broker, rack in racks.items() if broker in known - wish.leaving}
    strange = [
        f"broker {one} is not in the inventory: nothing is moved to it; add its host first"
        for one in sorted({*wish.add, *wish.replace.values()} & racks.keys() - known)
    ]
    if refusals := strange + impossible(wish, racks, stay, partitions):
        return Plan(refusals=tuple(refusals))
    layout = Layout(stay, partitions, {one: racks[one] for one in racks.keys() - stay.keys() - wish.leaving})
    wanted = shares(layout, lambda place: wish.factors.get(place[0], len(layout.now[place])))
    if wish.factors:
        _change_factors(layout, wanted, wish.factors)
    elif wish.replace:
        for place, old in _largest_first(layout, wish.leaving):
            layout.move(place, old, wish.replace[old])
    elif wish.drain:
        _drain(layout, wanted, wish.leaving)
    elif wish.add or wish.rebalance:
        targets = wish.add or tuple(stay)
        balance.repair(layout, wanted, targets)
        balance.spread(layout, wanted, targets)
    if not wish.replace:
        balance.leaders(layout, [place for place in layout.now if layout.changed(place)])
        balance.leaders(layout, list(layout.now))
    moves = tuple(
        Move(*place, one.brokers, tuple(layout.now[place]), one.size)
        for place, one in layout.there.items()
        if one.brokers != tuple(layout.now[place])
    )
    lost = [] if wish.fewer_racks else _in_fewer_racks({**declared, **racks}, moves)
    notes = [f"{_named(empty)} without any replica {'is' if len(empty) == 1 else 'are'} left out"] if empty else []
    return Plan(() if lost else moves, tuple(lost), (*notes, *_unreached(layout, moves)))


def _largest_first(layout: Layout, leaving: Collection[int]) -> list[tuple[Place, int]]:
    """Return each replica on brokers that are to hold nothing, the largest first."""
    found = [(place, one) for place, brokers in layout.now.items() for one in brokers if one in leaving]
    return sorted(found, key=lambda one: (-layout.there[one[0]].size, one))


def _drain(layout: Layout, wanted: Mapping[int, float], leaving: Collection[int]) -> None:
    for place, old in _largest_first(layout, leaving):
        at = layout.now[place].index(old)
        layout.remove(place, old)
        target = layout.best(place, wanted, layout.racks)
        assert target is not None, "refused before: fewer brokers than replicas"
        layout.add(place, target)
        layout.now[place].insert(at, layout.now[place].pop())


def _change_factors(layout: Layout, wanted: Mapping[int, float], factors: Mapping[str, int]) -> None:
    """Take replicas of topics away, or add some; the leader stays one."""
    for place, one in layout.there.items():
        factor = factors.get(one.topic, len(one.brokers))
        while len(layout.now[place]) > factor:
            counts = layout.in_racks(layout.now[place])

            def spare(broker: int, counts: Mapping[Rack, int] = counts) -> tuple[float, ...]:
                if broker not in layout.where:
                    return float("inf"), 0, broker
                over = layout.held(broker) - wanted.get(broker, float("-inf"))  # one that may hold none goes first
                return counts[layout.where[broker]], over, broker

            layout.remove(place, max(layout.now[place][1:], key=spare))
        while len(layout.now[one.place]) < factor:
            target = layout.best(place, wanted, layout.racks)
            assert target is not None, "refused before: fewer brokers than replicas"
            layout.add(place, target)


def impossible(
    wish: Wish, racks: Mapping[int, Rack], stay: Mapping[int, Rack], partitions: Iterable[Replicas]
) -> list[str]:
    """Return why a wish cannot come true at all: brokers that are not there, too few of them."""
    held = Counter(broker for one in partitions for broker in one.brokers)
    wrong = [
        f"broker {one} is not registered: nothing can be moved to it; start it (site.yml installs it)"
        for one in sorted({*wish.add, *wish.replace.values()} - racks.keys())
    ]
    wrong += [
        f"broker {one} is not registered, and no partition counts on a replica there: there is nothing to move from it"
        for one in sorted(wish.leaving - racks.keys() - held.keys())
    ]
    for old, new in wish.replace.items():
        both = [one for one in partitions if old in one.brokers and new in one.brokers]
        if both:
            wrong.append(
                f"replace {old} by {new}: broker {new} holds {_named(both)}, too; "
                f"drain={old} spreads its replicas over all brokers"
            )
    many: dict[int, list[Replicas]] = {}
    for one in partitions:
        wanted = wish.factors.get(one.topic, len(one.brokers) if wish.leaving & {*one.brokers} else 0)
        if wanted > len(stay.keys() | {*one.brokers} - wish.leaving):
            many.setdefault(wanted, []).append(one)
    if many and not wrong:
        lost = sorted({str(racks[one]) for one in wish.leaving & racks.keys() if racks[one]})
        where = f" of rack {' or '.join(lost)}" if lost else ""
        wrong += [
            f"{_named(found)} {'is' if len(found) == 1 else 'are'} to have {wanted} replicas, and {len(stay)} brokers "
            f"would be left for them: add a broker{where} first, or lower replication_factor"
            for wanted, found in sorted(many.items())
        ]
    return wrong


def _in_fewer_racks(racks: Mapping[int, Rack], moves: Iterable[Move]) -> list[str]:
    """Refuse what would have partitions in fewer racks than they are in, but for replicas taken away.

    So is what would have as many replicas with more of them in one rack: more would be lost with that one. A replica
    whose rack nobody knows may have been in any.
    """
    gone: dict[Rack, list[Move]] = {}
    heaped: dict[tuple[Rack, int, int, Rack], list[Move]] = {}
    for move in moves:
        before, after = (Counter(racks[one] for one in ids if racks.get(one)) for ids in (move.before, move.after))
        less = min((before - after).keys(), key=str, default=None)
        most, now = (max(counts.values(), default=0) for counts in (after, before))
        if len(after) < len(before) and len(move.after) >= len(move.before):
            gone.setdefault(min(before.keys() - after.keys(), key=str), []).append(move)
        elif len(move.after) == len(move.before) and most > now + len(move.before) - before.total():
            rack = min((rack for rack, number in after.items() if number == most), key=str)
            heaped.setdefault((rack, most, now, less), []).append(move)
    return [
        f"{_named(found)} would be in fewer racks than now, without rack {rack}: add a broker of rack {rack} first, "
        "or say fewer_racks=true if that rack is to go"
        for rack, found in gone.items()
    ] + [
        f"{_named(found)} would have {most} replicas in rack {rack}, and now {'has' if len(found) == 1 else 'have'} at "
        f"most {now} in one: more would be lost with that rack; add a broker of rack {less} first, or say "
        "fewer_racks=true if that is meant"
        for (rack, most, now, less), found in heaped.items()
    ]


def _unreached(layout: Layout, moves: Sequence[Move]) -> list[str]:
    """Return what the moves leave uneven that they were free to mend, and what would."""
    touched = {move.place for move in moves}
    uneven = [layout.there[place] for place in layout.now if place in touched and layout.uneven(layout.now[place])]
    return [f"{_named(uneven)} would still be uneven over racks: -e rebalance=true mends it"] if uneven else []


def _named(found: Sequence[Replicas] | Sequence[Move]) -> str:
    """Return partitions by name, the first of them."""
    names = ", ".join(f"{one.topic}-{one.number}" for one in found[:SHOWN])
    return f"{len(found)} partition{'s' * (len(found) > 1)} ({names}{', ...' if len(found) > SHOWN else ''})"
