"""Carries out moves, some at a time, and sees that they come to their end; no Ansible import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import moves
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.moves import Running
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import (
    amounts,
    copy_progress,
    feasibility,
    lost_brokers,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.completion import taken_away
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.copy_progress import Copy
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.feasibility import Outlook
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import (
    at_controller,
    lacking,
    named,
    no_room,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.wait_progress import (
    AGAIN,
    STALLED,
    Progress,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Unfinished

INBOUND = 5
"""Replicas that a broker gets at the same time; those that wait are on disks and networks of nobody."""
ORDERS = 200
"""Partitions that get another order of the same replicas in one request: nothing is copied."""
SETTLES = 5.0
"""Seconds until what was begun has to be told by the controller, or to be done."""
LATE = 300.0
"""Seconds for which a follower may be out of sync at the end, as one that was restarted, or that lags for a moment."""
QUIET = 60.0
"""Seconds without a byte after which a replica is named."""


@dataclass(frozen=True)
class Standing:
    """How far the moves of a record are."""

    done: Sequence[Move] = ()
    running: Sequence[Move] = ()
    waiting: Sequence[Move] = ()
    turned: Sequence[Move] = ()
    """On the move, and not where they are to go."""
    gone: Sequence[Move] = ()
    """Their topic was deleted meanwhile, or somebody else moved them to other brokers."""
    lost: Sequence[Move] = ()
    """Not put back: without somebody who is dead, or a disk that was given up, they would not end."""

    @property
    def ended(self) -> bool:
        """Tell whether nothing is left to do."""
        return not (self.running or self.waiting or self.turned)


def standing(
    record: Record, metadata: Metadata, running: Mapping[Place, Running], late: Collection[Place] = ()
) -> Standing:
    """Sort the moves of a record by what the cluster says; what is `late` is waited for no more."""
    there = {(one.topic, one.number): one.replicas for one in metadata.partitions}
    found: dict[str, list[Move]] = {name: [] for name in ("done", "running", "waiting", "turned", "gone", "lost")}
    for move in record.moves:
        under_way, replicas = running.get(move.place), there.get(move.place)
        if under_way is not None:
            kind = "running" if under_way.target == move.after else "turned"
        elif replicas == move.after:
            kind = "done"
        elif replicas is None or taken_away(move, replicas):
            kind = "gone"
        elif move.place in late:
            kind = "lost"
        else:
            kind = "waiting"
        found[kind].append(move)
    return Standing(**found)


def next_ones(now: Standing, sent: Collection[Place]) -> list[Move]:
    """Return the moves that are begun next: so many for each broker, the smallest first, and orders besides."""
    coming = Counter(broker for move in now.running for broker in move.added)
    chosen, orders = [], 0
    for move in sorted(now.waiting, key=lambda one: (one.size, one.place)):
        if move.place in sent:
            coming.update(move.added)
            continue
        if not move.added:
            orders += 1
            chosen += [move] if orders <= ORDERS else []
        elif all(coming[broker] < INBOUND for broker in move.added):
            coming.update(move.added)
            chosen.append(move)
    return chosen


@dataclass
class Run:
    """One process that carries out a record."""

    admin: Admin
    record: Record
    progress: Progress
    again: str = AGAIN
    """How a person goes on where it ends before that."""
    slow: str = "with the same again, or cancel=true"
    """How a person says another rate."""
    now: Standing = Standing()
    """How far it was when somebody last answered."""
    sent: dict[Place, float] = field(default_factory=dict)
    """When it was begun, of what was begun by this process."""
    held: str = ""
    """Why no more is begun, or nothing is known."""
    refused: dict[str, str] = field(default_factory=dict)
    outlooks: Sequence[Outlook] = ()
    """What can become of the moves of a cancel that were not done when somebody last answered."""
    kept: Sequence[str] = ()
    """Why some of them are not called off."""
    metadata: Metadata = field(default_factory=lambda: Metadata("", -1, {}, []))
    """What was last seen."""
    coming: Sequence[Copy] = ()
    """The replicas that were on their way when `words` was last asked."""
    short: str = ""
    """Why that cannot end at this rate."""
    look: Callable[[Run], Standing] | None = None
    """What looks once in place of `move`, where somebody else moves the replicas."""
    late: str = ""
    """Why it has not ended though all is moved."""

    def step(self) -> bool:
        """Look once, and begin what may be begun; tell whether all is done. Raises AdminError."""
        self.held = self.late = ""
        self.now = self.look(self) if self.look else self.move()
        if not self.now.ended:
            self.progress.late = 0.0
        return self.now.ended

    def not_yet(self, wrong: Sequence[str]) -> None:
        """Wait for what is not as it was to be though all is moved. Raises Unfinished after some minutes of it."""
        time = waits.now()
        self.progress.late = self.progress.late or time
        text = "; ".join(wrong[:5])
        if time - self.progress.late >= LATE:
            raise Unfinished(
                f"all is moved, and for {LATE:.0f} s it has been so: {text}; {self.again}", {"changed": True}
            )
        self.late = f"all is moved, and {text}"

    def move(self) -> Standing:
        """Look once, and begin what may be begun. Raises AdminError."""
        self.metadata, running = self.admin.metadata(), moves.running(self.admin)
        now = standing(self.record, self.metadata, running)
        if self.record.back or now.gone or now.ended:  # a cancel deletes replicas: nobody else is believed
            self.metadata = at_controller(self.admin, self.metadata, self.record.moves)
            now = standing(self.record, self.metadata, running)
        if self.record.back:
            now, called_off = self.without_the_late(now, running)
            if called_off:
                self.begin(dict.fromkeys(called_off))
                return now
        found = self.lacking(now)
        self.held = f"{named(list(found))} {next(iter(found.values()))}" if found else ""
        time = waits.now()
        self.sent = {place: at for place, at in self.sent.items() if time - at < SETTLES}
        lacking = {one.move.place for one in self.outlooks if one.lacks}
        roomless = {*self.progress.roomless}
        with_room = [move for move in now.waiting if str(move) not in roomless]
        if now.waiting and not (with_room or now.running or now.turned):
            text = no_room([str(move) for move in now.waiting], self.progress.full)
            raise Unfinished(f"{text}; then {self.again}", {"changed": True})
        able_to = replace(now, waiting=[move for move in with_room if move.place not in lacking])
        if not found and (chosen := next_ones(able_to, self.sent)):
            self.begin({move.place: move.after for move in chosen})
        return now

    def without_the_late(self, now: Standing, running: Mapping[Place, Running]) -> tuple[Standing, list[Place]]:
        """Return how far a cancel is, and what it calls off: of the run that it puts back, and what does not end.

        Not where that would delete all that is in sync. Raises ImportError.
        """
        going = [*now.running, *now.waiting]
        self.outlooks = lost_brokers.outlooks(self.admin, self.progress, going, self.metadata, running)
        late = lost_brokers.late(self.progress, self.outlooks)
        # what aims elsewhere is somebody else's
        ours = [move for move in now.turned if running[move.place].target == move.before]
        ends = feasibility.outlooks(ours, self.metadata, running)
        ends += [one for one in self.outlooks if one.move.place in late and one.move.place in running]
        self.kept = [one.kept for one in ends if one.alone]
        now = standing(self.record, self.metadata, running, late)
        return now, [one.move.place for one in ends if not one.alone]

    def lacking(self, now: Standing) -> dict[str, str]:
        """Return the partitions beside which nothing is begun, each with why. Raises ImportError.

        A broker, or a disk, that died for good must not keep a cancel from its end.
        """
        ours = {move.place for move in (*now.running, *now.turned)} | self.sent.keys()
        brokers, back = self.metadata.brokers, self.record.back
        others = [one for one in self.metadata.partitions if (one.topic, one.number) not in ours]
        if back:
            others = [one for one in others if not set(one.replicas) - brokers.keys()]
        names = lacking(others, brokers, self.record.leaving)
        short = [one for one in others if str(one) in names] if names else []
        failed = lost_brokers.given_up(self.admin, short, brokers)
        if back:
            excused = {place for _, place in failed}
            short = [one for one in short if (one.topic, one.number) not in excused]
        return lacking(short, brokers, self.record.leaving, {broker: path for (broker, _), path in failed.items()})

    def begin(self, wanted: Mapping[Place, Sequence[int] | None]) -> None:
        """Have the controller begin moves, or call them off."""
        failed = moves.alter(self.admin, wanted)
        self.refused = {f"{topic}-{number}": why for (topic, number), why in failed.items()}
        self.sent |= dict.fromkeys(wanted, waits.now())

    def words(self) -> str:
        """Say how far it is and what keeps it, and note it for the next time. Raises Unfinished, ImportError."""
        far, time = self.far(), waits.now()
        stalled = time - self.progress.moved > STALLED
        words = "; ".join([far, *self.stuck(0 if stalled else QUIET)])
        if self.short and time - self.progress.short > STALLED:
            raise Unfinished(f"{self.short}, {self.slow} ({words})", {"changed": True})
        if stalled:
            raise Unfinished(f"nothing was copied for {STALLED:.0f} s ({words}); {self.again}", {"changed": True})
        return words

    def far(self) -> str:
        """Say how far it is, and note it for the next time. Raises ImportError."""
        now = self.now
        if now == Standing():
            return f"nobody answers: {self.held}"
        time, seen, before = waits.now(), self.progress, self.progress.bytes
        self.coming = copy_progress.copies(now.running, self.metadata)
        there = copy_progress.sizes(self.admin, self.coming, self.metadata)
        self.short = copy_progress.look(seen, self.coming, there, self.record.rate, time)
        done = sum(move.bytes for move in now.done)
        copied = done + sum(seen.has.values())
        # what was written meanwhile is copied, too
        grown = sum(max(0, seen.whole[one.name] - one.size) for one in self.coming)
        whole = sum(move.bytes for move in self.record.moves) + grown
        text = f"{len(now.done)} of {len(self.record.moves)} partitions"
        text += f", {amounts.size(min(copied, whole))} of {amounts.size(whole)}"
        rate = (copied - before) / max(1.0, time - seen.at)
        if len(now.done) != seen.done:
            seen.moved, seen.done, seen.short = time, len(now.done), 0.0
        seen.at, seen.bytes = time, copied
        if rate > 0 and copied < whole:
            text += f", {amounts.size(rate)}/s"
            text += "" if self.short else f", {amounts.time((whole - copied) / rate)} left"
        text += f"; {self.short}" if self.short else ""
        text += "".join(f"; {one}" for one in (*lost_brokers.told(self.outlooks), *self.kept))
        if self.held:
            text += f"; no more is begun while {self.held}"
        text += f"; {self.late}" if self.late else ""
        if self.refused:
            text += f"; refused for now: {'; '.join(f'{name}: {why}' for name, why in list(self.refused.items())[:3])}"
        return text

    def stuck(self, seconds: float) -> list[str]:
        """Return the replicas to which nothing has come for so long, each with why. Raises ImportError."""
        since = waits.now() - seconds
        ends_with_all = not (self.record.back or self.look)  # of a cancel it is told already, and of a new disk not so
        kept = copy_progress.kept_from(self.admin, self.now.running, self.metadata) if ends_with_all else []
        return kept + copy_progress.stuck(
            self.admin, self.progress, self.coming, self.metadata, self.record.rate, since
        )
