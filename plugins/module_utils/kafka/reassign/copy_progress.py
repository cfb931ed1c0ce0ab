"""Whether what is copied comes on, and what keeps it: bytes of each replica on its way, from one look to the next."""

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
"""Bytes by broker and partition, of those that said it."""


@dataclass(frozen=True)
class Copy:
    """One replica on its way."""

    place: Place
    broker: int
    """Who gets it."""
    leader: int
    """Who sends it; -1 where nobody can."""
    size: int
    """Bytes of one replica when the plan was made."""
    arrived: bool = False
    """Whether it is in sync: what it has still to wait for is another one."""

    @property
    def name(self) -> str:
        """Return topic-number."""
        return f"{self.place[0]}-{self.place[1]}"

    def __str__(self) -> str:
        """Name it for a person."""
        return f"{self.name} on broker {self.broker}"


def copies(running: Iterable[Move], metadata: Metadata) -> list[Copy]:
    """Return the replicas that are on their way."""
    there = {(one.topic, one.number): (one.leader, one.isr) for one in metadata.partitions}
    found = []
    for move in running:
        leader, isr = there.get(move.place, (-1, ()))
        found += [Copy(move.place, broker, leader, move.size, broker in isr) for broker in move.added]
    return found


def sizes(admin: Admin, coming: Iterable[Copy], metadata: Metadata) -> dict[tuple[int, Place], int]:
    """Return what leaders hold and what has arrived; a broker that does not answer is left out. Raises ImportError."""
    asked: dict[int, set[Place]] = {}
    for one in coming:
        for broker in {one.broker, one.leader} & metadata.brokers.keys():
            asked.setdefault(broker, set()).add(one.place)
    there: dict[tuple[int, Place], int] = {}
    for broker, places in sorted(asked.items()):
        try:
            dirs = log_dirs(admin, [broker], places)
        except AdminError:  # away for a while
            admin.leave_behind()
            continue
        served = [found for found in dirs if not found.given_up]
        there |= {(broker, place): size for found in served for place, size in found.sizes.items() if place in places}
    return there


def look(progress: Progress, found: Sequence[Copy], there: Sizes, rate: int | None, time: float) -> str:
    """Note what has arrived; return why it cannot end at this rate, '' where it may."""
    passed = time - progress.at
    written, sent, of = Counter[int](), Counter[int](), dict[int, list[str]]()
    has, came, whole = dict[str, int](), dict[str, float](), dict[str, int]()
    for one in found:
        key, before = str(one), progress.has.get(str(one))
        now = there.get((one.broker, one.place), before)
        has |= {} if now is None else {key: now}
        same = key in progress.came and now == before
        came[key] = progress.came[key] if same else time
        if not same and key in progress.came:
            progress.moved = time
        known = progress.whole.get(one.name)
        whole[one.name] = there.get((one.leader, one.place), known or one.size)
        more = max(0, whole[one.name] - known) if known else 0
        written[one.broker] += more
        sent[one.leader] += more
        for broker in (one.broker, one.leader) if more else ():
            of.setdefault(broker, []).append(one.name)
    progress.has, progress.came, progress.whole = has, came, whole
    if not rate or passed < 1 or not found:
        return ""
    broker, most, verb = max(
        ((one, number, verb) for all_, verb in ((written, "copies"), (sent, "sends")) for one, number in all_.items()),
        key=lambda one: one[1],
    )
    if most / passed < rate:
        progress.short = 0.0
        return ""
    progress.short = progress.short or time
    names = list(dict.fromkeys(of[broker]))
    more_names = ", ..." if len(names) > SHOWN else ""
    return (
        f"broker {broker} {verb} {', '.join(names[:SHOWN])}{more_names} at {amounts.speed(rate)} a second or less, and "
        f"{amounts.measured(most / passed)} a second are written meanwhile: it never ends so; say "
        f"rate={amounts.enough(most / passed)}"
    )


def stuck(
    admin: Admin, progress: Progress, found: Sequence[Copy], metadata: Metadata, rate: int | None, since: float
) -> list[str]:
    """Return the replicas to which nothing has come since then, each with why."""
    quiet = [one for one in found if not one.arrived and progress.came.get(str(one), since) <= since]
    told = []
    for one in quiet[:SHOWN]:
        whole = progress.whole.get(one.name, one.size)
        has = amounts.size(progress.has.get(str(one), 0))
        told.append(
            f"nothing comes to {one}, which has {has} of {amounts.size(whole)}: {why(admin, one, metadata, rate)}"
        )
    return told + ([f"nor to {len(quiet) - SHOWN} others"] if len(quiet) > SHOWN else [])


def kept_from(admin: Admin, running: Iterable[Move], metadata: Metadata) -> list[str]:
    """Return the brokers that keep a replica and are not in sync: without them no move ends. Raises ImportError."""
    there = {(one.topic, one.number): one for one in metadata.partitions}
    behind: dict[tuple[int, str], list[str]] = {}
    out = [
        (move, there[move.place], broker)
        for move in running
        if move.place in there
        for broker in sorted({*move.after} & {*move.before} - {*there[move.place].isr})
    ]
    failed = lost_brokers.given_up(admin, [one for _, one, _ in out], metadata.brokers) if out else feasibility.NONE
    for move, one, broker in out:
        said = feasibility.outlook(move, one, metadata.brokers, failed).lacks.get(broker, "is not in sync")
        behind.setdefault((broker, said), []).append(str(move))
    return [
        f"broker {broker}, which keeps {named(names)}, {said}: {feasibility.cure(said)}"
        for (broker, said), names in behind.items()
    ]


def why(admin: Admin, one: Copy, metadata: Metadata, rate: int | None) -> str:
    """Return what keeps a replica from coming, as far as it can be seen."""
    if one.broker not in metadata.brokers:
        return f"broker {one.broker} is down; start it"
    if one.leader not in metadata.brokers:
        return "it has no leader; start a broker that has all of it"
    for broker, key in zip((one.leader, one.broker), RATES, strict=True):
        try:
            if lost := [found.path for found in log_dirs(admin, [broker], [one.place]) if found.given_up]:
                return f"broker {broker} has given up {lost[0]}; repair the disk and restart it"
            own, everywhere, _ = broker_config.describe(admin, broker)
            limit = own.get(key) or everywhere.get(key)
        except AdminError:
            admin.leave_behind()
            return f"broker {broker} does not answer; its log says why"
        if limit and (rate is None or int(limit) < rate):
            return f"somebody else set {key} of broker {broker} to {limit}; take that back where no other run did"
    return f"the logs of broker {one.broker}, and of broker {one.leader}, which leads it, say why"
