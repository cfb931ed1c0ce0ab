"""Computes the moves of replicas that a request needs, or the reasons to refuse the request. No I/O.

Equal input gives an equal result.
"""

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
"""Partitions that a message names; the others are counted."""


@dataclass(frozen=True)
class Wish:
    """The requested change of where replicas are: exactly one action is set (`fewer_racks` is an option, no action)."""

    add: Sequence[int] = ()
    """Brokers that receive their share."""
    drain: Sequence[int] = ()
    """Brokers to empty."""
    replace: Mapping[int, int] = field(default_factory=dict)
    """By broker to empty, the broker that receives its replicas."""
    rebalance: bool = False
    """Balance replicas over all brokers."""
    leaders: bool = False
    """Balance leaders alone; nothing is copied."""
    factors: Mapping[str, int] = field(default_factory=dict)
    """By topic, the number of replicas that each of its partitions gets."""
    fewer_racks: bool = False
    """Allow partitions in fewer racks than now, or with more replicas in one rack."""

    @property
    def leaving(self) -> set[int]:
        """Return the ids of the brokers that must hold no replica afterwards: the brokers in `drain` and `replace`."""
        return {*self.drain, *self.replace}


@dataclass(frozen=True)
class Move:
    """The change of one partition: its brokers before and after. A move may also just reorder the same brokers."""

    topic: str
    number: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    size: int = 0
    """Bytes of one replica."""

    @property
    def place(self) -> Place:
        """Return the partition as (topic, partition number)."""
        return self.topic, self.number

    @property
    def added(self) -> tuple[int, ...]:
        """Return the ids of the brokers that receive a replica."""
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def bytes(self) -> int:
        """Return how many bytes are copied: the size of one replica times the number of added replicas."""
        return self.size * len(self.added)

    def __str__(self) -> str:
        """Return the partition as topic-number, as orders-0 in the logs of brokers."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True)
class Plan:
    """The result of planning: the moves and notes on them, or only the reasons why the request is refused."""

    moves: tuple[Move, ...] = ()
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def plan(
    wish: Wish,
    racks: Mapping[int, Rack],
    partitions: Sequence[Replicas],
    declared: Mapping[int, Rack] = MappingProxyType({}),
) -> Plan:
    """Compute the moves for a request.

    `racks` is {broker that is up: rack}, `declared` is {broker in the inventory, up or down: rack}. If `declared` is
    not empty, only its brokers receive replicas.
    """
    empty = [one for one in partitions if not one.brokers]
    partitions = sorted((one for one in partitions if one.brokers), key=lambda one: one.place)
    known = racks.keys() & declared.keys() if declared else racks.keys()
    stay = {broker: rack for broker, rack in racks.items() if broker in known - wish.leaving}
    undeclared = [
        f"broker {broker} is not in the inventory: nothing is moved to it; add its host first"
        for broker in sorted({*wish.add, *wish.replace.values()} & racks.keys() - known)
    ]
    if refusals := undeclared + impossible(wish, racks, stay, partitions):
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
    notes = [f"{_named(empty)} without any replica {'is' if len(empty) == 1 else 'are'} skipped"] if empty else []
    return Plan(() if lost else moves, tuple(lost), (*notes, *_still_uneven(layout, moves)))


def _largest_first(layout: Layout, leaving: Collection[int]) -> list[tuple[Place, int]]:
    """Return (partition, broker) for each replica on the brokers in `leaving`, the largest replica first."""
    replicas = [(place, broker) for place, brokers in layout.now.items() for broker in brokers if broker in leaving]
    return sorted(replicas, key=lambda one: (-layout.there[one[0]].size, one))


def _drain(layout: Layout, wanted: Mapping[int, float], leaving: Collection[int]) -> None:
    """Move all replicas in `layout` from the brokers in `leaving` to others.

    The new broker takes the old broker's position in the partition's list of replicas, so the new broker becomes the
    preferred leader if the old broker was. `wanted` maps each broker to the number of replicas that it should hold.
    """
    for place, old in _largest_first(layout, leaving):
        at = layout.now[place].index(old)
        layout.remove(place, old)
        target = layout.best(place, wanted, layout.racks)
        assert target is not None, "fewer brokers than replicas is refused before"
        layout.add(place, target)
        layout.now[place].insert(at, layout.now[place].pop())


def _change_factors(layout: Layout, wanted: Mapping[int, float], factors: Mapping[str, int]) -> None:
    """Add or remove replicas in `layout` until each topic of `factors` has that number of replicas per partition.

    The preferred leader (the first broker) keeps its replica. `wanted` maps each broker to the number of replicas that
    it should hold.
    """
    for place, one in layout.there.items():
        factor = factors.get(one.topic, len(one.brokers))
        while len(layout.now[place]) > factor:
            counts = layout.in_racks(layout.now[place])

            def spare(broker: int, counts: Mapping[Rack, int] = counts) -> tuple[float, ...]:
                """Return the sort key of a replica; the replica with the largest key is removed."""
                if broker not in layout.where:
                    return float("inf"), 0, broker
                # a broker without a share, which may hold none, comes first
                over = layout.held(broker) - wanted.get(broker, float("-inf"))
                return counts[layout.where[broker]], over, broker

            layout.remove(place, max(layout.now[place][1:], key=spare))
        while len(layout.now[one.place]) < factor:
            target = layout.best(place, wanted, layout.racks)
            assert target is not None, "fewer brokers than replicas is refused before"
            layout.add(place, target)


def impossible(
    wish: Wish, racks: Mapping[int, Rack], stay: Mapping[int, Rack], partitions: Iterable[Replicas]
) -> list[str]:
    """Return the reasons why a request is impossible; [] if it is possible.

    Possible reasons: a broker is not registered (not in `racks`), a replacement already holds a replica of the
    partition, or fewer brokers would be left (`stay`) than a partition has replicas.
    """
    held = Counter(broker for one in partitions for broker in one.brokers)
    reasons = [
        f"broker {broker} is not registered: nothing can be moved to it; start it (site.yml installs it)"
        for broker in sorted({*wish.add, *wish.replace.values()} - racks.keys())
    ]
    reasons += [
        f"broker {broker} is not registered, and no partition has a replica there: there is nothing to move from it"
        for broker in sorted(wish.leaving - racks.keys() - held.keys())
    ]
    for old, new in wish.replace.items():
        both = [one for one in partitions if old in one.brokers and new in one.brokers]
        if both:
            reasons.append(
                f"replace {old} by {new}: broker {new} already holds {_named(both)}; "
                f"drain={old} spreads its replicas over all brokers"
            )
    too_many: dict[int, list[Replicas]] = {}
    for one in partitions:
        wanted = wish.factors.get(one.topic, len(one.brokers) if wish.leaving & {*one.brokers} else 0)
        if wanted > len(stay.keys() | {*one.brokers} - wish.leaving):
            too_many.setdefault(wanted, []).append(one)
    if too_many and not reasons:
        lost = sorted({str(racks[broker]) for broker in wish.leaving & racks.keys() if racks[broker]})
        where = f" of rack {' or '.join(lost)}" if lost else ""
        reasons += [
            f"{_named(affected)} would have {wanted} replicas, but {len(stay)} brokers would be left for them: add a "
            f"broker{where} first, or lower replication_factor"
            for wanted, affected in sorted(too_many.items())
        ]
    return reasons


def _in_fewer_racks(racks: Mapping[int, Rack], moves: Iterable[Move]) -> list[str]:
    """Return refusals of moves after which the loss of a rack would cost more replicas than before.

    Such a move puts the replicas into fewer racks (unless it removes replicas), or keeps their number but puts more of
    them into one rack. A broker whose rack is unknown may be in any rack.
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
        f"{_named(affected)} would be in fewer racks than now, without rack {rack}: add a broker of rack {rack} first, "
        "or set fewer_racks=true if that rack is removed"
        for rack, affected in gone.items()
    ] + [
        f"{_named(affected)} would have {most} replicas in rack {rack}, but now "
        f"{'has' if len(affected) == 1 else 'have'} at most {now} in one rack, so the loss of rack {rack} would cost "
        f"more replicas: add a broker of rack {less} first, or set fewer_racks=true to accept that"
        for (rack, most, now, less), affected in heaped.items()
    ]


def _still_uneven(layout: Layout, moves: Sequence[Move]) -> list[str]:
    """Return a list with one note on moved partitions that are still not spread evenly over racks; [] if all are."""
    touched = {move.place for move in moves}
    uneven = [layout.there[place] for place in layout.now if place in touched and layout.uneven(layout.now[place])]
    return [f"{_named(uneven)} would still be uneven over racks: -e rebalance=true corrects that"] if uneven else []


def _named(partitions: Sequence[Replicas] | Sequence[Move]) -> str:
    """Return a text as `5 partitions (a-0, a-1, b-0, ...)`: their number, and the names of the first SHOWN."""
    count = len(partitions)
    names = ", ".join(f"{one.topic}-{one.number}" for one in partitions[:SHOWN])
    return f"{count} partition{'s' * (count > 1)} ({names}{', ...' if count > SHOWN else ''})"
