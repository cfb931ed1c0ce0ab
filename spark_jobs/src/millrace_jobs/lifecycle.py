"""Runs queries to their end: stops them between two batches on a signal, reports batches and failures."""

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

from millrace_jobs.errors import Away, JobError, Stopped
from millrace_jobs.groups import GroupCommitter, Offsets, offsets_of
from millrace_jobs.outage import KafkaWatch
from millrace_jobs.query_counters import Tally, rows_of
from millrace_jobs.runtime import Running

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
# What to do about a failure, by words that it holds.
_CURES = {
    "overflows when converting to Spark's microsecond": "Spark reads no record of that time: have the job begin behind "
    "it (millrace-jobs reposition --to-group, with a group that kafka-consumer-groups.sh --reset-offsets put there), "
    "and let the topic refuse the next one (message.timestamp.after.max.ms)",
    "RecordTooLargeException": "raise max.message.bytes of the output topic to that of the input topic",
    "failOnDataLoss": "a job has no such option: to do without them, let it begin with the records that are left "
    "(millrace-jobs reposition JOB --config FILE --to-earliest --apply, which says what a database or an archive has "
    "to be told before)",
}
# What Kafka's and Spark's clients say of brokers that give no answer.
_AWAY = (
    "org.apache.kafka.common.errors.TimeoutException",
    "org.apache.kafka.common.errors.DisconnectException",
    "Cannot fetch record for offset",
)
_ASKS, _OVER, _ANSWER_SECONDS = "Getting offsets from ", ("Stopped", "Terminated with exception"), 5.0
_BATCH_POLL_SECONDS = 0.01  # shorter than the planning of a batch, so that the next one has sent nothing yet


def await_end(
    running: Sequence[Running], stopping: Event, ending: Event | None = None, watch: KafkaWatch | None = None
) -> None:
    """Wait until `stopping` is set, then let the running batches finish and stop all queries.

    If one query ends by itself, the others are stopped too; all stop if `watch` sees a recreated topic. Then
    `ending`, or
    `stopping` without it, is set, which ends the waits inside batches.

    Raises:
        Away: a query failed because brokers did not answer. JobError: a query failed, the message is its cause; or a
        topic was recreated.
    """
    queries, anew = [one.query for one in running], watch.anew if watch is not None else []
    while all(query.isActive for query in queries) and not anew and not stopping.wait(_POLL_SECONDS):
        pass
    (ending or stopping).set()
    if any(query.isActive for query in queries):
        _LOG.info("stopping after the running batch")
    with ThreadPoolExecutor(len(queries)) as pool:  # side by side: none begins batches while another one ends its own
        list(pool.map(_end, queries))
    away = None
    for one in running:
        failure = one.query.exception()
        if one.failure:
            if isinstance(one.failure[0], Stopped):
                _LOG.info("%s", one.failure[0])
                continue
            raise one.failure[0]
        if failure is not None:
            cause = f"the query failed: {_cause(failure)}"
            if not any(words in str(failure) for words in _AWAY):
                raise JobError(cause)
            away = Away(cause)
    if anew:
        raise JobError(
            f"topic {' and '.join(anew)}: deleted and made anew while the job ran, so offsets mean others; its next "
            "start is refused, and says how to go on"
        )
    if away is not None:
        raise away


@contextmanager
def errors_of_spark() -> Iterator[None]:
    """Turn errors of Spark at the start (a missing directory, no Kafka connector) into a JobError."""
    try:
        yield
    except PySparkException as error:
        raise JobError(f"Spark refused the job: {error}") from error


def _cause(failure: StreamingQueryException) -> str:
    """Return the messages of `failure` on one line, without stack frames and the query plan, and the known remedies."""
    message = str(failure).split("=== Streaming Query ===")[0]
    said = " ".join(line for line in message.splitlines() if line and not line[0].isspace())
    return "; ".join([said.rstrip(". "), *(cure for words, cure in _CURES.items() if words in said)])


def _end(query: StreamingQuery) -> None:
    if query.isActive:
        _finish_batch(query)
        _stop(query)


