"""Decides whether a move can end with the brokers that are up, and which in-sync replicas a cancel deletes. No I/O."""

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
    """In that case, what allows the cancel: a broker that had the partition before comes in sync."""

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
    """Return the Outlook of each of these unfinished `moves`; moves of deleted topics are left out.

    `running` maps each partition under reassignment to that reassignment; `failed` is described in `unavailable`.
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

    Brokers that are down (not in `brokers`) and `failed` replicas are missing. `under_way` is the move's reassignment,
    if any. Kafka ends a move once all target replicas are in sync, including those that were there before
    (KafkaController.isReassignmentComplete); a new order of the same replicas ends at once. A partition without a
    leader is copied from no broker, so its in-sync replicas have to return, too. Canceling a move deletes the replicas
    that it added, in sync or not (KafkaController.updateCurrentReassignment).
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
    """Return the advice for a reason that `unavailable` returned; for any other reason, to wait for the broker."""
    if why == DOWN:
        return "start it"
    return "repair the disk and restart it" if why.startswith(OFFLINE) else "wait for it"
