"""Carries out shifts between log dirs, some at a time, and sees that they come to their end; no Ansible import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import Shift
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir, alter, log_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import (
    AGAIN,
    STALLED,
    Progress,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Unfinished

INBOUND = 5
"""Replicas that a broker copies at the same time; it copies them one after the other."""
SHOWN = 3
AWAY = 300.0
"""Seconds for which a broker may not answer, as while it is restarted."""
One = tuple[int, Place]


@dataclass(frozen=True)
class Standing:
    """How far shifts are."""

    done: Sequence[Shift] = ()
    running: Sequence[Shift] = ()
    waiting: Sequence[Shift] = ()
    gone: Sequence[Shift] = ()
    """The broker holds no such replica any more, or somebody else moves it to another log dir."""
    left: int = 0
    """Bytes that are still to be copied."""
    unheard: Sequence[int] = ()
    """Brokers that do not answer."""

    @property
    def ended(self) -> bool:
        """Tell whether nothing is left to do."""
        return not (self.running or self.waiting or self.unheard)


def standing(record: Record, dirs: Iterable[LogDir], unheard: Sequence[int] = ()) -> Standing:
    """Sort the shifts of a record by where brokers say that replicas are; who is not heard is waited for."""
    has: dict[One, tuple[str, int]] = {}
    comes: dict[One, tuple[str, int]] = {}
    for one in dirs:
        has |= {(one.broker, place): (one.path, size) for place, size in one.sizes.items()}
        comes |= {(one.broker, place): (one.path, size) for place, size in one.coming.items()}
    found: dict[str, list[Shift]] = {"done": [], "running": [], "waiting": [], "gone": []}
    left = 0
    for shift in record.shifts:
        key = (shift.broker, shift.place)
        path, size = has.get(key, ("", shift.size))
        future, come = comes.get(key, ("", 0))
        if shift.broker in unheard:
            kind = "waiting"
        elif path == shift.target and not future:
            kind = "done"
        elif future == shift.target:
            kind = "running"
        elif not path or (future and not record.back):
            kind = "gone"
        else:
            kind = "waiting"
        found[kind].append(shift)
        left += max(0, size - come) if kind == "running" else shift.size if kind == "waiting" else 0
    return Standing(**found, left=left, unheard=unheard)


def next_ones(now: Standing) -> dict[int, dict[Place, str]]:
    """Return by broker what is begun next, the smallest first. What is called off copies nothing."""
    coming = Counter(shift.broker for shift in now.running)
    chosen: dict[int, dict[Place, str]] = {}
    for shift in sorted(now.waiting, key=lambda one: (one.size, one.broker, one.place)):
        if coming[shift.broker] < INBOUND and shift.broker not in now.unheard:
            coming[shift.broker] += 1
            chosen.setdefault(shift.broker, {})[shift.place] = shift.target
    return chosen


@dataclass
class Run:
    """One process that carries out the shifts of a record."""

    admin: Admin
    record: Record
    progress: Progress
    again: str = AGAIN
    """How a person goes on where it ends before that."""
    now: Standing = Standing()
    """How far it was at the last look."""
    held: str = ""
    """Why it has not ended though all is done."""
    refused: dict[str, str] = field(default_factory=dict)
    """By replica, why its broker does not begin it."""

    def step(self) -> bool:
        """Look once, and begin what may be begun; tell whether all is done. Raises Unfinished, ImportError."""
        dirs, unheard = list[LogDir](), list[int]()
        for broker in sorted({shift.broker for shift in self.record.shifts}):
            places = [shift.place for shift in self.record.shifts if shift.broker == broker]
            try:
                dirs += log_dirs(self.admin, [broker], places)
            except AdminError:  # it is restarted: what was begun goes on then
                self.admin.leave_behind()
                unheard.append(broker)
        self.now, self.held, self.refused = standing(self.record, dirs, unheard), "", {}
        time, seen = waits.now(), self.progress
        seen.unheard = (seen.unheard or time) if unheard else 0.0
        if unheard and time - seen.unheard > AWAY:
            names = ", ".join(map(str, unheard))
            raise Unfinished(f"broker {names} does not answer: start it, then run the same again", {"changed": True})
        for broker, wanted in next_ones(self.now).items():
            try:
                failed = alter(self.admin, broker, wanted)
            except AdminError as error:
                self.admin.leave_behind()
                failed = dict.fromkeys(wanted, str(error))
            self.refused |= {f"{topic}-{number}": why for (topic, number), why in failed.items()}
        return self.now.ended

    def words(self) -> str:
        """Say how far it is, and note it for the next time. Raises Unfinished where nothing comes closer to its end."""
        far = self.far()
        if waits.now() - self.progress.moved > STALLED:
            written = " (more may be written meanwhile than the rate lets through)" if self.record.rate else ""
            text = f"for {STALLED:.0f} s nothing has come closer to its end{written}: {far}"
            raise Unfinished(
                f"{text}; the broker's log says more (journalctl -u kafka); {self.again}", {"changed": True}
            )
        return far

    def far(self) -> str:
        """Say how far it is, and note it for the next time."""
        time, seen, now = waits.now(), self.progress, self.now
        whole = sum(shift.bytes for shift in self.record.shifts if shift not in now.gone)
        copied = max(0, whole - now.left)
        if seen.left < 0 or now.left < seen.left:
            seen.left, seen.moved = now.left, time
        if len(now.done) > seen.done:  # of empty ones not a byte comes
            seen.done, seen.moved = len(now.done), time
        text = f"{len(now.done)} of {len(self.record.shifts)} replicas, {amounts.size(copied)} of {amounts.size(whole)}"
        rate = (copied - seen.bytes) / max(1.0, time - seen.at)
        if rate > 0 and now.left:
            text += f", {amounts.size(rate)}/s, {amounts.time(now.left / rate)} left"
        seen.at, seen.bytes = time, copied
        if now.unheard:
            text += f"; broker {', '.join(map(str, now.unheard))} does not answer"
        for name, why in list(self.refused.items())[:SHOWN]:
            text += f"; {name} is refused for now: {why}"
        return f"{text}; {self.held}" if self.held else text
