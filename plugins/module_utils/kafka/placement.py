"""Which brokers hold the replicas of new partitions: our own, so that it is right from the first byte. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

Rack = str | None
Replicas = list[int]
"""Ids of brokers; the first is the preferred leader."""


class Placement:
    """Places partitions of one topic after the other, and remembers what the brokers hold by then.

    The same brokers and the same topics in the same order are placed the same.
    """

    def __init__(self, racks: Mapping[int, Rack], there: Iterable[Sequence[int]] = ()) -> None:
        """`racks` says each live broker's rack, None where it has none; `there` are the replicas of all partitions."""
        self.racks = racks
        self.held, self.led = Counter[int](), Counter[int]()
        for replicas in there:
            self.count(replicas)

    def count(self, replicas: Sequence[int]) -> None:
        """Count a partition."""
        self.held.update(replicas)
        self.led.update(replicas[:1])

    def place(self, partitions: int, factor: int, there: Iterable[Sequence[int]] = ()) -> list[Replicas]:
        """Return the replicas of so many new partitions of a topic; `there` are those of the partitions that it has.

        Of one partition, replicas are spread over racks as evenly as can be; of the topic, then of the cluster,
        replicas and leaders over brokers. Raises ValueError where there are fewer brokers than replicas.
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
        # The next leader after the first, too, is another one from partition to partition.
        return [rotated(replicas, number) for number, replicas in enumerate(placed)]

    def hand_on(self, placed: list[Replicas], led: Counter[int]) -> bool:
        """Have a broker that leads two more of a topic than another hand one on, over others if need be."""
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
    """Return the same leader with its followers in another order."""
    followers = replicas[1:]
    turn = number % max(1, len(followers))
    return [*replicas[:1], *followers[turn:], *followers[:turn]]


def unplaceable(declared: Mapping[int, Rack], live: Iterable[int], told: Mapping[int, Rack]) -> list[str]:
    """Return why partitions cannot be placed now over all racks that are declared.

    `declared` are the racks of the brokers that are to be there, nothing where nobody says it; `live` are those that
    are, `told` what they say.
    """
    ids: dict[Rack, list[int]] = {}
    for broker, rack in sorted(declared.items()):
        ids.setdefault(rack or None, []).append(broker)
    there = set(live)
    wrong = [
        f"no broker of {f'rack {rack}' if rack else 'those without a rack'} is there ({', '.join(map(str, brokers))}), "
        "and partitions would be placed without it for good; start one"
        for rack, brokers in ids.items()
        if there.isdisjoint(brokers)
    ]
    wrong += [f"broker {one} did not say its rack; run again when it answers" for one in sorted(there - told.keys())]
    wrong += [
        f"broker {one} says that it is in {f'rack {told[one]}' if told[one] else 'no rack'}, "
        f"and {declared[one] or 'none'} is declared; restart it, or correct its rack"
        for one in sorted(told.keys() & declared.keys())
        if (told[one] or None) != (declared[one] or None)
    ]
    return wrong
