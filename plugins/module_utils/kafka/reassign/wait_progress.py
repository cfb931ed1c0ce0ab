"""Keeps the progress of a run between the calls of a module that waits for it, and ends a run that stalls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Unfinished

PART = 60.0
"""Seconds between two checks for a stall in a run that reports no progress."""
STALLED = 600.0
"""Seconds without a byte or a partition, or at a rate below the write rate, after which a run fails."""
SAME = "with the same command"
ON = "run the same command again to resume, with another rate if needed"
AGAIN = f"{ON}, or run it with cancel=true to revert all moves"
Result = dict[str, Any]


@dataclass
class Progress:
    """The progress of a run that one call of the module hands to the next.

    Times are seconds of `waits.now`.
    """

    begun: float = 0.0
    """Start of the run."""
    at: float = 0.0
    """Time of the last line of progress."""
    bytes: int = 0
    """Bytes copied until that line."""
    moved: float = 0.0
    """When a byte was last copied or a move ended."""
    silent: float = 0.0
    """Since when the cluster does not answer, 0 while it answers."""
    unheard: float = 0.0
    """Since when a broker that copies between its log dirs does not answer, 0 while all answer."""
    left: int = -1
    """The fewest bytes that were left to copy between log dirs at any time, -1 before the first look."""
    done: int = 0
    """Moves that have ended."""
    spared: int = 0
    """Bytes of the record that this run does not copy: an earlier run did, or their moves are canceled."""
    roomless: list[str] = field(default_factory=list)
    """Partitions that a cancel does not revert because a disk would be too full."""
    full: list[str] = field(default_factory=list)
    """The disks that would be too full, as texts."""
    has: dict[str, int] = field(default_factory=dict)
    """By replica that is copied, its bytes."""
    came: dict[str, float] = field(default_factory=dict)
    """By replica that is copied, when its bytes last changed."""
    whole: dict[str, int] = field(default_factory=dict)
    """By partition that is copied, the bytes of its leader."""
    away: dict[str, float] = field(default_factory=dict)
    """By broker or replica that a cancel needs and that is missing, since when."""
    late: float = 0.0
    """Since when all partitions are moved but differ from the plan, 0 otherwise."""
    short: float = 0.0
    """Since when more is written than the rate allows to copy, 0 otherwise."""


def progress(waited: Mapping[str, Any]) -> Progress:
    """Return the progress that the previous call of the module stored in `waited`; if that is empty, a new Progress."""
    time = waits.now()
    return Progress(**waited) if waited else Progress(time, time, moved=time)


def waiting(words: str, so_far: Progress) -> Result:
    """Return the module's result while a run has not ended: the progress line `words` and data for the next call."""
    return {"changed": True, "waiting": waits.waiting([words], 0, **asdict(so_far))}


class Run(Protocol):
    """The interface of a process that makes the moves of a record: between brokers, or between log dirs."""

    admin: Admin
    progress: Progress
    held: str
    """Why no further move starts, or why the state is unknown."""
    again: str
    """Advice on how to resume if the run fails."""

    def step(self) -> bool:
        """Read the state of the cluster and start the next moves; return True when all moves have ended.

        Raises AdminError if the cluster does not answer, Unfinished if the run cannot end.
        """

    def words(self) -> str:
        """Return a line of progress, and update `progress`. Raises Unfinished if the run has stalled."""


def carry_on(run: Run, pause: float, end: Callable[[], Result | None]) -> Result:
    """Continue a run for `pause` seconds (0: to its end); return the module's result.

    When all moves have ended, the result is that of `end`; if `end` returns None, the run continues. If `pause` is over
    first, the result is progress, and the module has to be called again. Raises Unfinished if the run fails or stalls.
    """
    try:
        while (result := _until(waits.now() + (pause or PART), run, end)) is None:
            words = run.words()
            if pause:
                return waiting(words, run.progress)
    except AdminError as error:
        raise Unfinished(f"{run.admin.explain(error)}; {run.again}", {"changed": True}) from error
    return result


def _until(time: float, run: Run, end: Callable[[], Result | None]) -> Result | None:
    """Continue the run until the given time; return the result of `end` if the run has ended, None otherwise.

    Requests that get no answer are repeated. Raises AdminError after SILENT seconds without an answer, Unfinished if
    the run fails.
    """
    while True:
        before = waits.now()
        try:
            if run.step() and (result := end()) is not None:
                return result
            run.progress.silent = 0.0
        except AdminError as error:  # the controller changes, or a broker is restarted
            run.admin.leave_behind()
            run.progress.silent = run.progress.silent or before
            if before - run.progress.silent > waits.SILENT:
                raise
            run.held = str(error)
        if waits.now() >= time:
            return None
        waits.rest(max(0.3, min(5.0, 2 * (waits.now() - before))))
