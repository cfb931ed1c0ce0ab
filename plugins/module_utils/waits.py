"""Waits in parts: a module says nothing while it runs, so it returns now and then, and is called again.

No Ansible import.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

# Options of a module that waits; its action gives them (plugin_utils/waits.py).
OPTIONS: dict[str, Any] = {"pause": {"type": "int", "default": 0}, "waited": {"type": "dict", "default": {}}}
TICK = 0.2
SILENT = 60.0
"""Seconds for which nobody may answer before that ends a run that goes on in parts."""

Lacking = Mapping[str, Sequence[str]]
"""What is not whole, by kind."""


class Wait:
    """One wait of `timeout` seconds, of which this call of the module may take `pause` (0: all)."""

    def __init__(self, timeout: float, pause: float = 0, begun: float | None = None) -> None:
        """`begun` is when the first part of it began, by the clock `now`, which all processes of a machine share."""
        self.timeout, self.begun = timeout, now() if begun is None else begun
        self.part = min(pause or timeout, max(0.0, self.left()))

    def left(self) -> float:
        """Return how many seconds of it are left, less than 0 where it is over."""
        return self.begun + self.timeout - now()


def now() -> float:
    """Return seconds of a clock that never goes back."""
    return time.monotonic()


def rest(seconds: float) -> None:
    """Let some seconds go by."""
    threading.Event().wait(seconds)


def waiting(what: Sequence[str], timeout: float, **waited: Any) -> Mapping[str, Any]:
    """Return what a module answers whose wait goes on: for whom, for how long at most, and what the next call needs."""
    return {"what": list(what), "timeout": timeout, "waited": waited}


@dataclass(frozen=True)
class Part:
    """What the parts of a wait before this one saw lacking at last, and since when."""

    pause: float = 0
    """Seconds after which this one ends; 0: with the wait."""
    begun: float | None = None
    since: float | None = None
    lacking: Lacking = field(default_factory=dict)

    def seen(self) -> dict[str, Any]:
        """Return what the next call of a module needs."""
        return {name: value for name, value in asdict(self).items() if name != "pause"}


WHOLE = Part()


@dataclass(frozen=True)
class Verdict:
    """What a wait came to."""

    go: bool
    lacking: Lacking
    why: str = ""
    """Why it goes on, or what it would cost, where not everything is whole."""
    lasting: bool = False
    """Whether waiting changes nothing."""
    rest: Part | None = None
    """What the next part has to know, where the wait goes on."""


@dataclass(frozen=True)
class Look:
    """What was seen once."""

    lacking: Lacking | None
    """None where nobody answered."""
    why: str
    settle: Callable[[], Verdict] | None = None
    """Judges what was seen; None where it proves nothing."""


@dataclass(frozen=True)
class Patience:
    """How long is waited."""

    timeout: float
    same: float
    """Seconds for which nothing more may come to lack before that is judged; what is whole is judged at once."""
    part: Part = WHOLE
    every: float = 0
    """Seconds between two judgements of the same, where one costs much; the first come sooner after one another."""
    at_last: bool = False
    """Whether what lacks in the end is judged however short it has."""
    enough: bool = False
    """Whether a no to what has been the same for so long ends the wait: somebody asks, and nobody waits for a yes."""


def watch(look: Callable[[], Look], patience: Patience) -> Verdict:
    """Look until what is seen lets go, or waiting changes nothing, or the time is over."""
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
        elif (found := {kind: list(names) for kind, names in seen.lacking.items()}) != before:
            worse = any(set(names) - set(before.get(kind, ())) for kind, names in found.items())
            since, before, judged = at if worse else since, found, None
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
