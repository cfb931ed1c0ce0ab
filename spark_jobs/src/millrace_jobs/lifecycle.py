"""The life of a running query: stop between two batches on a signal, report batches and failures."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from millrace_jobs.errors import JobError

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
_BATCH_POLL_SECONDS = 0.01  # shorter than the planning of a batch, so that the next one has sent nothing yet


def stop_on_signals(stopping: Event) -> None:
    """Let SIGTERM and SIGINT set `stopping`; a second signal ends the process at once."""

    def ask(number: int, frame: FrameType | None) -> None:
        stopping.set()
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)


def await_end(query: StreamingQuery, stopping: Event) -> None:
    """Return after `stopping` is set, the running batch is done and the query is stopped.

    Raises:
        JobError: the query failed; the message is its cause.
    """
    while query.isActive and not stopping.wait(_POLL_SECONDS):
        pass
    if query.isActive:
        _LOG.info("stopping after the running batch")
        _finish_batch(query)
        query.stop()
    failure = query.exception()
    if failure is not None:
        raise JobError(f"the query failed: {_cause(failure)}")


@contextmanager
def errors_of_spark() -> Iterator[None]:
    """Turn what Spark refuses at the start (a missing directory, no Kafka connector) into a JobError."""
    try:
        yield
    except PySparkException as error:
        raise JobError(f"Spark refused the job: {error}") from error


def _cause(failure: StreamingQueryException) -> str:
    """The messages of `failure` on one line, without stack frames and the plan of the query."""
    message = str(failure).split("=== Streaming Query ===")[0]
    return " ".join(line for line in message.splitlines() if line and not line[0].isspace())


def _finish_batch(query: StreamingQuery) -> None:
    """Wait until the query is between two batches; at full load that is where the next one has just begun."""
    pause = Event()
    running = _last_trigger(query)
    while query.isActive and query.status["isTriggerActive"] and _last_trigger(query) == running:
        pause.wait(_BATCH_POLL_SECONDS)


def _last_trigger(query: StreamingQuery) -> str | None:
    progress = query.lastProgress
    return None if progress is None else progress.timestamp


class BatchLog(StreamingQueryListener):
    """One line for each batch that read rows."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Log the batch: its number, the rows it read, the seconds it took."""
        progress = event.progress
        if progress.numInputRows:
            seconds = progress.batchDuration / 1000
            _LOG.info("batch %d: %d rows in %.3f s", progress.batchId, progress.numInputRows, seconds)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing to say."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing to say."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing to say: `await_end` reports it."""
