"""Balances replicas and leaders over brokers with as few moves as possible. No I/O."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.replica_layout import Layout

TINY = 1e-6
"""Tolerance for comparing numbers of replicas with shares, which are fractions."""


class Queue:
    """The replicas that may move from broker `source` to broker `target`, in the order in which they should move.

    First comes the topic of which the source has the most replicas more than the target. Within that topic, `pop` takes
    the replica whose size is nearest to the bytes asked for.
    """

    def __init__(self, layout: Layout, source: int, target: int) -> None:
        """Collect the replicas that `source` holds in `layout` now and that may move to `target`."""
        self.layout, self.source, self.target = layout, source, target
        self.sizes: dict[str, list[tuple[int, Place]]] = defaultdict(list)
        for place in layout.on[source]:
            if layout.may_move(place, source, target):
                self.sizes[place[0]].append((layout.there[place].size, place))
        for sizes in self.sizes.values():
            sizes.sort()
        self.topics = [(self._lead(topic), topic) for topic in self.sizes]
        heapify(self.topics)

    def _lead(self, topic: str) -> int:
        """Return how many replicas of a topic the target has more than the source."""
        return self.layout.of_topic[self.target, topic] - self.layout.of_topic[self.source, topic]

    def pop(self, size: float) -> Place | None:
        """Remove the best replica from the queue and return its partition; None if no replica may move any more.

        The best replica is that of the first topic whose size is nearest to `size`, in bytes.
        """
        while self.topics:
            lead, topic = heappop(self.topics)
            if not self.sizes[topic]:
                continue
            if lead != self._lead(topic):  # other replicas were moved meanwhile
                heappush(self.topics, (self._lead(topic), topic))
                continue
            sizes = self.sizes[topic]
            at = bisect_left(sizes, (size, ("", 0)))
            near = [n for n in (at - 1, at) if 0 <= n < len(sizes)]
            _, place = sizes.pop(min(near, key=lambda n: abs(sizes[n][0] - size)))
            heappush(self.topics, (lead, topic))
            there = self.source in self.layout.now[place]
            if there and self.layout.may_move(place, self.source, self.target):
                return place
        return None


def repair(layout: Layout, wanted: Mapping[int, float], targets: Collection[int]) -> None:
    """Move replicas in `layout` to brokers of `targets` until each partition is spread evenly over racks, if possible.

    `wanted` maps each broker to the number of replicas that it should hold. Among the brokers of a rack, this number
    decides which broker gives or receives a replica.
    """
    for place in layout.now:
        while racks := layout.uneven(layout.now[place]):
            most, least = racks
            full = [one for one in layout.now[place] if one in layout.racks and layout.racks[one] == most]
            free = [one for one in layout.members[least] if one in targets and one not in layout.now[place]]
            if not free:
                break
            source = max(full, key=lambda one: (layout.held(one) - wanted[one], -one))
            layout.move(place, source, min(free, key=lambda one: (layout.held(one) - wanted[one], one)))


def spread(layout: Layout, wanted: Mapping[int, float], targets: Collection[int]) -> None:
    """Move replicas in `layout` until each broker of `targets` holds its share, if possible.

    `wanted` maps each broker to its share: the number of replicas that it should hold.
    """
    queues: dict[tuple[int, int], Queue] = {}

    def queue(source: int, target: int) -> Queue:
        if (source, target) not in queues:
            queues[source, target] = Queue(layout, source, target)
        return queues[source, target]

    every_byte, every = sum(layout.bytes.values()), max(1.0, sum(wanted.values()))
    stuck: set[tuple[int, int]] = set()
    while pair := next(_pairs(layout, wanted, targets, stuck), None):
        source, target = pair
        missing = max(1, round(wanted[target] - layout.held(target)))
        due = every_byte * wanted[target] / every
        place = queue(source, target).pop(max(0.0, due - layout.bytes[target]) / missing)
        if place is not None:
            layout.move(place, source, target)
        elif not _move_by_third(layout, wanted, source, target, targets):
            stuck.add(pair)


def _pairs(
    layout: Layout, wanted: Mapping[int, float], targets: Collection[int], stuck: Collection[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield pairs (source, target) of brokers between which a replica should move, the most urgent pair first.

    The target is below its share, and the excess of the source is more than one replica above that of the target. Pairs
    in `stuck`, between which no move was possible, are left out.
    """
    over = {one: layout.held(one) - wanted[one] for one in layout.racks}
    sources = sorted(over, key=lambda one: (-over[one], one))
    for target in sorted(targets, key=lambda one: (over[one], one)):
        if over[target] > -TINY:
            return
        same = [one for one in sources if layout.racks[one] == layout.racks[target]]
        for source in [*same, *(one for one in sources if one not in same)]:
            if over[source] - over[target] > 1 + TINY and (source, target) not in stuck:
                yield source, target


