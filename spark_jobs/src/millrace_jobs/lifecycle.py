"""Watches running queries: stops them between two batches, and logs their batches and failures."""

from __future__ import annotations

import json
import logging
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)
from pyspark.sql.streaming.query import StreamingQuery

from millrace_jobs import commands, status
from millrace_jobs.errors import BrokersUnavailable, JobError, Stopped
from millrace_jobs.groups import GroupCommitter, Offsets, offsets_of
from millrace_jobs.lag import QueryFacts
from millrace_jobs.outage import KafkaWatch
from millrace_jobs.query_counters import Tally, rows_of
from millrace_jobs.runtime import Running

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
# What to do about a failure, by a pattern in its message.
_REMEDIES = {
    "overflows when converting to Spark's microsecond": "Spark cannot read a record with that timestamp: move the job "
    "behind it ({group}, with a group that kafka-consumer-groups.sh --reset-offsets set there), and make the topic "
    "reject such timestamps (message.timestamp.after.max.ms)",
    "RecordTooLargeException": "raise max.message.bytes of the output topic to that of the input topic",
    "failOnDataLoss": "a job has no such option: to continue without these records, start at the first remaining ones "
    "({earliest}; the command reports what must be confirmed to a database or an archive first)",
}
# What the clients of Kafka and Spark report if brokers do not answer.
_UNAVAILABLE = (
    "org.apache.kafka.common.errors.TimeoutException",
    "org.apache.kafka.common.errors.DisconnectException",
    "Cannot fetch record for offset",
)
_ASKING, _ENDED, _ANSWER_SECONDS = "Getting offsets from ", ("Stopped", "Terminated with exception"), 5.0
_BATCH_POLL_SECONDS = 0.01  # shorter than the planning of a batch: the next batch has sent nothing yet


def await_end(
    running: Sequence[Running], stopping: Event, ending: Event | None = None, watch: KafkaWatch | None = None
) -> None:
    """Wait until `stopping` is set; then let the running batches finish, and stop all queries.

    The queries also stop if one of them ends by itself, or if `watch` finds a topic that was deleted and recreated.
    `ending` (default: `stopping`) is set before queries are stopped; it ends waits inside batches.

    Raises:
        BrokersUnavailable: a query failed because brokers did not answer.
        JobError: a query failed for another reason, or a topic was deleted and recreated.
    """
    queries, recreated = [run.query for run in running], watch.recreated if watch is not None else []
    while all(query.isActive for query in queries) and not recreated and not stopping.wait(_POLL_SECONDS):
        pass
    (ending or stopping).set()
    if any(query.isActive for query in queries):
        _LOG.info("stopping after the running batch")
    with ThreadPoolExecutor(
        len(queries)
    ) as pool:  # in parallel: no query begins a batch while another one is being stopped
        list(pool.map(_end, queries))
    unavailable = None
    for run in running:
        failure = run.query.exception()
        if run.failure:
            if isinstance(run.failure[0], Stopped):
                _LOG.info("%s", run.failure[0])
                continue
            raise run.failure[0]
        if failure is not None:
            cause = f"the query failed: {_cause(failure)}"
            if not any(pattern in str(failure) for pattern in _UNAVAILABLE):
                raise JobError(cause)
            unavailable = BrokersUnavailable(cause)
    if recreated:
        raise JobError(
            f"topic {' and '.join(recreated)}: deleted and recreated while the job ran, so stored offsets refer to "
            "other records; start the job again: the start is refused, and the message contains the command to continue"
        )
    if unavailable is not None:
        raise unavailable


@contextmanager
def errors_of_spark() -> Iterator[None]:
    """Context manager: raise an error of Spark, such as for a missing directory or connector, as a JobError."""
    try:
        yield
    except PySparkException as error:
        raise JobError(f"Spark refused the job: {error}") from error


def _cause(failure: StreamingQueryException) -> str:
    """Return the message of `failure` on one line, without stack frames and query plan, with what to do if known."""
    message = str(failure).split("=== Streaming Query ===")[0]
    text = " ".join(line for line in message.splitlines() if line and not line[0].isspace())
    commands_by_name = {
        "earliest": commands.reposition("JOB", "--to-earliest --apply"),
        "group": commands.reposition("JOB", "--to-group GROUP --apply"),
    }
    remedies = (remedy.format(**commands_by_name) for pattern, remedy in _REMEDIES.items() if pattern in text)
    return "; ".join([text.rstrip(". "), *remedies])


def _end(query: StreamingQuery) -> None:
    if query.isActive:
        _finish_batch(query)
        _stop(query)


def _finish_batch(query: StreamingQuery) -> None:
    """Wait until the running batch has ended. If batches follow each other without a pause, the next has then begun.

    Return at once if the query has ended. Return after 5 seconds in which the query only waited for brokers to report
    offsets.
    """
    pause = Event()
    running, asking_since = _last_trigger(query), math.inf
    while query.isActive and (status := query.status)["isTriggerActive"] and _last_trigger(query) == running:
        now = time.monotonic()
        asking_since = min(asking_since, now) if status["message"].startswith(_ASKING) else math.inf
        if status["message"].startswith(_ENDED) or now - asking_since > _ANSWER_SECONDS:
            return
        pause.wait(_BATCH_POLL_SECONDS)


