"""Decides whether a move can end while some brokers are down, and which in-sync replicas a cancel deletes. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.moves import Running
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move

Failed = Mapping[tuple[int, Place], str]
"""By broker and partition, the offline log dir that held the replica."""
NONE: Failed = MappingProxyType({})
DOWN, OFFLINE = "is down", "has the offline log dir"


@dataclass(frozen=True)
class Outlook:
    """Whether one move can end, and whether its reassignment can be canceled without the loss of records."""

    move: Move
    missing: Mapping[int, str] = field(default_factory=dict)
    """By broker that the move needs, what is wrong with that broker; empty if the move can end."""
    only_in_sync: tuple[int, ...] = ()
    """The brokers with a complete replica, if canceling the move would delete just those replicas."""
    remedies: tuple[str, ...] = ()
    """If `only_in_sync` is set, what allows the cancel: a broker that had the partition before is in sync again."""

    @property
    def not_canceled(self) -> str:
        """Return why the move's reassignment is not canceled and what to wait for; '' if it may be canceled."""
        if not self.only_in_sync:
            return ""
        brokers = " and ".join(map(str, self.only_in_sync))
        return (
            f"{self.move} is not canceled: only broker {brokers} has a complete replica; {' or '.join(self.remedies)}"
        )


def unavailable(ids: Iterable[int], place: Place, brokers: Collection[int], failed: Failed = NONE) -> dict[int, str]:
    """Return {broker: reason} for those brokers of `ids` that cannot serve their replica of the partition `place`.

    A broker is down if it is not in `brokers`. `failed` maps (broker, partition) to the offline log dir of the replica.
    """
    ordered = sorted(ids)
    down = {broker: DOWN for broker in ordered if broker not in brokers}
    return down | {
        broker: f"{OFFLINE} {failed[broker, place]}"
        for broker in ordered
        if broker not in down and (broker, place) in failed
    }


def outlooks(
    moves: Iterable[Move], metadata: Metadata, running: Mapping[Place, Running], failed: Failed = NONE
) -> list[Outlook]:
    """Return the Outlook of each of the unfinished `moves`; moves of deleted topics are left out.

    `running` is {partition: its running reassignment}, `failed` is {(broker, partition): offline log dir of the
    replica}.
    """
    partitions = {(one.topic, one.number): one for one in metadata.partitions}
    return [
        outlook(move, partitions[move.place], metadata.brokers, failed, running.get(move.place))
        for move in moves
        if move.place in partitions
    ]


def outlook(
    move: Move, partition: Partition, brokers: Collection[int], failed: Failed, under_way: Running | None = None
) -> Outlook:
    """Return whether the move of this partition can end, and whether it can be canceled.

    `brokers` are up; other brokers and the replicas in `failed` are missing. `under_way` is the move's reassignment, if
    any.

    Kafka ends a move once all its target replicas are in sync, old and new (KafkaController.isReassignmentComplete). A
    new order of the same replicas ends at once. A partition without a leader cannot be copied, so its in-sync replicas
    have to return, too. Canceling a move deletes the replicas that it added, in sync or not
    (KafkaController.updateCurrentReassignment).
    """
    needed = {*move.after} if {*move.after} != {*move.before} else set[int]()
    if needed and partition.leader not in brokers:
        needed |= {*partition.isr}
    missing = unavailable(needed, move.place, brokers, failed)
    origin = {*under_way.replicas} - {*under_way.adding} if under_way else {*partition.replicas}
    added_in_sync = {*partition.isr} - origin
    if not added_in_sync or origin & {*partition.isr} & {*brokers}:
        return Outlook(move, missing)
    # no replica comes in sync from a broker that is down
    awaited = origin if added_in_sync & {*brokers} else added_in_sync
    remedies = [f"wait for broker {broker}" for broker in sorted(awaited & {*brokers})]
    remedies += [f"start broker {broker}" for broker in sorted(awaited - {*brokers})]
    return Outlook(move, missing, tuple(sorted(added_in_sync)), tuple(remedies))


def remedy(why: str) -> str:
    """Return what to do about `why`, a reason that a broker is unavailable: repair its disk, or wait for the broker."""
    if why == DOWN:
        return "start it"
    return "repair the disk and restart it" if why.startswith(OFFLINE) else "wait for it"
