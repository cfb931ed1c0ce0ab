"""How queries are ended, whatever they report: the queries here are stand-ins for those of Spark."""

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from millrace_jobs import lifecycle
from millrace_jobs.lifecycle import await_end
from millrace_jobs.runtime import Running
from millrace_jobs.signals import stop_on_signals

from .streams import stopping_after

LIMIT = 60
"""Seconds after which a test fails instead of waiting without end; what it waits for takes milliseconds."""


def nothing() -> None:
    """Return at once."""


@dataclass
class Query:
    """A query: its status, what ends its running batch, what its stop raises, what closes its clients."""

    message: str = "Waiting for next trigger"
    ends_batch: Callable[[], object] | None = None
    error: Exception | None = None
    closes: Callable[[], object] = nothing
    isActive: bool = True  # Spark's own name
    _batches: int = 0

    @property
    def status(self) -> dict[str, Any]:
        """As Spark's."""
        active = self.ends_batch is not None or self.message.startswith("Term")
        return {"message": self.message, "isTriggerActive": active}

    @property
    def lastProgress(self) -> Any:
        """That of the last batch: the second question for it is answered when the running batch has ended."""
        if self._batches and self.ends_batch:
            self.ends_batch()
        self._batches += 1
        return SimpleNamespace(timestamp=self._batches)

    def stop(self) -> None:
        """End it; then its clients close."""
        if self.error is not None:
            raise self.error
        if not self.message.startswith("Term"):
            self.message = "Stopped"
        self.closes()
        self.isActive = False

    def exception(self) -> None:
        """None of them failed."""


class Clock:
    """A clock that goes on by a second whenever it is read."""

    read = 0

    def monotonic(self) -> int:
        """Return the time."""
        self.read += 1
        return self.read


def end(*queries: Query) -> None:
    """Have the queries ended."""
    await_end([Running(cast(Any, query)) for query in queries], stopping_after(0))


@pytest.mark.parametrize("message", ["Waiting for next trigger", "Terminated with exception: no answer"])
def test_a_client_that_does_not_close_keeps_no_job(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither that of a query that was stopped, nor that of a failed one; the job waits 5 seconds for each."""
    clock, closed = Clock(), threading.Event()
    monkeypatch.setattr(lifecycle, "time", clock)
    monkeypatch.setattr(lifecycle, "_POLL_SECONDS", 0.01)
    query = Query(message, closes=lambda: closed.wait(LIMIT))
    end(query)
    assert query.isActive
    assert clock.read > 5
    closed.set()


def test_queries_end_their_batches_side_by_side() -> None:
    """Each batch here ends when all three queries wait for the end of theirs: none begins the next one meanwhile."""
    all_wait = threading.Barrier(3)
    queries = [Query("Processing new data", ends_batch=lambda: all_wait.wait(LIMIT)) for _ in range(3)]
    end(*queries)
    assert not any(query.isActive for query in queries)


def test_what_a_stop_says_is_heard() -> None:
    """No query is taken for ended that is not."""
    with pytest.raises(ValueError, match="not stopped"):
        end(Query(error=ValueError("not stopped")))


def test_a_second_signal_ends_the_process() -> None:
    """Whichever of both came first, and even where the session was built between them."""
    before, stopping = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}, threading.Event()
    try:
        stop_on_signals(stopping)
        signal.raise_signal(signal.SIGTERM)
        assert stopping.is_set()
        assert [signal.getsignal(one) for one in before] == [signal.SIG_DFL] * 2
        stop_on_signals(stopping)
        assert [signal.getsignal(one) for one in before] == [signal.SIG_DFL] * 2
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
