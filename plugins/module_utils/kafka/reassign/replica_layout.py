"""Models where replicas are while a plan is computed, with counts by broker and the spread over racks. No I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack


@dataclass(frozen=True)
class Replicas:
    """One partition: the ids of the brokers that hold it, the preferred leader first, and the bytes of one replica."""

    topic: str
    number: int
    brokers: tuple[int, ...]
    size: int = 0

    @property
    def place(self) -> Place:
        """Return the partition as (topic, partition number)."""
        return self.topic, self.number


class Layout:
    """The brokers of each partition while a plan is computed: `there` before any change, `now` after changes so far.

    The same partitions in the same order and the same changes always give the same layout.
    """

    def __init__(
        self,
        racks: Mapping[int, Rack],
        partitions: Iterable[Replicas],
        others: Mapping[int, Rack] = MappingProxyType({}),
    ) -> None:
        """Start with the present placement of `partitions`, and count their replicas by broker.

        `racks` maps brokers that may receive replicas to their racks. `others` maps brokers that keep their replicas,
        and receive none, to their racks. Any further broker may hold replicas, too, but counts as in no rack.
        """
        self.racks = dict(sorted(racks.items()))
        self.others = dict(sorted(others.items()))
        self.where = {**self.others, **self.racks}
        self._none: dict[Rack, int] = dict.fromkeys(self.where.values(), 0)
        self.there = {one.place: one for one in partitions}
        self.now: dict[Place, list[int]] = {place: list(one.brokers) for place, one in self.there.items()}
        self.members: dict[Rack, list[int]] = defaultdict(list)
        for broker, rack in self.racks.items():
            self.members[rack].append(broker)
        self.on: dict[int, dict[Place, None]] = defaultdict(dict)
        self.bytes, self.of_topic = Counter[int](), Counter[tuple[int, str]]()
        for place, brokers in self.now.items():
            for broker in brokers:
                self._count(place, broker)

    def _count(self, place: Place, broker: int, by: int = 1) -> None:
        """Add 1 (`by`) to the counts of a broker for its replica of `place`; -1 if the replica is removed."""
        if by > 0:
            self.on[broker][place] = None
        else:
            del self.on[broker][place]
        self.bytes[broker] += by * self.there[place].size
        self.of_topic[broker, place[0]] += by

    def held(self, broker: int) -> int:
        """Return how many replicas a broker holds."""
        return len(self.on[broker])

    def move(self, place: Place, source: int, target: int) -> None:
        """Move a replica from `source` to `target` at its place in the list, which starts with the preferred leader."""
        self.now[place][self.now[place].index(source)] = target
        self._count(place, source, -1)
        self._count(place, target)

    def add(self, place: Place, broker: int) -> None:
        """Add a replica on `broker` at the end of the partition's list."""
        self.now[place].append(broker)
        self._count(place, broker)

    def remove(self, place: Place, broker: int) -> None:
        """Remove the partition's replica on `broker`."""
        self.now[place].remove(broker)
        self._count(place, broker, -1)

    def changed(self, place: Place) -> bool:
        """Tell whether the partition is on other brokers than before all changes; their order does not matter."""
        return set(self.now[place]) != set(self.there[place].brokers)

    # The rule of racks: each rack has the same number of replicas of a partition, as far as possible.

    def in_racks(self, brokers: Iterable[int]) -> dict[Rack, int]:
        """Return {rack: number of these brokers in it}. Brokers in neither `racks` nor `others` are not counted."""
        counts = self._none.copy()
        for broker in brokers:
            if broker in self.where:
                counts[self.where[broker]] += 1
        return counts

    def kept(self, place: Place) -> tuple[Rack, ...]:
        """Return the sorted racks of the partition's replicas on brokers in `others`; these replicas are not moved."""
        if not self.others:
            return ()
        return tuple(sorted((self.others[one] for one in self.now[place] if one in self.others), key=str))

    def uneven(self, brokers: Sequence[int]) -> tuple[Rack, Rack] | None:
        """Return (fullest rack, emptiest rack) if a replica of a partition on `brokers` should move between the two.

        A replica should move if the fullest rack has at least two replicas more than the emptiest. The replica must be
        movable, and the emptiest rack must have a broker without a replica. Return None if no replica should move.
        """
        counts = self.in_racks(brokers)
        own = self.in_racks(one for one in brokers if one in self.racks) if self.others else counts
        gives = [rack for rack in self.members if own[rack]]
        spare = [rack for rack, ids in self.members.items() if own[rack] < len(ids)]
        most = max(gives, key=lambda rack: counts[rack], default=None)
        least = min(spare, key=lambda rack: counts[rack], default=None)
        return (most, least) if gives and spare and counts[most] - counts[least] >= 2 else None

    def may_move(self, place: Place, source: int, target: int) -> bool:
        """Tell whether the partition's replica may move from `source` to `target` without a worse spread over racks."""
        brokers = self.now[place]
        if target in brokers:
            return False
        here, there = self.racks.get(source), self.racks[target]
        if source in self.racks and here == there:
            return True
        if self.uneven([target if one == source else one for one in brokers]) is None:
            return True
        counts = self.in_racks(brokers)
        return source in self.racks and counts[here] > counts[there] + 1

    def best(self, place: Place, wanted: Mapping[int, float], among: Collection[int]) -> int | None:
        """Return the broker of `among` that should get one more replica of a partition.

        The broker is in the rack with the fewest replicas of the partition; within the rack it is the farthest below
        its share. `wanted` maps each broker to its share, a number of replicas. Return None if each broker has a
        replica already.
        """
        brokers, topic = self.now[place], place[0]
        counts = self.in_racks(brokers)
        free = [one for one in among if one not in brokers]

        def key(one: int) -> tuple[object, ...]:
            """Return the sort key of a broker; the broker with the smallest key gets the replica."""
            excess = self.held(one) - wanted[one]
            return counts[self.racks[one]], round(excess), self.of_topic[one, topic], excess, self.bytes[one], one

        return min(free, key=key, default=None)


