"""Makes the moves between log dirs ("shifts") of a record, a few at the same time, until all have ended."""

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
"""Replicas that a broker is asked to copy at the same time; the broker copies one after the other."""
SHOWN = 3
AWAY = 300.0
"""Seconds for which a broker need not answer, because it may be restarted."""
Replica = tuple[int, Place]
"""Broker and partition."""


@dataclass(frozen=True)
class Standing:
    """The shifts of a record, sorted by their state."""

    done: Sequence[Shift] = ()
    running: Sequence[Shift] = ()
    waiting: Sequence[Shift] = ()
    gone: Sequence[Shift] = ()
    """The broker holds no such replica any more, or another tool moves it to another log dir."""
    left: int = 0
    """Bytes still to be copied."""
    unheard: Sequence[int] = ()
    """Brokers that do not answer."""

    @property
    def ended(self) -> bool:
        """Tell whether no shift is running or still to be started, and every broker has answered."""
        return not (self.running or self.waiting or self.unheard)


def standing(record: Record, dirs: Iterable[LogDir], unheard: Sequence[int] = ()) -> Standing:
    """Return the shifts of a record, sorted by state: done, running, waiting or gone.

    The state follows from the log dir in which the replica is now; `dirs` are the log dirs that brokers reported.
    Shifts of brokers in `unheard`, which did not answer, count as waiting.
    """
    has: dict[Replica, tuple[str, int]] = {}
    coming: dict[Replica, tuple[str, int]] = {}
    for log_dir in dirs:
        has |= {(log_dir.broker, place): (log_dir.path, size) for place, size in log_dir.sizes.items()}
        coming |= {(log_dir.broker, place): (log_dir.path, size) for place, size in log_dir.coming.items()}
    by_state: dict[str, list[Shift]] = {"done": [], "running": [], "waiting": [], "gone": []}
    left = 0
    for shift in record.shifts:
        key = (shift.broker, shift.place)
        path, size = has.get(key, ("", shift.size))
        future, arrived = coming.get(key, ("", 0))
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
        by_state[kind].append(shift)
        left += max(0, size - arrived) if kind == "running" else shift.size if kind == "waiting" else 0
    return Standing(**by_state, left=left, unheard=unheard)


def next_ones(now: Standing) -> dict[int, dict[Place, str]]:
    """Return {broker: {partition: target log dir}} of the shifts to start now; small replicas are chosen first.

    No broker gets more than INBOUND copies at the same time. If the target holds the replica already, the request to
    Kafka cancels a running copy.
    """
    coming = Counter(shift.broker for shift in now.running)
    chosen: dict[int, dict[Place, str]] = {}
    for shift in sorted(now.waiting, key=lambda one: (one.size, one.broker, one.place)):
        if coming[shift.broker] < INBOUND and shift.broker not in now.unheard:
            coming[shift.broker] += 1
            chosen.setdefault(shift.broker, {})[shift.place] = shift.target
    return chosen


@dataclass
class Run:
    """One process that makes the shifts of a record: `step` starts shifts, `words` reports the progress."""

    admin: Admin
    record: Record
    progress: Progress
    again: str = AGAIN
    """Advice on how to resume if the run fails."""
    now: Standing = Standing()
    """The state of the shifts when the log dirs were last read."""
    held: str = ""
    """Why the run has not ended although all shifts are done."""
    refused: dict[str, str] = field(default_factory=dict)
    """By replica, why its broker does not start the copy."""

    def step(self) -> bool:
        """Read the log dirs of the brokers and start the next shifts; return True when all shifts have ended.

        Raises Unfinished if a broker has not answered for AWAY seconds, ImportError if kafka-python is not installed.
        """
        dirs, unheard = list[LogDir](), list[int]()
        for broker in sorted({shift.broker for shift in self.record.shifts}):
            places = [shift.place for shift in self.record.shifts if shift.broker == broker]
            try:
                dirs += log_dirs(self.admin, [broker], places)
            except AdminError:  # it may be restarting, and continues its copies afterwards
                self.admin.leave_behind()
                unheard.append(broker)
        self.now, self.held, self.refused = standing(self.record, dirs, unheard), "", {}
        time, seen = waits.now(), self.progress
        seen.unheard = (seen.unheard or time) if unheard else 0.0
        if unheard and time - seen.unheard > AWAY:
            names = ", ".join(map(str, unheard))
            text = f"broker {names} does not answer: start it, then run the same command again"
            raise Unfinished(text, {"changed": True})
        for broker, wanted in next_ones(self.now).items():
            try:
                failed = alter(self.admin, broker, wanted)
            except AdminError as error:
                self.admin.leave_behind()
                failed = dict.fromkeys(wanted, str(error))
            self.refused |= {f"{topic}-{number}": why for (topic, number), why in failed.items()}
        return self.now.ended

    def words(self) -> str:
        """Return the line that reports the progress of the copies, and store its figures in `self.progress`.

        Raises Unfinished after STALLED seconds without progress.
        """
        line = self.progress_line()
        if waits.now() - self.progress.moved > STALLED:
            written = " (producers may write more than the rate allows to copy)" if self.record.rate else ""
            text = f"no progress for {STALLED:.0f} s{written}: {line}"
            raise Unfinished(f"{text}; see the broker's log (journalctl -u kafka); {self.again}", {"changed": True})
        return line

    def progress_line(self) -> str:
        """Return the line that reports the progress of the copies, and store its figures in `self.progress`.

        The line has the replicas and bytes copied, the rate, the time left, brokers that do not answer, and rejections.
        """
        time, seen, now = waits.now(), self.progress, self.now
        whole = sum(shift.bytes for shift in self.record.shifts if shift not in now.gone)
        copied = max(0, whole - now.left)
        if seen.left < 0 or now.left < seen.left:
            seen.left, seen.moved = now.left, time
        if len(now.done) > seen.done:  # empty replicas are progress, too, without a byte
            seen.done, seen.moved = len(now.done), time
        text = f"{len(now.done)} of {len(self.record.shifts)} replicas, {amounts.size(copied)} of {amounts.size(whole)}"
        rate = (copied - seen.bytes) / max(1.0, time - seen.at)
        if rate > 0 and now.left:
            text += f", {amounts.size(rate)}/s, {amounts.time(now.left / rate)} left"
        seen.at, seen.bytes = time, copied
        if now.unheard:
            text += f"; broker {', '.join(map(str, now.unheard))} does not answer"
        for name, why in list(self.refused.items())[:SHOWN]:
            text += f"; {name} is rejected for now: {why}"
        return f"{text}; {self.held}" if self.held else text
