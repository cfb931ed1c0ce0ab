"""Makes the moves of a record, only a few at the same time, until all have ended."""

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
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.completion import moved_by_others
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
    SAME,
    STALLED,
    Progress,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Unfinished

INBOUND = 5
"""Replicas that a broker receives at the same time; a move that waits uses no disk or network."""
ORDERS = 200
"""Partitions whose order of replicas is changed in one request; nothing is copied for them."""
SETTLES = 5.0
"""Seconds within which the controller has to list a move that was started, or to complete the move."""
LATE = 300.0
"""Seconds for which a follower may be out of sync at the end of a run, as after a restart."""
QUIET = 60.0
"""Seconds without a byte after which a replica is reported as stuck."""


@dataclass(frozen=True)
class Standing:
    """The moves of a record, sorted by their state in the cluster."""

    done: Sequence[Move] = ()
    running: Sequence[Move] = ()
    waiting: Sequence[Move] = ()
    turned: Sequence[Move] = ()
    """Moves whose partition is being moved to other brokers than planned: a cancel still has to cancel them."""
    gone: Sequence[Move] = ()
    """Moves whose topic was deleted, or whose partition another tool moved to other brokers."""
    lost: Sequence[Move] = ()
    """Moves that a cancel does not revert: they need a broker that stays down, or a replica in an offline log dir."""

    @property
    def ended(self) -> bool:
        """Tell whether no move is running, still to be started, or still to be canceled."""
        return not (self.running or self.waiting or self.turned)


def standing(
    record: Record, metadata: Metadata, running: Mapping[Place, Running], late: Collection[Place] = ()
) -> Standing:
    """Return the moves of a record, sorted by their present state in the cluster.

    `running` is {partition: its running reassignment}. A cancel no longer waits for the partitions in `late`: their
    moves count as lost unless they are running or done.
    """
    replicas_of = {(one.topic, one.number): one.replicas for one in metadata.partitions}
    by_state: dict[str, list[Move]] = {name: [] for name in ("done", "running", "waiting", "turned", "gone", "lost")}
    for move in record.moves:
        under_way, replicas = running.get(move.place), replicas_of.get(move.place)
        if under_way is not None:
            kind = "running" if under_way.target == move.after else "turned"
        elif replicas == move.after:
            kind = "done"
        elif replicas is None or moved_by_others(move, replicas):
            kind = "gone"
        elif move.place in late:
            kind = "lost"
        else:
            kind = "waiting"
        by_state[kind].append(move)
    return Standing(**by_state)


