"""What is promised of each fault, in seconds: one table, and the clock that holds a test to it.

Each number is what was measured on two cores shared with other work, times 2 to 2.5; a gap after a dead broker, which
its own host unregisters, is what it was on a machine at a load of 40. A broker that lives without a registration is
restarted after the lab's 40 s, and its leaders acknowledge nothing until then. A request that a log dir was to answer
when it failed is left without one, until the writer's request timeout of 5 s: seen were 0.3, 1.3 and, once, 5.1 s.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from .lab import until, until_none

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


class Clock:
    """Counts from when it is made, against the promises of one fault."""

    def __init__(self, fault: str) -> None:
        """Start."""
        self.fault, self.promises, self.start = fault, PROMISES[fault], time.monotonic()
        self._measured: list[str] = []

    def wait(self, what: str, ask: Callable[[], T]) -> T:
        """Ask until the answer is true, no longer than is promised; return it."""
        answer = until(self._title(what), ask, self.left(what))
        self.compare(what, time.monotonic() - self.start)
        return answer

    def wait_none(self, what: str, problems: Callable[[], Sequence[str]]) -> None:
        """Ask until there is no problem left, no longer than is promised."""
        until_none(self._title(what), problems, self.left(what))
        self.compare(what, time.monotonic() - self.start)

    def left(self, what: str) -> float:
        """Return the seconds that the promise still gives."""
        return self.promises[what] - (time.monotonic() - self.start)

    def compare(self, what: str, seconds: float) -> None:
        """Hold a measured time to its promise; AssertionError where it took longer."""
        said = f"{what} {seconds:.2f} s (promised {self.promises[what]:g})"
        assert seconds <= self.promises[what], f"{self.fault}: {said}"
        self._measured.append(said)

    def _title(self, what: str) -> str:
        return f"{self.fault}: {what} (promised {self.promises[what]:.0f} s)"

    def __str__(self) -> str:
        """Return all that was measured, each with its promise."""
        return ", ".join(self._measured)
