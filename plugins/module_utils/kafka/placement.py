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
        held, led, led_in = Counter[int](), Counter[int](), Counter[Rack]()
        for replicas in there:
            held.update(replicas)
            led.update(replicas[:1])
            led_in.update(self.racks.get(broker) for broker in replicas[:1])
        placed: list[Replicas] = []
        for _ in range(partitions):
            chosen: Replicas = []
            while len(chosen) < factor:
                used = Counter(self.racks[broker] for broker in chosen)
                left = [broker for broker in self.racks if broker not in chosen]
                chosen.append(
                    min(left, key=lambda broker: (used[self.racks[broker]], held[broker], self.held[broker], broker))
                )
            leader = min(
                chosen,
                key=lambda broker: (led[broker], led_in[self.racks[broker]], self.led[broker], broker),
            )
            followers = [broker for broker in chosen if broker != leader]
            # The next leader after this one, too, is another one from partition to partition.
            turn = len(placed) % max(1, len(followers))
            replicas = [leader, *followers[turn:], *followers[:turn]]
            held.update(replicas)
            led.update([leader])
            led_in.update([self.racks[leader]])
            self.count(replicas)
            placed.append(replicas)
        return placed
