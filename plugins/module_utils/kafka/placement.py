"""Chooses the brokers of new partitions, in place of Kafka, so that no replica has to be moved later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

Rack = str | None
Replicas = list[int]
"""Ids of brokers; the first is the preferred leader."""


class Placement:
    """Chooses the brokers of new partitions, one topic after the other, and counts the replicas of each broker.

    The same brokers and the same topics in the same order give the same result.
    """

    def __init__(self, racks: Mapping[int, Rack], there: Iterable[Sequence[int]] = ()) -> None:
        """`racks` is {live broker: rack or None}; `there` has the replicas of all existing partitions."""
        self.racks = racks
        self.held, self.led = Counter[int](), Counter[int]()
        for replicas in there:
            self.count(replicas)

    def count(self, replicas: Sequence[int]) -> None:
        """Count the replicas and the leader (the first replica) of an existing partition."""
        self.held.update(replicas)
        self.led.update(replicas[:1])

    def place(self, partitions: int, factor: int, there: Iterable[Sequence[int]] = ()) -> list[Replicas]:
        """Return the replicas of each new partition of a topic; `there` has the replicas of its existing partitions.

        `factor` is the number of replicas. Replicas are spread evenly over racks. Within the racks, the replicas and
        leaders of the topic, then those of the whole cluster, are spread evenly over brokers. Raises ValueError if
        there are fewer brokers than replicas.
        """
        if factor > len(self.racks):
            raise ValueError(f"{factor} replicas on {len(self.racks)} brokers")
        held, led = Counter[int](), Counter[int]()
        for replicas in there:
            held.update(replicas)
            led.update(replicas[:1])
        placed: list[Replicas] = []
        for _ in range(partitions):
            chosen: Replicas = []
            while len(chosen) < factor:
                used = Counter(self.racks[broker] for broker in chosen)
                left = [broker for broker in self.racks if broker not in chosen]
                chosen.append(
                    min(left, key=lambda broker: (used[self.racks[broker]], held[broker], self.held[broker], broker))
                )
            held.update(chosen)
            self.held.update(chosen)
            leader = min(chosen, key=lambda broker: (led[broker], self.led[broker], broker))
            led.update([leader])
            self.led.update([leader])
            placed.append([leader, *(broker for broker in chosen if broker != leader)])
        while self.hand_on(placed, led):
            pass
        # The second replica, which leads next, also differs from partition to partition.
        return [rotated(replicas, number) for number, replicas in enumerate(placed)]

    def hand_on(self, placed: list[Replicas], led: Counter[int]) -> bool:
        """Move one leader from the broker with the most leaders to the broker with the fewest, in `placed` and `led`.

        If the two brokers share no partition, leaders are passed on through other brokers. Return False if nothing was
        moved, because the two numbers of leaders differ by less than two.
        """
        fullest = max(self.racks, key=lambda broker: (led[broker], -broker))
        ways: dict[int, list[tuple[int, int]]] = {fullest: []}
        queue = [fullest]
        for broker in queue:
            for number, replicas in enumerate(placed):
                for other in replicas[1:] if replicas[0] == broker else []:
                    if other not in ways:
                        ways[other] = [*ways[broker], (number, other)]
                        queue.append(other)
        emptiest = min(queue, key=lambda broker: (led[broker], broker))
        if led[fullest] - led[emptiest] < 2:
            return False
        for number, other in ways[emptiest]:
            placed[number] = [other, *(broker for broker in placed[number] if broker != other)]
        for counts in (led, self.led):
            counts.subtract([fullest])
            counts.update([emptiest])
        return True


def rotated(replicas: Replicas, number: int) -> Replicas:
    """Return the replicas with the same leader, and the followers rotated by `number` places."""
    followers = replicas[1:]
    turn = number % max(1, len(followers))
    return [*replicas[:1], *followers[turn:], *followers[:turn]]


def unplaceable(declared: Mapping[int, Rack], live: Iterable[int], told: Mapping[int, Rack]) -> list[str]:
    """Return why new partitions cannot be placed on all declared racks now; [] if they can.

    `declared` is {declared broker: rack}, or empty. `live` are the registered brokers, `told` is {broker: rack that the
    broker reports}.
    """
    ids: dict[Rack, list[int]] = {}
    for broker, rack in sorted(declared.items()):
        ids.setdefault(rack or None, []).append(broker)
    there = set(live)
    reasons = [
        f"all brokers {f'of rack {rack}' if rack else 'without a rack'} are down ({', '.join(map(str, brokers))}), "
        "so partitions would be placed without it permanently; start one"
        for rack, brokers in ids.items()
        if there.isdisjoint(brokers)
    ]
    silent = sorted(there - told.keys())
    reasons += [f"broker {one} did not report its rack; run again when it answers" for one in silent]
    reasons += [
        f"broker {one} reports {f'rack {told[one]}' if told[one] else 'no rack'}, "
        f"but {declared[one] or 'none'} is declared; restart it, or correct its rack"
        for one in sorted(told.keys() & declared.keys())
        if (told[one] or None) != (declared[one] or None)
    ]
    return reasons
