"""Sends generated events to a topic at a given rate; shared by the jobs that generate events."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from millrace_jobs import status
from millrace_jobs.contract import VERSION_HEADER, Contract
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

Headers = list[tuple[str, "str | bytes | None"]]
OnResult = Callable[["KafkaError | None", "Message | None"], None]
_LOG = logging.getLogger(__name__)
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)  # the timestamp of the first event
_LOG_SECONDS = 60
_FLUSH_SECONDS = 30


@dataclass(frozen=True)
class Event:
    """A generated event: its id (for the header event_id), the key of its record, and its value as {column: value}."""

    event_id: str
    key: str
    value: Mapping[str, object]


def event_id(chance: random.Random) -> str:
    """Return a random UUID as text. A `chance` that was created with the same seed gives the same ids."""
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def json_time(moment: datetime) -> str:
    """Return a time in UTC as text with milliseconds, such as 2026-01-01T00:00:00.000Z."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def producer_of(client: Mapping[str, str], **settings: object) -> Producer:
    """Return an idempotent producer: all in-sync replicas acknowledge each record, which is stored once and in order.

    `client` has the properties of the Java client; `settings` are properties of librdkafka and override all others.
    """
    from confluent_kafka import Producer

    from millrace_jobs.topics import admin_properties, retries

    safe = {"enable.idempotence": True, "acks": "all", "log_level": 0}
    return Producer({**admin_properties(client), **retries(client), **safe, **settings})


def queue(
    producer: Producer, topic: str, value: str | bytes, key: str | bytes, headers: Headers, on_result: OnResult
) -> None:
    """Queue a record for sending. Later the producer calls `on_result(error, message)`; error None means stored.

    If the client rejects the record at once, this function calls `on_result` itself. The client does so if the record
    is too large, or if brokers have reported the topic as missing or forbidden.

    Raises:
        BufferError: the producer's queue is full; `on_result` is not called.
    """
    from confluent_kafka import KafkaError, KafkaException

    try:
        producer.produce(topic, value, key, headers=headers, on_delivery=on_result)
    except KafkaException as error:
        # The brokers' error for an earlier record is the reason; report it first. A fatal one arrives in a moment.
        seconds = 1 if error.args[0].code() == KafkaError._FATAL else 0
        reporting_fatal(lambda: producer.poll(seconds), on_result)
        on_result(error.args[0], None)


def reporting_fatal(act: Callable[[], int], on_result: OnResult) -> int:
    """Run `act`, which calls poll() or flush() of a producer, and return its result; 0 after a fatal error.

    After a fatal error, such as a missing permission to write, the producer sends nothing more, and poll() and flush()
    raise that error; this function passes it to `on_result` instead. `on_result` must not call the producer: while a
    fatal error is pending, each call of the library in a callback fails with a SystemError.
    """
    from confluent_kafka import KafkaException

    try:
        return act()
    except (KafkaException, SystemError) as error:
        cause = error if isinstance(error, KafkaException) else error.__cause__
        if not isinstance(cause, KafkaException):
            raise
    on_result(cause.args[0], None)
    return 0


def reason(errors: Sequence[KafkaError]) -> str:
    """Return why brokers rejected records, as text, with what to do if that is known.

    `errors` must not be empty; the text is that of the first fatal error, or of the first error if none is fatal.
    """
    from confluent_kafka import KafkaError as Known

    remedies = {
        Known._UNKNOWN_TOPIC: "create the topic",
        Known.UNKNOWN_TOPIC_OR_PART: "create the topic",
        Known.TOPIC_EXCEPTION: "create the topic",
        Known._UNKNOWN_PARTITION: "create the topic",
        Known.TOPIC_AUTHORIZATION_FAILED: "grant this user WRITE on it",
        Known.CLUSTER_AUTHORIZATION_FAILED: "grant this user WRITE on it",
        Known._MSG_TIMED_OUT: "check that its brokers answer and that enough replicas are in sync",
    }
    error = next((fatal for fatal in errors if fatal.fatal()), errors[0])
    remedy = remedies.get(error.code())
    return f"{error.str()}; {remedy}" if remedy else error.str()


def send(
    events: Iterator[Event], sink: Topic, contract: Contract, per_second: int, limit: int, stopping: threading.Event
) -> None:
    """Send events to the topic `sink` until `stopping` is set or `limit` events are sent; 0 means no limit.

    `per_second` is the rate. Return once every sent event is acknowledged. `contract` gives the schema version, which
    is sent as a header.

    Raises:
        JobError: a broker rejected an event permanently, or brokers do not acknowledge events after `stopping` was set.
    """
    producer = producer_of(sink.client, **{"linger.ms": 20, "compression.type": "lz4"})
    sender = _Sender(sink.name)
    began = time.monotonic()
    for position, event in enumerate(events):
        if stopping.is_set() or (limit and position >= limit):
            break
        due = began + position / per_second
        while (remaining := due - time.monotonic()) > 0 and not stopping.wait(min(remaining, 0.1)):
            reporting_fatal(lambda: producer.poll(0), sender.on_result)
        sent_at = datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
        headers: Headers = [
            ("event_id", event.event_id.encode()),
            ("sent_at", sent_at.encode()),
            (VERSION_HEADER, str(contract.versions[-1]).encode()),
        ]
        value = json.dumps(event.value, separators=(",", ":")).encode()
        while not stopping.is_set():
            try:
                queue(producer, sink.name, value, event.key.encode(), headers, sender.on_result)
                break
            except BufferError:  # the queue is full: brokers accept no records
                reporting_fatal(lambda: producer.poll(0.5), sender.on_result)
                sender.log_progress(len(producer))
        reporting_fatal(lambda: producer.poll(0), sender.on_result)
        sender.log_progress(len(producer))
    while len(producer) and not sender.errors:
        status.current().sent(sender.sent)
        if reporting_fatal(lambda: producer.flush(_FLUSH_SECONDS), sender.on_result) and stopping.is_set():
            raise JobError(
                f"topic {sink.name}: {len(producer)} events were not acknowledged; the brokers do not answer"
            )
    sender.log_progress(0, last=True)


class _Sender:
    """Counts the events that brokers have stored, and collects the errors of rejected events."""

    def __init__(self, topic: str) -> None:
        self.topic, self.sent = topic, 0
        self.errors: list[KafkaError] = []
        self._next_line = time.monotonic() + _LOG_SECONDS

    def on_result(self, error: KafkaError | None, message: Message | None) -> None:
        """Count an event as stored if `error` is None; otherwise keep the error. Called by the producer."""
        if error is None:
            self.sent += 1
        else:
            self.errors.append(error)

    def log_progress(self, waiting: int, last: bool = False) -> None:
        """Log the numbers of stored events and of events in flight (`waiting`) once a minute; at once if `last`.

        Raises:
            JobError: an event was rejected.
        """
        status.current().sent(self.sent)
        if self.errors:
            problem = (
                "an event was refused and is missing in the topic; events that were in flight may have been stored"
            )
            raise JobError(f"topic {self.topic}: {problem}: {reason(self.errors)}")
        if last or time.monotonic() >= self._next_line:
            _LOG.info("%d events stored, %d in flight", self.sent, waiting)
            self._next_line = time.monotonic() + _LOG_SECONDS
