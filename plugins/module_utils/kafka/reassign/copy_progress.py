"""Measures the bytes of each replica that is copied, and finds the reasons why a copy is stuck or too slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import broker_config
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, feasibility, lost_brokers
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import named
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.throttles import RATES
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import Progress

SHOWN = 3
Sizes = Mapping[tuple[int, Place], int]
"""Bytes by broker and partition, as far as brokers reported them."""


@dataclass(frozen=True)
class Copy:
    """One replica that Kafka is copying to a broker for a move."""

    place: Place
    broker: int
    """The broker that receives the replica."""
    leader: int
    """The broker that sends the replica, -1 if the partition has no leader."""
    size: int
    """Bytes of one replica when the plan was made."""
    arrived: bool = False
    """Whether the replica is in sync; the move then waits for another replica."""

    @property
    def name(self) -> str:
        """Return the partition as TOPIC-NUMBER, as `orders-0`."""
        return f"{self.place[0]}-{self.place[1]}"

    def __str__(self) -> str:
        """Return the partition and the receiving broker for messages, as `orders-0 on broker 3`."""
        return f"{self.name} on broker {self.broker}"


def copies(running: Iterable[Move], metadata: Metadata) -> list[Copy]:
    """Return a Copy for each replica that the `running` moves add, with leader and in-sync state from `metadata`."""
    partitions = {(one.topic, one.number): (one.leader, one.isr) for one in metadata.partitions}
    coming = []
    for move in running:
        leader, isr = partitions.get(move.place, (-1, ()))
        coming += [Copy(move.place, broker, leader, move.size, broker in isr) for broker in move.added]
    return coming


def sizes(admin: Admin, coming: Iterable[Copy], metadata: Metadata) -> dict[tuple[int, Place], int]:
    """Return {(broker, partition): bytes on disk} for each copy in `coming`, and for its leader's replica.

    Brokers that are down or do not answer are left out. Raises ImportError if kafka-python is not installed.
    """
    asked: dict[int, set[Place]] = {}
    for one in coming:
        for broker in {one.broker, one.leader} & metadata.brokers.keys():
            asked.setdefault(broker, set()).add(one.place)
    there: dict[tuple[int, Place], int] = {}
    for broker, places in sorted(asked.items()):
        try:
            dirs = log_dirs(admin, [broker], places)
        except AdminError:  # it may be restarting
            admin.leave_behind()
            continue
        online = [log_dir for log_dir in dirs if not log_dir.given_up]
        there |= {(broker, place): size for one in online for place, size in one.sizes.items() if place in places}
    return there


def measure(progress: Progress, coming: Sequence[Copy], there: Sizes, rate: int | None, time: float) -> str:
    """Update `progress` with the present sizes; return why the copies cannot end at `rate`, '' if they can.

    They cannot end if producers write at least as fast as the rate allows to copy. `coming` are the copies, `there` is
    {(broker, partition): bytes on disk}, `rate` is in bytes a second (None: unlimited), `time` is now (waits.now).
    """
    passed = time - progress.at
    received, sent, names_of = Counter[int](), Counter[int](), dict[int, list[str]]()
    has, came, whole = dict[str, int](), dict[str, float](), dict[str, int]()
    for copy in coming:
        key, before = str(copy), progress.has.get(str(copy))
        now = there.get((copy.broker, copy.place), before)
        has |= {} if now is None else {key: now}
        same = key in progress.came and now == before
        came[key] = progress.came[key] if same else time
        if not same and key in progress.came:
            progress.moved = time
        known = progress.whole.get(copy.name)
        whole[copy.name] = there.get((copy.leader, copy.place), known or copy.size)
        more = max(0, whole[copy.name] - known) if known else 0
        received[copy.broker] += more
        sent[copy.leader] += more
        for broker in (copy.broker, copy.leader) if more else ():
            names_of.setdefault(broker, []).append(copy.name)
    progress.has, progress.came, progress.whole = has, came, whole
    if not rate or passed < 1 or not coming:
        return ""
    broker, most, verb = max(
        (
            (broker, number, verb)
            for counter, verb in ((received, "copies"), (sent, "sends"))
            for broker, number in counter.items()
        ),
        key=lambda candidate: candidate[1],
    )
    if most / passed < rate:
        progress.short = 0.0
        return ""
    progress.short = progress.short or time
    names = list(dict.fromkeys(names_of[broker]))
    more_names = ", ..." if len(names) > SHOWN else ""
    return (
        f"broker {broker} {verb} {', '.join(names[:SHOWN])}{more_names} at {amounts.speed(rate)}/s or less, but "
        f"{amounts.measured(most / passed)}/s are written meanwhile, so the copy never ends: set "
        f"rate={amounts.enough(most / passed)}"
    )


def stuck(
    admin: Admin, progress: Progress, coming: Sequence[Copy], metadata: Metadata, rate: int | None, since: float
) -> list[str]:
    """Return a text for each copy that has received no byte since the time `since` (waits.now), with the reason.

    Copies that are in sync are left out. Only the first SHOWN copies are named, the others are counted.
    """
    quiet = [copy for copy in coming if not copy.arrived and progress.came.get(str(copy), since) <= since]
    texts = []
    for copy in quiet[:SHOWN]:
        whole = progress.whole.get(copy.name, copy.size)
        has = amounts.size(progress.has.get(str(copy), 0))
        reason = why_stuck(admin, copy, metadata, rate)
        texts.append(f"{copy} receives no data and has {has} of {amounts.size(whole)}: {reason}")
    return texts + ([f"{len(quiet) - SHOWN} other replicas receive no data"] if len(quiet) > SHOWN else [])


def brokers_behind(admin: Admin, running: Iterable[Move], metadata: Metadata) -> list[str]:
    """Return a text for each broker that holds a replica before and after a running move, but is not in sync.

    Such a replica delays the end of the move. Raises ImportError if kafka-python is not installed.
    """
    partitions = {(one.topic, one.number): one for one in metadata.partitions}
    behind: dict[tuple[int, str], list[str]] = {}
    out = [
        (move, partitions[move.place], broker)
        for move in running
        if move.place in partitions
        for broker in sorted({*move.after} & {*move.before} - {*partitions[move.place].isr})
    ]
    lagging = [partition for _, partition, _ in out]
    failed = lost_brokers.offline_replicas(admin, lagging, metadata.brokers) if out else feasibility.NONE
    for move, partition, broker in out:
        missing = feasibility.outlook(move, partition, metadata.brokers, failed).missing
        behind.setdefault((broker, missing.get(broker, "is not in sync")), []).append(str(move))
    return [
        f"broker {broker}, which keeps {named(names)}, {why}: {feasibility.remedy(why)}"
        for (broker, why), names in behind.items()
    ]


def why_stuck(admin: Admin, copy: Copy, metadata: Metadata, rate: int | None) -> str:
    """Return why a copy receives no data, and what to do.

    Possible reasons: a broker that is down or does not answer, an offline log dir, or a throttle that another tool set.
    If no reason is found, the text refers to the logs of the two brokers.
    """
    if copy.broker not in metadata.brokers:
        return f"broker {copy.broker} is down; start it"
    if copy.leader not in metadata.brokers:
        return "it has no leader; start a broker that has a complete replica"
    for broker, key in zip((copy.leader, copy.broker), RATES, strict=True):
        try:
            if lost := [log_dir.path for log_dir in log_dirs(admin, [broker], [copy.place]) if log_dir.given_up]:
                return f"broker {broker} has the offline log dir {lost[0]}; repair the disk and restart it"
            own, everywhere, _ = broker_config.describe(admin, broker)
            limit = own.get(key) or everywhere.get(key)
        except AdminError:
            admin.leave_behind()
            return f"broker {broker} does not answer; see its log"
        if limit and (rate is None or int(limit) < rate):
            return f"another tool or run set {key} of broker {broker} to {limit}; remove it unless another run needs it"
    return f"see the logs of broker {copy.broker} and of the leader, broker {copy.leader}"
