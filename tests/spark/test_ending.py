"""How queries are ended, whatever they say meanwhile: those here are none of Spark's, and say what is wanted."""

import signal
import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from millrace_jobs.lifecycle import await_end
from millrace_jobs.runtime import Running
from millrace_jobs.signals import stop_on_signals

from .streams import stopping_after


@dataclass
class Query:
    """A query: what it says, how long each of its batches takes, what a stop does, how long it closes its clients."""

    message: str = "Processing new data"
    batches: float = 0
    error: Exception | None = None
    closing: float = 0
    isActive: bool = True  # Spark's own name
    _began: float = field(default_factory=time.monotonic)

    @property
    def status(self) -> dict[str, Any]:
        """As Spark's."""
        return {"message": self.message, "isTriggerActive": self.batches > 0 or self.message.startswith("Term")}

    @property
    def lastProgress(self) -> Any:
        """That of the batch which ended last."""
        return SimpleNamespace(timestamp=(time.monotonic() - self._began) // self.batches) if self.batches else None

    def stop(self) -> None:
        """End it; then its clients close."""
        if self.error is not None:
            raise self.error
        if not self.message.startswith("Term"):
            self.message = "Stopped"
        threading.Event().wait(self.closing)
        self.isActive = False

    def exception(self) -> None:
        """None of them failed."""


def ended(*queries: Query) -> float:
    """Have them ended; return the seconds that it took."""
    begun = time.monotonic()
    await_end([Running(cast(Any, query)) for query in queries], stopping_after(0))
    return time.monotonic() - begun


@pytest.mark.parametrize("message", ["Waiting for next trigger", "Terminated with exception: no answer"])
def test_a_client_that_does_not_close_keeps_no_job(message: str) -> None:
    """Neither that of a query that was stopped, nor that of one which had failed."""
    assert 4 < ended(Query(message, closing=60)) < 9


def test_queries_end_their_batches_side_by_side() -> None:
    """One does not begin the next batch while another one ends its own."""
    assert ended(*(Query(batches=2) for _ in range(3))) < 3.5


def test_what_a_stop_says_is_heard() -> None:
    """No query is taken for ended that is not."""
    with pytest.raises(ValueError, match="not stopped"):
        ended(Query(error=ValueError("not stopped")))


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