def _finish_batch(query: StreamingQuery) -> None:
    """Wait until the query is between two batches; at full load that is just after the next one has begun.

    A query that waits for offsets from brokers has no batch; neither has one that has ended.
    """
    pause = Event()
    running, asks_since = _last_trigger(query), math.inf
    while query.isActive and (status := query.status)["isTriggerActive"] and _last_trigger(query) == running:
        now = time.monotonic()
        asks_since = min(asks_since, now) if status["message"].startswith(_ASKS) else math.inf
        if status["message"].startswith(_OVER) or now - asks_since > _ANSWER_SECONDS:
            return
        pause.wait(_BATCH_POLL_SECONDS)


def _stop(query: StreamingQuery) -> None:
    """Stop the query, and return once it does nothing more.

    Its batches are over once it reports its end; then its clients are closed. An interrupted Kafka client closes only
    when brokers answer; one whose brokers stay silent is left to the end of the process.
    """
    failure: list[Exception] = []

    def stop() -> None:
        try:
            query.stop()
        except Exception as error:
            failure.append(error)

    stopping, over_since = Thread(target=stop, daemon=True), math.inf
    stopping.start()
    while stopping.is_alive() and time.monotonic() - over_since < _ANSWER_SECONDS:
        stopping.join(_POLL_SECONDS)
        if query.status["message"].startswith(_OVER):
            over_since = min(over_since, time.monotonic())
    if failure:
        raise failure[0]


def _last_trigger(query: StreamingQuery) -> str | None:
    progress = query.lastProgress
    return None if progress is None else progress.timestamp


class _Heard(JStreamingQueryListener):
    """Reads the progress of batches from the JVM in one piece, as PySpark's own `lastProgress` does.

    PySpark's listener asks for each field separately. Each of its maps ends with an exception of Java, for whose name
    PySpark makes the JVM search all jars, some hundred times a batch: 0.1 CPU seconds.
    """

    def onQueryProgress(self, jevent: Any) -> None:
        """Pass the progress on."""
        progress = StreamingQueryProgress.fromJson(json.loads(jevent.progress().json()))
        self.pylistener.onQueryProgress(QueryProgressEvent(progress))


class BatchLog(StreamingQueryListener):
    """Logs each batch that read rows, as a line that ends in JSON, and passes offsets to the consumer group."""

    def __init__(self, group: GroupCommitter | None = None) -> None:
        """Report offsets to `group` too, if there is one."""
        super().__init__()
        self._group = group
        self._dead: dict[str, list[Mapping[str, int]]] = {}
        self._tallies: dict[str, Tally] = {}

    @property
    def _jlistener(self) -> Any:
        """The listener that PySpark registers; releases without this attribute read the progress field by field."""
        if not hasattr(self, "_jlistenerobj"):
            assert SparkContext._jvm is not None
            self._jlistenerobj = SparkContext._jvm.PythonStreamingQueryListenerWrapper(_Heard(self))
        return self._jlistenerobj

    def know(self, running: Sequence[Running]) -> None:
        """Count the dead letters and late rows of these queries, added to those of earlier queries of the same name."""
        for one in running:
            self._dead.setdefault(one.query.name, []).append(one.dead)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Log the batch: its number, rows and seconds; then these and more as JSON."""
        progress = event.progress
        self._tallies.setdefault(progress.name or "", Tally()).take(progress)
        if rows := rows_of(progress):
            seconds = progress.batchDuration / 1000
            _LOG.info(
                "batch %d: %d rows in %.3f s %s", progress.batchId, rows, seconds,
                json.dumps(self._facts(progress), sort_keys=True),
            )  # fmt: skip
        self.report(progress)

    def report(self, progress: StreamingQueryProgress) -> None:
        """Pass the offsets of a query to the group."""
        if self._group is not None:
            offsets: Offsets = {}
            for source in progress.sources:
                offsets |= offsets_of(source.endOffset)
            self._group.offer(progress.name or "", offsets)

    def tell_last(self, running: Sequence[Running]) -> None:
        """Pass the last offsets of stopped queries to the group: the last events of a session may never arrive."""
        for one in running:
            if (progress := one.query.lastProgress) is not None:
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
        dead = sum((Counter(one) for one in self._dead.get(progress.name or "", [])), Counter[str]())
        return {**facts, "dead_letters": dict(dead)} if dead else facts

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing: `await_end` reports it."""
