"""How a run comes on, from one part of its wait to the next, and how long it is waited for; no Ansible import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Unfinished

PART = 60.0
"""Seconds between two looks at whether it goes on, where nobody is told of it."""
STALLED = 600.0
"""Seconds without a byte or a partition, or at a rate below what is written, after which a run gives up."""
ON = "run the same again to go on, with another rate if need be"
AGAIN = f"{ON}, or with cancel=true to put everything back"
Result = dict[str, Any]


@dataclass
class Progress:
    """What was seen before: whatever is counted for longer than a part has to stand here."""

    begun: float = 0.0
    at: float = 0.0
    bytes: int = 0
    moved: float = 0.0
    """When something was last copied or done."""
    silent: float = 0.0
    """Since when nobody answers, 0 while somebody does."""
    unheard: float = 0.0
    """Since when a broker does not answer that copies between its log dirs, 0 while all do."""
    left: int = -1
    """The fewest bytes that were left to copy between log dirs at any time, -1 where nobody looked yet."""
    done: int = 0
    spared: int = 0
    """Bytes of the record that this run does not copy: an earlier one did, or it calls them off."""
    roomless: list[str] = field(default_factory=list)
    """Partitions that a cancel does not begin to put back, for a disk would be full of them."""
    full: list[str] = field(default_factory=list)
    """The disks that would be so, in words."""
    has: dict[str, int] = field(default_factory=dict)
    """By replica that is copied, its bytes."""
    came: dict[str, float] = field(default_factory=dict)
    """By replica that is copied, when its bytes were last others."""
    whole: dict[str, int] = field(default_factory=dict)
    """By partition that is copied, the bytes of its leader."""
    away: dict[str, float] = field(default_factory=dict)
    """By what a cancel lacks, a broker or a replica on a disk that was given up, since when it is away."""
    late: float = 0.0
    """Since when all is moved, and not yet as it was to be; 0 where it is not so."""
    short: float = 0.0
    """Since when more has been written than the rate lets through, 0 while it is not."""


def progress(waited: Mapping[str, Any]) -> Progress:
    """Return what the parts of a wait before this one saw."""
    time = waits.now()
    return Progress(**waited) if waited else Progress(time, time, moved=time)


def waiting(words: str, so_far: Progress) -> Result:
    """Return what a module answers whose run goes on."""
    return {"changed": True, "waiting": waits.waiting([words], 0, **asdict(so_far))}


class Run(Protocol):
    """One process that carries out a record."""

    admin: Admin
    progress: Progress
    held: str
    """Why no more is begun, or nothing is known."""
    again: str
    """How a person goes on where it ends before that."""

    def step(self) -> bool:
        """Look once, and begin what may be begun; tell whether all is done. Raises AdminError, Unfinished."""

    def words(self) -> str:
        """Say how far it is, and note it for the next time. Raises Unfinished where it does not come on."""


def carry_on(run: Run, pause: float, end: Callable[[], Result | None]) -> Result:
    """Carry a run on for `pause` seconds (0: to its end); return what is waited for, or what `end` says was done.

    Where that says nothing, it has not ended yet, and is looked at again. Raises Unfinished.
    """
    try:
        while (found := _until(waits.now() + (pause or PART), run, end)) is None:
            words = run.words()
            if pause:
                return waiting(words, run.progress)
    except AdminError as error:
        raise Unfinished(f"{run.admin.explain(error)}; {run.again}", {"changed": True}) from error
    return found


def _until(time: float, run: Run, end: Callable[[], Result | None]) -> Result | None:
    """Return what `end` says once all is done, None at that time.

    What nobody answers is asked again, at the end as well. Raises AdminError after SILENT seconds of it, Unfinished.
    """
    while True:
        before = waits.now()
        try:
            if run.step() and (found := end()) is not None:
                return found
            run.progress.silent = 0.0
        except AdminError as error:  # another controller, a broker that is restarted
            run.admin.leave_behind()
            run.progress.silent = run.progress.silent or before
            if before - run.progress.silent > waits.SILENT:
                raise
            run.held = str(error)
        if waits.now() >= time:
            return None
        waits.rest(max(0.3, min(5.0, 2 * (waits.now() - before))))
