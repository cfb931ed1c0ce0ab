"""Measure the latency of a cluster or a mirror: send canaries, which are small test records, and read them.

The topic from which canaries are read may differ from the topic to which they are sent, as with a mirror.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millrace_jobs import checks, status
from millrace_jobs.contract import CANARIES
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError
from millrace_jobs.job import Job, parameter
from millrace_jobs.parts import KafkaSink
from millrace_jobs.sending import producer_of, queue, reason, reporting_fatal

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

_LOG = logging.getLogger(__name__)
_ANSWER_SECONDS = 30
_RUN = "canary_run"  # header with the id of this run: other processes may send to the same topic
_PERCENTILES = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999}


@dataclass(frozen=True)
class Parameters:
    """The parameters of the measurement.

    `arrives_topic` is the topic from which canaries are read; empty means the topic to which they are sent. A canary
    that has not arrived after `missing_after_seconds` is missing. A report is logged every `report_seconds`.
    """

    arrives_topic: str = parameter(checks.topic_name, default="")  # default: the topic to which they are sent
    canaries_per_second: int = parameter(checks.at_least(1, 10_000), default=10)
    report_seconds: int = parameter(checks.at_least(1), default=60)
    missing_after_seconds: int = parameter(checks.at_least(1), default=60)


@dataclass
class Canaries:
    """Counts canaries: those in flight, the latencies of those that arrived, and missing ones. Times are in ns."""

    missing_after: int  # ns
    sent: dict[int, int] = field(default_factory=dict)  # number -> when
    latencies: list[int] = field(default_factory=list)  # ns
    missing: int = 0

    def arrived(self, number: int, now: int) -> None:
        """Store the latency of the canary `number`, which arrived at the time `now` (ns).

        A second copy of a canary, and a canary that was already counted as missing, are ignored.
        """
        if (when := self.sent.pop(number, None)) is not None:
            self.latencies.append(now - when)

    def report(self, now: int) -> dict[str, float]:
        """Return the numbers of canaries and the latencies (ms) since the last report; begin the next report.

        `now` is the time in ns. Percentiles are by nearest rank. Keys of the result:
        arrived: canaries that arrived since the last report
        missing: canaries that were found missing since the last report
        missing_ever: canaries that were found missing since the start
        p50_ms, p99_ms, p999_ms, greatest_ms: latencies; absent if no canary arrived
        """
        overdue = [number for number, when in self.sent.items() if now - when > self.missing_after]
        for number in overdue:
            del self.sent[number]
        self.missing += len(overdue)
        facts: dict[str, float] = {
            "arrived": len(self.latencies),
            "missing": len(overdue),
            "missing_ever": self.missing,
        }
        if self.latencies:
            facts |= {name: percentile(self.latencies, part) / 1e6 for name, part in _PERCENTILES.items()}
            facts["greatest_ms"] = max(self.latencies) / 1e6
        self.latencies = []
        return facts


def percentile(values: Sequence[int], part: float) -> int:
    """Return the percentile of `values` by nearest rank. `part` is a number from 0 to 1, 0.99 for the 99th."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


def loop(parameters: Parameters, outputs: Mapping[str, Topic], stopping: threading.Event) -> None:
    """Send and read canaries, and log reports, until `stopping` is set. Canaries sent during an outage are missing.

    `outputs` has the topic to which canaries are sent under the key `output`.

    Raises:
        JobError: a broker rejected a canary for a reason that is not temporary, or the topic in which canaries arrive
            cannot be read.
    """
    from millrace_jobs.outage import KafkaWatch
    from millrace_jobs.topics import admin_properties

    sink = outputs["output"]
    consumer = _consumer_at_end(Topic(parameters.arrives_topic or sink.name, sink.client))
    producer = producer_of(sink.client, **{"linger.ms": 0})
    watch = KafkaWatch(admin_properties(sink.client), [sink.name])
    canaries = Canaries(parameters.missing_after_seconds * 10**9)
    run, errors, refused = uuid.uuid4().hex.encode(), list["KafkaError"](), list["KafkaError"]()

    def on_result(error: KafkaError | None, message: Message | None) -> None:
        if error is not None:
            errors.append(error)

    began, number = time.monotonic_ns(), 0
    next_report = began + parameters.report_seconds * 10**9
    try:
        while not stopping.is_set() and not refused:
            due = began + number * 10**9 // parameters.canaries_per_second
            now = time.monotonic_ns()
            if now >= due:
                canaries.sent[number] = now
                try:
                    queue(producer, sink.name, str(number), str(number), [(_RUN, run)], on_result)
                except BufferError:  # the queue is full: this canary counts as missing
                    _LOG.debug("canary %d was not sent", number)
                number += 1
                status.current().sent(number)
            reporting_fatal(lambda: producer.poll(0), on_result)
            refused += [error for error in errors if not _is_outage(error)]
            errors.clear()
            message = consumer.poll(min(0.1, max(0.0, (due - now) / 1e9)))
            if message is not None and message.error() is None and (_RUN, run) in (message.headers() or []):
                canaries.arrived(int(message.value() or b"-1"), time.monotonic_ns())
            if time.monotonic_ns() >= next_report:
                _log_report(canaries)
                next_report += parameters.report_seconds * 10**9
        _log_report(canaries)
    finally:
        watch.close()
        consumer.close()
    if refused:
        raise JobError(f"topic {sink.name}: a canary was refused: {reason(refused)}")


def _is_outage(error: KafkaError) -> bool:
    """Tell whether an error is temporary, such as brokers that do not answer, rather than a rejection."""
    from confluent_kafka import KafkaError as Known

    away = (Known._MSG_TIMED_OUT, Known._TIMED_OUT, Known._TRANSPORT, Known._ALL_BROKERS_DOWN)
    return error.retriable() or error.code() in away


def _log_report(canaries: Canaries) -> None:
    _LOG.info("latency %s", json.dumps(canaries.report(time.monotonic_ns()), sort_keys=True))


def _consumer_at_end(topic: Topic) -> Consumer:
    """Return a consumer that starts at the end of a topic and does not join a consumer group.

    Raises:
        JobError: the topic cannot be read, or no broker answers.
    """
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    from millrace_jobs.topics import admin_properties

    settings = {"group.id": "millrace-jobs", "enable.auto.commit": False, "log_level": 0, "fetch.wait.max.ms": 10}
    consumer = Consumer({**admin_properties(topic.client), **settings})
    try:
        partitions = consumer.list_topics(topic.name, timeout=_ANSWER_SECONDS).topics[topic.name].partitions
        positions = [
            TopicPartition(topic.name, number, consumer.get_watermark_offsets(
                TopicPartition(topic.name, number), timeout=_ANSWER_SECONDS)[1])
            for number in partitions
        ]  # fmt: skip
        consumer.assign(positions)
    except KafkaException as error:
        consumer.close()
        cause = error.args[0]
        advice = "start the job again once brokers answer" if _is_outage(cause) else "grant this user READ on it"
        raise JobError(f"topic {topic.name}: cannot be read ({cause.str()}); {advice}") from None
    return consumer


JOB = Job(
    summary="send canaries and measure how long they take to arrive",
    outputs=(KafkaSink(CANARIES),),
    parameters=Parameters,
    reads=("arrives_topic",),
    loop=loop,
)