def shares(layout: Layout, factor: Callable[[Place], int]) -> dict[int, float]:
    """Return {broker: share}: how many replicas each broker that may receive replicas should hold, as a fraction.

    The shares are as equal as an even spread over racks allows. For each partition, this spread sets a minimum and a
    maximum of replicas in a rack. Brokers of the same rack have equal shares. `factor` returns the number of replicas
    that a partition should have. Replicas on brokers in `layout.others`, which are not moved, are not part of the
    shares.
    """
    sizes = {rack: len(ids) for rack, ids in layout.members.items()}
    low, high, total = dict.fromkeys(sizes, 0), dict.fromkeys(sizes, 0), 0
    for (number, kept), partitions in Counter((factor(place), layout.kept(place)) for place in layout.now).items():
        total += max(0, number - len(kept)) * partitions
        for rack, (least, most) in bounds(sizes, number, Counter(kept)).items():
            low[rack] += least * partitions
            high[rack] += most * partitions
    level = _level(layout, low, high, total)
    return {
        broker: min(max(level * len(ids), low[rack]), high[rack]) / len(ids)
        for rack, ids in layout.members.items()
        for broker in ids
    }


def bounds(
    sizes: Mapping[Rack, int], factor: int, kept: Mapping[Rack, int] = MappingProxyType({})
) -> dict[Rack, tuple[int, int]]:
    """Return {rack: (fewest, most)}: how many replicas of one partition the rack may receive in an even spread.

    `sizes` is {rack: number of its brokers}, `factor` is the partition's number of replicas. `kept` is {rack: number of
    its replicas that are not moved}: these count in the racks and in the factor, but not in the result.
    """
    own, left = dict.fromkeys(sizes, 0), factor - sum(kept.values())
    while left > 0 and (spare := {rack: own[rack] + kept.get(rack, 0) for rack in sizes if own[rack] < sizes[rack]}):
        level = min(spare.values())
        lowest = [rack for rack, number in spare.items() if number == level]
        if left < len(lowest):
            return {rack: (number, number + (rack in lowest)) for rack, number in own.items()}
        own |= {rack: own[rack] + 1 for rack in lowest}
        left -= len(lowest)
    return {rack: (number, number) for rack, number in own.items()}


def _level(layout: Layout, low: Mapping[Rack, int], high: Mapping[Rack, int], total: int) -> float:
    """Return the number of replicas per broker at which all racks together hold `total` replicas.

    A rack holds at least its number in `low` and at most its number in `high`.
    """
    least, most = 0.0, float(total)
    for _ in range(64):
        middle = (least + most) / 2
        have = sum(min(max(middle * len(ids), low[rack]), high[rack]) for rack, ids in layout.members.items())
        least, most = (middle, most) if have < total else (least, middle)
    return most
