"""What is promised of each fault, in seconds: one table, and the clock that holds a test to it.

Each number is what was measured on two cores shared with other work, times 2 to 2.5; a gap after a dead broker, which
its own host unregisters, is what it was on a machine at a load of 40. A broker that lives without a registration is
restarted after the lab's 40 s, and its leaders acknowledge nothing until then. A request that a log dir was to answer
when it failed is left without one, until the writer's request timeout of 5 s: seen were 0.3, 1.3 and, once, 5.1 s.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from .lab import until, until_none
from .starved import Reading, Window, between

T = TypeVar("T")

GAP = "longest gap between acknowledgements of a partition"
BACK = "process back"
FULL = "all ISRs full"
ENSEMBLE = "ensemble whole"
COUNTED = "words counted"
GIVEN_UP = "directory given up"
FENCED = "median of the longest gaps"
WHOLE = "median until all is whole"

PROMISES: dict[str, dict[str, float]] = {
    "kill -9 of a broker": {GAP: 7, BACK: 20, FULL: 40, ENSEMBLE: 40},
    "kill -9 of a leader, fenced": {FENCED: 2.5, WHOLE: 20},
    "a broker that lives loses its registration": {GAP: 80, BACK: 80, FULL: 120},
    "kill -9 of the ZooKeeper leader": {GAP: 3, "another leader": 6, BACK: 20, ENSEMBLE: 25, FULL: 25},
    "kill -9 of a Spark job": {BACK: 15, COUNTED: 75},
    "restart of every host": {"services active": 30, ENSEMBLE: 60, FULL: 60, COUNTED: 110},
    "a disk of a broker gives I/O errors": {GAP: 8, GIVEN_UP: 10, FULL: 40},
    "a disk of a broker turns read-only": {GAP: 8, GIVEN_UP: 15, FULL: 40},
    "a host boots without a disk of its broker": {GAP: 15, BACK: 60, FULL: 40},
    "a restart that is interrupted": {GAP: 7},
    "ZooKeeper loses a network": {"longest gap between writes": 20},
    "rolling restart of all brokers": {GAP: 0.5, "times the seconds of a bare script": 1.5},
    "upgrade and rollback": {GAP: 5},
    "rotation of certificates and passwords": {GAP: 5},
}


PATIENCE = 120.0
"""Seconds beyond its promise after which a wait is given up. What takes longer than promised is measured to its end."""


class PromiseBroken(AssertionError):
    """A promised bound was exceeded."""


class Exceeded(NamedTuple):
    """A bound that was exceeded, and how busy the processors were from the start of its clock."""

    text: str
    window: Window

    def __str__(self) -> str:
        """Return both."""
        return f"{self.text}: {self.window}"


class Trial:
    """One run of a test: keeps the bounds that its clocks found exceeded, until the test has judged its ledger."""

    def __init__(self, read: Callable[[], Reading]) -> None:
        """Take what reads the CPU time."""
        self.read, self.exceeded = read, list[Exceeded]()

    @property
    def starved(self) -> bool:
        """Whether a bound was exceeded, and other work took the processors each time."""
        return bool(self.exceeded) and all(each.window.starved for each in self.exceeded)


class Clock:
    """Counts from when it is made, against the promises of one fault.

    An exceeded bound ends no test: it is kept for measured_again.py, which fails the test once all else has passed.
    """

    trial: ClassVar[Trial | None] = None
    """Of the test that runs. Without one, an exceeded bound raises PromiseBroken at once."""

    def __init__(self, fault: str, promises: Mapping[str, float] | None = None) -> None:
        """Start, with the promises of the table or with other ones."""
        self.fault, self.promises = fault, PROMISES[fault] if promises is None else promises
        self._before = self.trial.read() if self.trial else None
        self._measured: list[str] = []
        self.start = time.monotonic()

    def wait(self, what: str, ask: Callable[[], T], since: float | None = None) -> T:
        """Ask until the answer is true; compare the time from `since` (the start) with the promise; return it."""
        since = self.start if since is None else since
        answer = until(self._title(what), ask, self._limit(what, since))
        self.compare(what, time.monotonic() - since)
        return answer

    def wait_none(self, what: str, problems: Callable[[], Sequence[str]], since: float | None = None) -> None:
        """Ask until there is no problem left; compare the time from `since` (the start) with the promise."""
        since = self.start if since is None else since
        until_none(self._title(what), problems, self._limit(what, since))
        self.compare(what, time.monotonic() - since)

    def compare(self, what: str, seconds: float) -> None:
        """Compare a measured time with its promise; keep it where it took longer."""
        said = f"{what} {seconds:.2f} s (promised {self.promises[what]:g})"
        self._measured.append(said)
        if seconds <= self.promises[what]:
            return
        if self.trial is None or self._before is None:
            raise PromiseBroken(f"{self.fault}: {said}")
        self.trial.exceeded.append(Exceeded(f"{self.fault}: {said}", between(self._before, self.trial.read())))

    def _limit(self, what: str, since: float) -> float:
        return self.promises[what] + PATIENCE - (time.monotonic() - since)

    def _title(self, what: str) -> str:
        return f"{self.fault}: {what} (promised {self.promises[what]:.0f} s)"

    def __str__(self) -> str:
        """Return all that was measured, each with its promise."""
        return ", ".join(self._measured)
