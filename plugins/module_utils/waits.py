"""Lets a module wait in parts: the module returns from time to time, so that progress is printed, and is called again.

A module cannot report anything while it runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

# Options of a module that waits, set by its action (plugin_utils/wait_lines.py).
OPTIONS: dict[str, Any] = {"pause": {"type": "int", "default": 0}, "waited": {"type": "dict", "default": {}}}
TICK = 0.2
SILENT = 60.0
"""Seconds without any answer after which a wait in parts fails."""

Lacking = Mapping[str, Sequence[str]]
"""What a cluster or an ensemble is missing, by kind."""


class Wait:
    """The clock of a wait of `timeout` seconds, which may extend over several calls of a module."""

    def __init__(self, timeout: float, pause: float = 0, begun: float | None = None) -> None:
        """Start or continue a wait; this call may use `pause` seconds of it (0: all that is left).

        `begun` is when the first call began, in seconds of `now`; None in the first call.
        """
        self.timeout, self.begun = timeout, now() if begun is None else begun
        self.part = min(pause or timeout, max(0.0, self.left()))

    def left(self) -> float:
        """Return how many seconds of the timeout remain; negative when the wait is over."""
        return self.begun + self.timeout - now()


def now() -> float:
    """Return the seconds of a monotonic clock that all processes of this machine share."""
    return time.monotonic()


def rest(seconds: float) -> None:
    """Sleep for some seconds."""
    threading.Event().wait(seconds)


def waiting(what: Sequence[str], timeout: float, **waited: Any) -> Mapping[str, Any]:
    """Return the result of a module whose wait continues in the next call.

    `what` are the reasons for the wait, `timeout` is its length in seconds, `waited` is the data for the next call.
    """
    return {"what": list(what), "timeout": timeout, "waited": waited}


@dataclass(frozen=True)
class Part:
    """The state of a wait between two calls of a module: what is missing, and since when nothing was added to that."""

    pause: float = 0
    """Seconds after which this part of the wait ends; 0: it ends with the whole wait."""
    begun: float | None = None
    since: float | None = None
    lacking: Lacking = field(default_factory=dict)

    def seen(self) -> dict[str, Any]:
        """Return the fields as a dict for the next call of the module, except `pause`, which that call sets itself."""
        return {name: value for name, value in asdict(self).items() if name != "pause"}


WHOLE = Part()


@dataclass(frozen=True)
class Verdict:
    """The decision of a wait: `go` if it is positive; `rest` is set if the wait continues in the next module call."""

    go: bool
    lacking: Lacking
    why: str = ""
    """Why the wait continues or failed, or a warning if something is missing."""
    lasting: bool = False
    """Whether waiting longer would not change the decision."""
    rest: Part | None = None
    """The state for the next part, if the wait continues."""


@dataclass(frozen=True)
class Look:
    """One observation of a cluster or an ensemble during a wait, and the function that decides if the wait ends."""

    lacking: Lacking | None
    """What is missing, by kind; None if the cluster or ensemble did not answer."""
    why: str
    settle: Callable[[], Verdict] | None = None
    """Returns the decision that follows from this observation; None if the observation allows no decision."""


@dataclass(frozen=True)
class Patience:
    """The limits of a wait, in seconds."""

    timeout: float
    same: float
    """Seconds for which nothing more may become missing before a decision. If nothing is missing, there is no delay."""
    part: Part = WHOLE
    every: float = 0
    """Maximum interval in seconds between two decisions on the same observation; the first intervals are shorter."""
    at_last: bool = False
    """Whether to decide at the end of the wait even if something became missing less than `same` seconds ago."""
    enough: bool = False
    """Whether a negative decision ends the wait once nothing more became missing for `same` seconds."""


def watch(look: Callable[[], Look], patience: Patience) -> Verdict:
    """Call `look` repeatedly until the wait may end or its time is over; return the last verdict.

    `look` observes the cluster and returns a Look, whose function `settle` decides. The wait ends if the decision is
    positive, or if waiting longer is useless. A decision is made at once if nothing is missing, otherwise when nothing
    more became missing for `patience.same` seconds. If this call of the module ends before the wait does
    (`patience.part`), the verdict's `rest` has the state for the next call.
    """
    part = patience.part
    whole = Wait(patience.timeout, part.pause, part.begun)
    deadline, until, again, pace = whole.begun + patience.timeout, now() + whole.part, 0.0, 0.0
    since, before = now() if part.since is None else part.since, {kind: list(n) for kind, n in part.lacking.items()}
    verdict = Verdict(False, before)
    judged: Verdict | None = None
    while True:
        at, seen = now(), look()
        if seen.lacking is None:
            since, judged = at, None
        elif (missing := {kind: list(names) for kind, names in seen.lacking.items()}) != before:
            worse = any(set(names) - set(before.get(kind, ())) for kind, names in missing.items())
            since, before, judged = at if worse else since, missing, None
        verdict = judged or Verdict(False, before, seen.why)
        patient = not before or at - since >= patience.same or (patience.at_last and at >= deadline)
        if seen.settle and patient and (judged is None or at >= again):
            verdict = judged = seen.settle()
            pace = max(1.4 * pace, TICK, now() - at)
            again = now() + min(patience.every, pace)
        said_no = patience.enough and judged is not None and at - since >= patience.same
        if verdict.go or verdict.lasting or said_no or at >= deadline:
            return verdict
        if at >= until:
            return replace(verdict, rest=Part(part.pause, whole.begun, since, before))
        rest(TICK)