def next_ones(now: Standing, sent: Collection[Place]) -> list[Move]:
    """Return the moves to start now, the smallest first.

    No broker receives more than INBOUND replicas at the same time. At most ORDERS moves that only reorder replicas run
    at the same time. `sent` are partitions whose moves were started a moment ago; the controller may not list these
    yet.
    """
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
    """One process that makes the moves of a record: `step` starts moves, `words` reports the progress."""

    admin: Admin
    record: Record
    progress: Progress
    again: str = AGAIN
    """Advice on how to resume if the run fails."""
    slow: str = f"{SAME}, or run it with cancel=true"
    """Advice on how to set another rate."""
    now: Standing = Standing()
    """The state at the last answer of the cluster."""
    sent: dict[Place, float] = field(default_factory=dict)
    """By partition, when this process started its move."""
    held: str = ""
    """Why no further move starts, or why the state is unknown."""
    refused: dict[str, str] = field(default_factory=dict)
    """By partition, why the controller rejected its move."""
    outlooks: Sequence[Outlook] = ()
    """In a cancel, the outlooks of its unfinished moves at the cluster's last answer."""
    kept: Sequence[str] = ()
    """In a cancel, why reassignments are not canceled, as texts."""
    metadata: Metadata = field(default_factory=lambda: Metadata("", -1, {}, []))
    """The metadata of the cluster that were read last."""
    coming: Sequence[Copy] = ()
    """The replicas that were being copied at the last call of `words`."""
    short: str = ""
    """Why these copies cannot end at the present rate."""
    look: Callable[[Run], Standing] | None = None
    """Replaces the method `move` if the broker copies the replicas by itself, as onto a new disk."""
    late: str = ""
    """Why the run has not ended although all partitions are moved."""

    def step(self) -> bool:
        """Read the state of the cluster and start the next moves; return True when all moves have ended.

        Raises AdminError if the cluster does not answer.
        """
        self.held = self.late = ""
        self.now = self.look(self) if self.look else self.move()
        if not self.now.ended:
            self.progress.late = 0.0
        return self.now.ended

    def not_yet(self, differences: Sequence[str]) -> None:
        """Keep the run open because the cluster still differs from the plan (`differences`) after all moves.

        Raises Unfinished if that has lasted for LATE seconds.
        """
        time = waits.now()
        self.progress.late = self.progress.late or time
        text = "; ".join(differences[:5])
        if time - self.progress.late >= LATE:
            raise Unfinished(
                f"all partitions are moved, but after {LATE:.0f} s: {text}; {self.again}", {"changed": True}
            )
        self.late = f"all partitions are moved, but {text}"

    def move(self) -> Standing:
        """Read the state of the cluster, and start or cancel the next moves; return the state that was read.

        Raises AdminError if the cluster does not answer. Raises Unfinished if moves are left and each would overfill a
        disk.
        """
        self.metadata, running = self.admin.metadata(), moves.running(self.admin)
        now = standing(self.record, self.metadata, running)
        if self.record.back or now.gone or now.ended:  # a cancel deletes replicas, so it trusts the controller alone
            self.metadata = at_controller(self.admin, self.metadata, self.record.moves)
            now = standing(self.record, self.metadata, running)
        if self.record.back:
            now, to_cancel = self.cancelable(now, running)
            if to_cancel:
                self.begin(dict.fromkeys(to_cancel))
                return now
        obstacles = self.lacking(now)
        self.held = f"{named(list(obstacles))} {next(iter(obstacles.values()))}" if obstacles else ""
        time = waits.now()
        self.sent = {place: at for place, at in self.sent.items() if time - at < SETTLES}
        cannot_end = {one.move.place for one in self.outlooks if one.missing}
        roomless = {*self.progress.roomless}
        with_room = [move for move in now.waiting if str(move) not in roomless]
        if now.waiting and not (with_room or now.running or now.turned):
            text = no_room([str(move) for move in now.waiting], self.progress.full)
            raise Unfinished(f"{text}; then {self.again}", {"changed": True})
        able_to = replace(now, waiting=[move for move in with_room if move.place not in cannot_end])
        if not obstacles and (chosen := next_ones(able_to, self.sent)):
            self.begin({move.place: move.after for move in chosen})
        return now

    def cancelable(self, now: Standing, running: Mapping[Place, Running]) -> tuple[Standing, list[Place]]:
        """Return (state of a cancel, partitions whose reassignments it has to cancel now).

        A cancel cancels two kinds of reassignments: those of the run that it reverts, and its own reassignments that
        cannot end. A reassignment is left out if canceling it would delete all in-sync replicas. Raises ImportError if
        kafka-python is not installed.
        """
        going = [*now.running, *now.waiting]
        self.outlooks = lost_brokers.outlooks(self.admin, self.progress, going, self.metadata, running)
        late = lost_brokers.expired(self.progress, self.outlooks)
        # a reassignment to any other brokers is another tool's
        ours = [move for move in now.turned if running[move.place].target == move.before]
        ends = feasibility.outlooks(ours, self.metadata, running)
        ends += [one for one in self.outlooks if one.move.place in late and one.move.place in running]
        self.kept = [one.not_canceled for one in ends if one.only_in_sync]
        now = standing(self.record, self.metadata, running, late)
        return now, [one.move.place for one in ends if not one.only_in_sync]

    def lacking(self, now: Standing) -> dict[str, str]:
        """Return {partition: reason} for each unhealthy partition, which keeps the run from starting more moves.

        Such a partition has no leader or is under-replicated. A cancel has to end in any case, so it ignores partitions
        of brokers that are down and of offline log dirs. Raises ImportError if kafka-python is not installed.
        """
        ours = {move.place for move in (*now.running, *now.turned)} | self.sent.keys()
        brokers, back = self.metadata.brokers, self.record.back
        others = [one for one in self.metadata.partitions if (one.topic, one.number) not in ours]
        if back:
            others = [one for one in others if not set(one.replicas) - brokers.keys()]
        names = lacking(others, brokers, self.record.leaving)
        short = [one for one in others if str(one) in names] if names else []
        failed = lost_brokers.offline_replicas(self.admin, short, brokers)
        if back:
            excused = {place for _, place in failed}
            short = [one for one in short if (one.topic, one.number) not in excused]
        return lacking(short, brokers, self.record.leaving, {broker: path for (broker, _), path in failed.items()})

    def begin(self, wanted: Mapping[Place, Sequence[int] | None]) -> None:
        """Ask the controller to move each partition of `wanted` to the given brokers; None cancels its reassignment.

        Rejections are stored in `refused`.
        """
        failed = moves.alter(self.admin, wanted)
        self.refused = {f"{topic}-{number}": why for (topic, number), why in failed.items()}
        self.sent |= dict.fromkeys(wanted, waits.now())

    def words(self) -> str:
        """Return a line of progress with the reasons for delays, and update `progress`.

        Raises Unfinished if, for STALLED seconds, nothing was copied or the rate was too low for the copies to end.
        Raises ImportError if kafka-python is not installed.
        """
        line, time = self.progress_line(), waits.now()
        stalled = time - self.progress.moved > STALLED
        words = "; ".join([line, *self.stuck(0 if stalled else QUIET)])
        if self.short and time - self.progress.short > STALLED:
            raise Unfinished(f"{self.short}, {self.slow} ({words})", {"changed": True})
        if stalled:
            raise Unfinished(f"nothing was copied for {STALLED:.0f} s ({words}); {self.again}", {"changed": True})
        return words

    def progress_line(self) -> str:
        """Return a line of progress, and update `progress`.

        The line has the partitions and bytes moved, the rate, the time left, and reasons for delays. Raises ImportError
        if kafka-python is not installed.
        """
        now = self.now
        if now == Standing():
            return f"the cluster does not answer: {self.held}"
        time, seen, before = waits.now(), self.progress, self.progress.bytes
        self.coming = copy_progress.copies(now.running, self.metadata)
        there = copy_progress.sizes(self.admin, self.coming, self.metadata)
        self.short = copy_progress.measure(seen, self.coming, there, self.record.rate, time)
        done = sum(move.bytes for move in now.done)
        copied = done + sum(seen.has.values())
        # records that were written meanwhile are copied, too
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
        text += "".join(f"; {note}" for note in (*lost_brokers.notes_while_waiting(self.outlooks), *self.kept))
        if self.held:
            text += f"; no further move starts while {self.held}"
        text += f"; {self.late}" if self.late else ""
        if self.refused:
            reasons = [f"{name}: {why}" for name, why in list(self.refused.items())[:3]]
            text += f"; rejected for now: {'; '.join(reasons)}"
        return text

    def stuck(self, seconds: float) -> list[str]:
        """Return a text with the reason for each replica that has received no byte for `seconds`.

        Brokers out of sync that delay a move come first. Raises ImportError if kafka-python is not installed.
        """
        since = waits.now() - seconds
        # a cancel reports such brokers in its progress already, and a new disk has no reassignment that they delay
        reports_brokers = not (self.record.back or self.look)
        behind = copy_progress.brokers_behind(self.admin, self.now.running, self.metadata) if reports_brokers else []
        return behind + copy_progress.stuck(
            self.admin, self.progress, self.coming, self.metadata, self.record.rate, since
        )
