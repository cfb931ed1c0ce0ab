"""Enumerates where Kafka may place the replicas of a partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, zip_longest


def placements(brokers: Mapping[int, str | None], replication_factor: int) -> set[frozenset[int]]:
    """Return every set of broker ids on which Kafka 3.9 may place the replicas of a partition of a new topic.

    `brokers` is {broker id: broker.rack, or None}. Raises ValueError if Kafka would refuse to create the topic.
    """
    return {*_placements(brokers, replication_factor)}


def shares(brokers: Mapping[int, str | None], replication_factor: int) -> dict[int, float]:
    """Return {broker id: the share of the partitions of a large topic of which Kafka 3.9 places a replica on it}.

    `brokers` is {broker id: broker.rack, or None}. Raises ValueError if Kafka would refuse to create the topic.
    """
    placed = [*_placements(brokers, replication_factor)]
    held = Counter(broker for replicas in placed for broker in replicas)
    return {broker: held[broker] / len(placed) for broker in brokers}


def _placements(brokers: Mapping[int, str | None], replication_factor: int) -> Iterator[frozenset[int]]:
    """Yield the broker ids on which Kafka 3.9 places the replicas of one partition after the other of a new topic.

    Kafka (AdminUtils) arranges the brokers in a ring that alternates racks, and places the leader of each partition on
    the next broker. The distance of the followers from the leader is random at first, and grows by the number of racks
    with each turn of the ring. As long as some rack has no replica, brokers of racks with a replica are skipped.
    Without racks, all brokers count as one rack.
    """
    racks = sorted(set(brokers.values()), key=str)
    if not 1 <= replication_factor <= len(brokers):
        raise ValueError(
            f"replication factor {replication_factor} with {len(brokers)} brokers: Kafka creates no such topic"
        )
    if None in racks and len(racks) > 1:
        raise ValueError("some brokers have a rack and some have none: Kafka creates no topic")
    rounds = zip_longest(*([broker for broker in sorted(brokers) if brokers[broker] == rack] for rack in racks))
    ring = [broker for round_ in rounds for broker in round_ if broker is not None]
    others = max(len(ring) - 1, 1)
    shifts = {turn * len(racks) % others for turn in range(others)}
    for shift in sorted(shifts):
        yield from (_replicas(ring, brokers, replication_factor, start, shift) for start in range(len(ring)))


def _replicas(
    ring: Sequence[int], racks: Mapping[int, str | None], replication_factor: int, start: int, shift: int
) -> frozenset[int]:
    chosen, racks_used, rack_count = {ring[start]}, {racks[ring[start]]}, len(set(racks.values()))
    for step in count(shift):
        if len(chosen) == replication_factor:
            break
        broker = ring[(start + 1 + step % (len(ring) - 1)) % len(ring)]
        if broker not in chosen and (racks[broker] not in racks_used or len(racks_used) == rack_count):
            chosen.add(broker)
            racks_used.add(racks[broker])
    return frozenset(chosen)
