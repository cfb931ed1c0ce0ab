"""Whether a move can come to its end with whom there is, and what is lost where it is called off. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.moves import Running
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move

Failed = Mapping[tuple[int, Place], str]
"""By broker and partition, the log dir that the broker gave up."""
NONE: Failed = MappingProxyType({})
DOWN, GIVEN_UP = "is down", "has given up"


@dataclass(frozen=True)
class Outlook:
    """What can become of one move."""

    move: Move
    lacks: Mapping[int, str] = field(default_factory=dict)
    """By broker without which it does not end, what is wrong with it; none where it can end."""
    alone: tuple[int, ...] = ()
    """Who has all of it, where a call-off would delete just that."""
    ways: tuple[str, ...] = ()
    """Then what would let it be called off: that one who had it before comes in sync."""

    @property
    def kept(self) -> str:
        """Return why it is not called off, '' where it may be."""
        if not self.alone:
            return ""
        alone = " and ".join(map(str, self.alone))
        return f"{self.move} is not called off: only broker {alone} has all of it; {' or '.join(self.ways)}"


def missing(ids: Iterable[int], place: Place, brokers: Collection[int], failed: Failed = NONE) -> dict[int, str]:
    """Return which of these brokers cannot have a partition, those that are down first, each with what is wrong."""
    ordered = sorted(ids)
    found = {broker: DOWN for broker in ordered if broker not in brokers}
    return found | {
        broker: f"{GIVEN_UP} {failed[broker, place]}"
        for broker in ordered
        if broker not in found and (broker, place) in failed
    }


def outlooks(
    moves: Iterable[Move], metadata: Metadata, running: Mapping[Place, Running], failed: Failed = NONE
) -> list[Outlook]:
    """Return what can become of each of these moves that are not done."""
    there = {(one.topic, one.number): one for one in metadata.partitions}
    return [
        outlook(move, there[move.place], metadata.brokers, failed, running.get(move.place))
        for move in moves
        if move.place in there
    ]


def outlook(
    move: Move, one: Partition, brokers: Collection[int], failed: Failed, under_way: Running | None = None
) -> Outlook:
    """Return what can become of a move of this partition, on which `failed` replicas and brokers that are away count.

    Kafka ends a move once all replicas of the target are in sync, those that it keeps among them
    (KafkaController.isReassignmentComplete), and a new order of the same at once. One that nobody leads is copied from
    nobody: then who is in sync has to come, too. Called off, it deletes what was added, in sync or not
    (KafkaController.updateCurrentReassignment).
    """
    needed = {*move.after} if {*move.after} != {*move.before} else set[int]()
    if needed and one.leader not in brokers:
        needed |= {*one.isr}
    lacks = missing(needed, move.place, brokers, failed)
    origin = {*under_way.replicas} - {*under_way.adding} if under_way else {*one.replicas}
    alone = {*one.isr} - origin
    if not alone or origin & {*one.isr} & {*brokers}:
        return Outlook(move, lacks)
    first = origin if alone & {*brokers} else alone  # nobody comes in sync with who is away
    ways = [f"wait for broker {broker}" for broker in sorted(first & {*brokers})]
    ways += [f"start broker {broker}" for broker in sorted(first - {*brokers})]
    return Outlook(move, lacks, tuple(sorted(alone)), tuple(ways))


def cure(why: str) -> str:
    """Return what is to be done about what a broker lacks; it may come in sync by itself where it lacks nothing."""
    if why == DOWN:
        return "start it"
    return "repair the disk and restart it" if why.startswith(GIVEN_UP) else "wait for it"
