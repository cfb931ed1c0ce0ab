"""What died meanwhile, and keeps no cancel from its end: brokers that were to copy something back, and disks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.progress import Progress
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.seen import named

AWAY = 300.0
"""Seconds for which a broker may be away, as while it is restarted."""
Failed = Mapping[tuple[int, Place], str]
"""By broker and partition, the log dir that the broker gave up."""


def takers(record: Record) -> set[int]:
    """Return the brokers to which a cancel copies something back; none of what is no cancel."""
    return {broker for move in record.moves for broker in move.added} if record.back else set()


def dead(progress: Progress, record: Record, brokers: Collection[int]) -> set[int]:
    """Return those of them that have been away for so long that a cancel waits for them no more; note since when."""
    time, missing = waits.now(), sorted(takers(record) - {*brokers})
    progress.away = {str(one): progress.away.get(str(one), time) for one in missing}
    return {one for one in missing if time - progress.away[str(one)] >= AWAY}


def told(progress: Progress) -> str:
    """Say who is away, and what comes of that; '' where nobody is."""
    if not progress.away:
        return ""
    return (
        f"broker {', '.join(progress.away)} is away: after {AWAY:.0f} s of that, what was to be copied back to it "
        "stays where it is"
    )


def left(lost: Iterable[Move]) -> list[str]:
    """Return a note on what is not put back, none where all is."""
    names = [str(one) for one in lost]
    return [f"{named(names)} stay: a broker that had them is away"] if names else []


def given_up(admin: Admin, lacking: Iterable[Partition], brokers: Collection[int]) -> dict[tuple[int, Place], str]:
    """Return the replicas that lack, and that brokers which gave up a log dir serve from no other. Raises ImportError.

    Who does not answer gave none up that is known.
    """
    asked: dict[int, set[Place]] = {}
    for one in lacking:
        out = set(one.replicas) - set(one.isr) if one.leader in brokers else set(one.replicas)
        for broker in out & {*brokers}:
            asked.setdefault(broker, set()).add((one.topic, one.number))
    found: dict[tuple[int, Place], str] = {}
    for broker, places in sorted(asked.items()):
        try:
            dirs = log_dirs(admin, [broker], places)
        except AdminError:
            admin.leave_behind()
            continue
        lost = next((one.path for one in dirs if one.given_up), "")
        served = {place for one in dirs for place in one.sizes}
        found |= {(broker, place): lost for place in places - served} if lost else {}
    return found