def _move_by_third(
    layout: Layout, wanted: Mapping[int, float], source: int, target: int, targets: Collection[int]
) -> bool:
    """Move a replica from `source` to a third broker, and another from there to `target`; tell whether this was done.

    This helps if no replica may move from `source` to `target` directly.
    """
    for third in sorted(targets, key=lambda one: (layout.held(one) - wanted[one], one)):
        if third in (source, target):
            continue
        first = next((p for p in layout.on[source] if layout.may_move(p, source, third)), None)
        second = next((p for p in layout.on[third] if layout.may_move(p, third, target)), None)
        if first is not None and second is not None:
            layout.move(first, source, third)
            layout.move(second, third, target)
            return True
    return False


def leaders(layout: Layout, movable: Sequence[Place]) -> None:
    """Balance how many partitions each broker leads, by reordering the replicas of partitions; nothing is copied.

    Only partitions in `movable` change. While a broker leads at least two partitions more than another, it hands one
    partition on, through brokers between the two if needed.
    """
    led = {broker: 0 for broker in layout.racks}
    for replicas in layout.now.values():
        if replicas[0] in led:
            led[replicas[0]] += 1
    ways: dict[int, dict[int, list[Place]]] = {broker: defaultdict(list) for broker in led}
    for place in sorted(movable):
        _offer(layout, ways, place)
    while _hand_on(layout, led, ways):
        pass


def _offer(layout: Layout, ways: Mapping[int, dict[int, list[Place]]], place: Place, take: bool = False) -> None:
    """Add a partition to `ways`, the possible changes of leaders, or remove the partition from there (`take`).

    `ways[leader][other]` lists the partitions that the broker `leader` leads and could hand on to the broker `other`.
    """
    leader, *others = layout.now[place]
    for other in others if leader in ways else []:
        if other in ways:
            places = ways[leader][other]
            if take:
                places.pop(bisect_left(places, place))
            else:
                insort(places, place)


def _hand_on(layout: Layout, led: dict[int, int], ways: Mapping[int, dict[int, list[Place]]]) -> bool:
    """Hand on the lead of partitions so that the busiest broker leads one fewer; tell whether that was possible.

    The broker that then leads one partition more must have led at least two fewer than the busiest broker. Each broker
    on the shortest path between the two hands on one partition. `led` maps brokers to the number of partitions that
    they lead.
    """
    for fullest in sorted(led, key=lambda one: (-led[one], one)):
        steps: dict[int, int] = {fullest: fullest}
        order = [fullest]
        for broker in order:
            for other in sorted(ways[broker]):
                if ways[broker][other] and other not in steps:
                    steps[other] = broker
                    order.append(other)
        emptiest = min(order, key=lambda one: (led[one], one))
        if led[fullest] - led[emptiest] < 2:
            continue
        other = emptiest
        while other != fullest:
            broker = steps[other]
            place = ways[broker][other][0]
            _offer(layout, ways, place, take=True)
            layout.now[place] = [other, *(one for one in layout.now[place] if one != other)]
            _offer(layout, ways, place)
            other = broker
        led[fullest] -= 1
        led[emptiest] += 1
        return True
    return False
