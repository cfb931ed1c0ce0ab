"""Reports the status of a running job: writes its status file, and sends keep-alive messages to systemd's watchdog.

`millrace-jobs status` and the health page read the file. This module imports only the standard library.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Protocol

_LOG = logging.getLogger(__name__)
FILE = "status.json"
STARTING, RUNNING = "starting", "running"
BROKERS, TOPICS, DATABASE = "waiting for brokers", "waiting for topics", "waiting for the database"
CORES = "waiting for cores of the cluster"
_WRITE_SECONDS = 1.0
_STEP_SECONDS = 10.0
_QUIET_SECONDS = 15.0  # longer than the time between two idle events of a query, 10 s
_ALIVE = b"WATCHDOG=1"


class Activity(Protocol):
    """What the Spark session of a job does at the moment."""

    def tasks(self) -> object:
        """Return a value that changes when a task ends, or reads or writes a record."""

    def executors(self) -> int | None:
        """Return the number of executors on the cluster; None if all tasks run in this process."""


@dataclass(frozen=True)
class Watchdog:
    """systemd's watchdog: it restarts the unit if no message arrives for `seconds`; `send` sends a message."""

    seconds: float
    send: Callable[[bytes], None]


class Status:
    """The status of a job, which a thread writes to a file, at most once a second.

    Without a directory no file is written; without a watchdog no message is sent.
    """

    def __init__(
        self,
        job: str = "",
        directory: Path | None = None,
        trigger_seconds: float = 0.0,
        watchdog: Watchdog | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set the name of the job, the directory of the file, and how often a batch may begin (`trigger_seconds`)."""
        self._job, self._directory, self._trigger, self._watchdog = job, directory, trigger_seconds, watchdog
        self._clock, self._lock = clock, Lock()
        self._state, self._waits, self._since = STARTING, list[str](), clock()
        self._progress = self._alive = clock()
        self._steps, self._steps_told = 1, 0  # of progress; those of which the watchdog was notified
        self._queries: dict[str, Mapping[str, object]] = {}
        self._sent: int | None = None
        self._activity: Activity | None = None
        self._tasks: object = None
        self._warned = False
        self._wake, self._closed = Event(), Event()

    @property
    def state(self) -> str:
        """The state: what the job waits for, otherwise `starting` or `running`."""
        return self._waits[-1] if self._waits else self._state

    def start(self) -> None:
        """Start the thread, if there is a directory or a watchdog."""
        if self._directory is not None or self._watchdog is not None:
            Thread(target=self.run, name="status", daemon=True).start()

    def run(self) -> None:
        """Write the file and send keep-alive messages until `close` is called."""
        seconds = min(_STEP_SECONDS, self._watchdog.seconds / 4) if self._watchdog else _STEP_SECONDS
        while not self._closed.is_set():
            self._wake.clear()
            self.step()
            if not self._closed.wait(_WRITE_SECONDS):
                self._wake.wait(seconds - _WRITE_SECONDS)

    def close(self) -> None:
        """Make `run` return."""
        self._closed.set()
        self._wake.set()

    def enter(self, state: str) -> None:
        """Set the state `starting` or `running`."""
        if state != self._state:
            with self._lock:
                self._state, self._since = state, self._clock()
            self.seen()

    def wait(self, reason: str) -> None:
        """Show that the job waits for something, such as BROKERS, until `end_wait`."""
        with self._lock:
            if reason not in self._waits:
                self._waits.append(reason)
                self._since = self._clock()
        self._wake.set()

    def end_wait(self, *reasons: str) -> None:
        """Show that the job waits for these no longer."""
        if self._waits:
            with self._lock:
                ended = [reason for reason in reasons if reason in self._waits]
                self._waits = [reason for reason in self._waits if reason not in ended]
                self._since = self._clock() if ended else self._since
            if ended:
                self.seen()

    def report(self, query: str, facts: Mapping[str, object]) -> None:
        """Show the facts of a query after a batch or an idle event; this counts as progress."""
        self.end_wait(CORES)
        with self._lock:
            self._queries[query] = facts
        self.seen()

    def sent(self, records: int) -> None:
        """Show the number of records that a job without queries has sent; a call counts as progress."""
        self._sent = records
        self._advance()

    def watch(self, activity: Activity | None) -> None:
        """Set the object that is asked for the progress of tasks while no batch ends; None: there is none."""
        self._activity, self._tasks = activity, None

    def step(self) -> None:
        """Ask for the progress of tasks if no batch has ended for a while, write the file, and notify the watchdog."""
        now = self._clock()
        if self._activity is not None and (now - self._progress >= _QUIET_SECONDS or CORES in self._waits):
            self._ask(self._activity)
        if self._directory is not None:
            self._write(self._directory)
        if self._watchdog is not None:
            self._notify(self._watchdog, now)

    def seen(self) -> None:
        """Count an event as progress."""
        self._advance()
        self._wake.set()

    def _advance(self) -> None:
        self._progress = self._clock()
        self._steps += 1

    def _ask(self, activity: Activity) -> None:
        try:
            executors, tasks = activity.executors(), activity.tasks()
        except Exception as error:  # py4j's errors differ: the session ends, or its JVM is gone
            _LOG.debug("the progress of tasks is not known: %s", error)
            return
        if executors == 0:
            self.wait(CORES)
        else:
            self.end_wait(CORES)
        if self._tasks is not None and tasks != self._tasks:
            self._advance()
        self._tasks = tasks

    def _notify(self, watchdog: Watchdog, now: float) -> None:
        """Send a keep-alive message if the job made progress since the last one, waits, or its next batch is not due.

        Otherwise log once, shortly before systemd restarts the unit.
        """
        steps = self._steps
        if self._waits or steps != self._steps_told or now - self._progress <= self._trigger:
            self._alive, self._warned, self._steps_told = now, False, steps
            try:
                watchdog.send(_ALIVE)
            except OSError as error:
                _LOG.warning("systemd's watchdog cannot be notified: %s", error)
        elif not self._warned and now - self._alive > watchdog.seconds / 2:
            self._warned = True
            problem = "no batch ended, no query was idle and no task made progress"
            _LOG.warning("%s for %d s; after %d s systemd restarts the job (WatchdogSec)", problem,
                         now - self._progress, watchdog.seconds)  # fmt: skip

    def _write(self, directory: Path) -> None:
        """Write the file through a temporary file, so that readers never see a part of it."""
        text, temporary = json.dumps(self.facts()), directory / f".{FILE}"
        try:
            temporary.write_text(f"{text}\n", encoding="utf-8")
            temporary.replace(directory / FILE)
        except OSError as error:
            _LOG.warning("the status file cannot be written: %s", error)
            self._directory = None

    def facts(self) -> dict[str, object]:
        """Return the content of the file; times are ISO 8601 in UTC."""
        now, real = self._clock(), time.time()
        with self._lock:
            return {
                "job": self._job,
                "state": self.state,
                "since": time_text(real - (now - self._since)),
                "written": time_text(real),
                "progress": time_text(real - (now - self._progress)),
                "trigger_seconds": self._trigger,
                "watchdog_seconds": self._watchdog.seconds if self._watchdog else 0,
                "records_sent": self._sent,
                "queries": [{"query": name, **facts} for name, facts in self._queries.items()],
            }


_CURRENT = [Status()]


def current() -> Status:
    """Return the status of the job that runs in this process; outside of `reported`, one that is not written."""
    return _CURRENT[-1]


@contextmanager
def reported(job: str, trigger_seconds: float, environment: Mapping[str, str] = os.environ) -> Iterator[Status]:
    """Context manager: report the status of a job as `environment` requires.

    The variables are those of systemd: RUNTIME_DIRECTORY, NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. The file stays
    after the block; systemd removes the directory when the unit stops.
    """
    directory = environment.get("RUNTIME_DIRECTORY", "").split(":")[0]
    status = Status(job, Path(directory) if directory else None, trigger_seconds, watchdog_of(environment))
    _CURRENT.append(status)
    status.start()
    try:
        yield status
    finally:
        _CURRENT.pop()
        status.close()


def watchdog_of(environment: Mapping[str, str]) -> Watchdog | None:
    """Return systemd's watchdog of this process, from the variables that sd_watchdog_enabled(3) describes; or None."""
    address, period = environment.get("NOTIFY_SOCKET", ""), environment.get("WATCHDOG_USEC", "")
    if not address or not period.isdecimal() or environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    name = f"\0{address[1:]}" if address.startswith("@") else address  # an abstract socket

    def send(message: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as opened:
            opened.sendto(message, name)

    return Watchdog(int(period) / 1e6, send) if int(period) else None


def time_text(seconds: float) -> str:
    """Return seconds since 1970 as text in UTC with milliseconds, such as 2026-01-01T00:00:00.000Z."""
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(text: str) -> float:
    """Return the seconds since 1970 of an ISO 8601 time in UTC, such as 2026-01-01T00:00:00.000Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