def _stop(query: StreamingQuery) -> None:
    """Stop the query; return once its batches have ended and its Kafka clients are closed.

    A client whose brokers do not answer cannot be closed. This function stops waiting for it after 5 seconds; the end
    of the process closes it.
    """
    failure: list[Exception] = []

    def stop() -> None:
        try:
            query.stop()
        except Exception as error:
            failure.append(error)

    stopping, ended_since = Thread(target=stop, daemon=True), math.inf
    stopping.start()
    while stopping.is_alive() and time.monotonic() - ended_since < _ANSWER_SECONDS:
        stopping.join(_POLL_SECONDS)
        if query.status["message"].startswith(_ENDED):
            ended_since = min(ended_since, time.monotonic())
    if failure:
        raise failure[0]


def _last_trigger(query: StreamingQuery) -> str | None:
    progress = query.lastProgress
    return None if progress is None else progress.timestamp


class _ProgressReader(JStreamingQueryListener):
    """Reads the progress of a batch from the JVM as one JSON text, as PySpark's `lastProgress` does.

    PySpark's own listener requests each field from the JVM separately, which costs 0.1 CPU seconds per batch: some
    hundred Java exceptions, and for the name of each exception PySpark makes the JVM search all jars.
    """

    def onQueryProgress(self, jevent: Any) -> None:
        """Pass the progress of a batch, a Java event, to the Python listener. Called by the JVM."""
        progress = StreamingQueryProgress.fromJson(json.loads(jevent.progress().json()))
        self.pylistener.onQueryProgress(QueryProgressEvent(progress))


class BatchLog(StreamingQueryListener):
    """Logs a line for each batch that read rows, and passes the offsets of each batch to a GroupCommitter.

    The line is text that ends with a JSON object.
    """

    def __init__(self, group: GroupCommitter | None = None) -> None:
        """Set the GroupCommitter to which offsets are passed; None: they are only logged."""
        super().__init__()
        self._group = group
        self._dead: dict[str, list[Mapping[str, int]]] = {}
        self._tallies: dict[str, Tally] = {}
        self._facts_of: dict[str, QueryFacts] = {}
        self._names: dict[str, str] = {}

    @property
    def _jlistener(self) -> Any:
        """The Java listener that PySpark registers; it reads progress as one JSON text.

        In a release of PySpark that does not use this attribute, progress is read field by field.
        """
        if not hasattr(self, "_jlistenerobj"):
            assert SparkContext._jvm is not None
            self._jlistenerobj = SparkContext._jvm.PythonStreamingQueryListenerWrapper(_ProgressReader(self))
        return self._jlistenerobj

    def add_queries(self, running: Sequence[Running]) -> None:
        """Add queries whose dead letters are logged.

        If queries with the same names ran before, as before an outage, the log shows the sum of the old and new
        numbers.
        """
        for run in running:
            self._dead.setdefault(run.query.name, []).append(run.dead)
            self._names[str(run.query.id)] = run.query.name

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Log the batch if it read rows; show it in the status, and pass its offsets to the consumer group, if any.

        The line has the batch number, rows and seconds as text, then as JSON the same values and the counters of the
        query.
        """
        progress, name = event.progress, event.progress.name or ""
        tally = self._tallies.setdefault(name, Tally())
        tally.count_batch(progress)
        query = self._facts_of.setdefault(name, QueryFacts())
        status.current().report(name, query.batch(progress, rows_of(progress), tally.facts(progress)))
        if rows := rows_of(progress):
            status.current().end_wait(status.BROKERS)
            seconds = progress.batchDuration / 1000
            _LOG.info(
                "batch %d: %d rows in %.3f s %s", progress.batchId, rows, seconds,
                json.dumps(self._facts(progress), sort_keys=True),
            )  # fmt: skip
        self.report(progress)

    def report(self, progress: StreamingQueryProgress) -> None:
        """Pass the offsets after the batch of `progress` to the consumer group, if there is a group."""
        if self._group is not None:
            offsets: Offsets = {}
            for source in progress.sources:
                offsets |= offsets_of(source.endOffset)
            self._group.offer(progress.name or "", offsets)

    def report_last(self, running: Sequence[Running]) -> None:
        """Pass the offsets after the last batch of each stopped query to the consumer group.

        This is needed because Spark may not send the last progress events of a session that ends.
        """
        for run in running:
            if (progress := run.query.lastProgress) is not None:
                self.report(progress)

    def _facts(self, progress: StreamingQueryProgress) -> dict[str, object]:
        facts: dict[str, object] = {
            "query": progress.name,
            "batch": progress.batchId,
            "rows": rows_of(progress),
            "seconds": progress.batchDuration / 1000,
            "milliseconds": dict(progress.durationMs),
            "until": {
                f"{topic}-{number}": offset
                for source in progress.sources
                for (topic, number), offset in offsets_of(source.endOffset).items()
            },
        }
        facts |= self._tallies[progress.name or ""].facts(progress)
        dead = sum((Counter(counts) for counts in self._dead.get(progress.name or "", [])), Counter[str]())
        return {**facts, "dead_letters": dict(dead)} if dead else facts

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing; Spark requires the method."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Show in the status that a query found no new records. Spark calls this every 10 seconds while that is so."""
        name = self._names.get(str(event.id), "")
        if name in self._facts_of:
            status.current().report(name, self._facts_of[name].idle())
        else:
            status.current().seen()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing: `await_end` reports the end of a query."""
