"""Models the replicas of a cluster while a plan is computed, with counts by broker and the rule of racks. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack


@dataclass(frozen=True)
class Replicas:
    """One partition: ids of its brokers, the preferred leader first, and the bytes of one replica."""

    topic: str
    number: int
    brokers: tuple[int, ...]
    size: int = 0

    @property
    def place(self) -> Place:
        """Return topic and number."""
        return self.topic, self.number


class Layout:
    """The replicas of some partitions as they would be after the changes so far.

    Deterministic: the same partitions in the same order with the same changes give the same layout.
    """

    def __init__(
        self,
        racks: Mapping[int, Rack],
        partitions: Iterable[Replicas],
        others: Mapping[int, Rack] = MappingProxyType({}),
    ) -> None:
        """Count the replicas of `partitions` by broker.

        `racks` has the rack of each broker that may receive replicas, `others` of brokers that keep theirs and receive
        none. A broker in neither may still hold replicas; it counts as in no rack.
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
        """Move a replica to another broker, at the same position, so that a leader stays the leader."""
        self.now[place][self.now[place].index(source)] = target
        self._count(place, source, -1)
        self._count(place, target)

    def add(self, place: Place, broker: int) -> None:
        """Add a replica as the last one."""
        self.now[place].append(broker)
        self._count(place, broker)

    def remove(self, place: Place, broker: int) -> None:
        """Remove a replica."""
        self.now[place].remove(broker)
        self._count(place, broker, -1)

    def changed(self, place: Place) -> bool:
        """Tell whether a partition is on other brokers than at first."""
        return set(self.now[place]) != set(self.there[place].brokers)

    # The rule of racks: each rack has the same number of replicas of a partition, as far as possible.

    def in_racks(self, brokers: Iterable[int]) -> dict[Rack, int]:
        """Return how many of these brokers each rack has; brokers to empty are in no rack."""
        counts = self._none.copy()
        for broker in brokers:
            if broker in self.where:
                counts[self.where[broker]] += 1
        return counts

    def kept(self, place: Place) -> tuple[Rack, ...]:
        """Return the rack of each replica on brokers that keep their replicas and receive none."""
        if not self.others:
            return ()
        return tuple(sorted((self.others[one] for one in self.now[place] if one in self.others), key=str))

    def uneven(self, brokers: Sequence[int]) -> tuple[Rack, Rack] | None:
        """Return a rack with two replicas more than another rack that has a free broker, and that other rack.

        None if there is no such pair. Only racks with a replica that may move count as the first.
        """
        counts = self.in_racks(brokers)
        own = self.in_racks(one for one in brokers if one in self.racks) if self.others else counts
        gives = [rack for rack in self.members if own[rack]]
        spare = [rack for rack, ids in self.members.items() if own[rack] < len(ids)]
        most = max(gives, key=lambda rack: counts[rack], default=None)
        least = min(spare, key=lambda rack: counts[rack], default=None)
        return (most, least) if gives and spare and counts[most] - counts[least] >= 2 else None

    def may_move(self, place: Place, source: int, target: int) -> bool:
        """Tell whether a replica may move to another broker without making racks less even."""
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
        """Return the broker for one more replica: in the rack with fewest, then the one farthest below its share.

        None if each of them already has a replica.
        """
        brokers, topic = self.now[place], place[0]
        counts = self.in_racks(brokers)
        free = [one for one in among if one not in brokers]

        def key(one: int) -> tuple[object, ...]:
            excess = self.held(one) - wanted[one]
            return counts[self.racks[one]], round(excess), self.of_topic[one, topic], excess, self.bytes[one], one

        return min(free, key=key, default=None)


def shares(layout: Layout, factor: Callable[[Place], int]) -> dict[int, float]:
    """Return by broker its share: the number of replicas that it should hold.

    All brokers hold the same, as far as the rule of racks allows it: that rule bounds the replicas of each partition in
    a rack from below and above. Within a rack, brokers hold the same. `factor` returns the number of replicas that a
    partition should have. Replicas that other brokers keep are not part of the shares, and those brokers receive none:
    the missing replicas of a partition are placed in the racks of brokers that may receive them.
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
    """Return by rack the fewest and the most replicas of one partition that it may receive; `sizes` counts brokers.

    Replicas that other brokers keep in a rack count for the rule and for the factor, but not for these bounds.
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
    """Return the number of replicas by broker at which all racks together hold `total`, within their bounds."""
    least, most = 0.0, float(total)
    for _ in range(64):
        middle = (least + most) / 2
        have = sum(min(max(middle * len(ids), low[rack]), high[rack]) for rack, ids in layout.members.items())
        least, most = (middle, most) if have < total else (least, middle)
    return most
