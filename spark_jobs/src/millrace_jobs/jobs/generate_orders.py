"""Send order events that a seed chooses, at a rate: key = the order's id, so that its events keep their order."""

from __future__ import annotations

import json
import logging
import random
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from threading import Event
from typing import TYPE_CHECKING

from millrace_jobs import checks
from millrace_jobs.contract import ORDERS, VERSION_HEADER
from millrace_jobs.ends import Topic
from millrace_jobs.errors import JobError
from millrace_jobs.job import Job, parameter
from millrace_jobs.parts import KafkaSink

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

_LOG = logging.getLogger(__name__)
_BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
_OPEN = 50  # orders that are open at a time: their events mix
_LOG_SECONDS = 60
_FLUSH_SECONDS = 30


@dataclass(frozen=True)
class Parameters:
    """What is sent, and how fast."""

    seed: int = parameter(checks.at_least(0), default=1)
    events_per_second: int = parameter(checks.at_least(1), default=100)
    events: int = parameter(checks.at_least(0), default=0)  # 0: without end
    customers: int = parameter(checks.at_least(1), default=1000)


@dataclass(frozen=True)
class OrderEvent:
    """One event: its id, and the columns of contract `orders`."""

    event_id: str
    value: Mapping[str, object]

    @property
    def order_id(self) -> str:
        """The key."""
        return str(self.value["order_id"])


def order_events(seed: int, customers: int) -> Iterator[OrderEvent]:
    """Endless events, the same for the same arguments: each order is created, updated some times, and ended."""
    chance = random.Random(seed)
    orders: list[list[int]] = []  # number, events so far, events in all
    made = 0
    for position in range(2**62):
        if len(orders) < _OPEN:
            orders.append([made, 0, chance.randint(2, 6)])
            made += 1
            order = orders[-1]
        else:
            order = chance.choice(orders)
        number, done, total = order
        order[1] += 1
        last = done + 1 == total
        if last:
            orders.remove(order)
        event = "OrderCreated" if done == 0 else "OrderUpdated"
        if last:
            event = "OrderClosed" if chance.random() < 0.8 else "OrderCancelled"
        value: dict[str, object] = {
            "order_id": f"{seed}-{number}",
            "event": event,
            "sequence": done + 1,
            "at": (_BEGIN + timedelta(seconds=position)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        if event == "OrderCreated":
            value["customer"] = f"customer-{chance.randrange(customers)}"
        if not last:
            value["amount_cents"] = chance.randint(100, 1_000_000)
        yield OrderEvent(str(uuid.UUID(int=chance.getrandbits(128), version=4)), value)


def loop(parameters: Parameters, outputs: Mapping[str, Topic], stopping: Event) -> None:
    """Send until `stopping` is set, or all events are sent; return once each is acknowledged by all replicas in sync.

    A restart begins with the first event again: at least once, with the same ids.

    Raises:
        JobError: an event was refused for good.
    """
    from confluent_kafka import Producer

    from millrace_jobs.topics import admin_properties

    sink = outputs["output"]
    settings = {
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 20,
        "compression.type": "lz4",
        "log_level": 0,
    }
    producer = Producer({**admin_properties(sink.client), **settings})
    sender = _Sender()
    began = time.monotonic()
    for position, event in enumerate(order_events(parameters.seed, parameters.customers)):
        if stopping.is_set() or (parameters.events and position >= parameters.events):
            break
        due = began + position / parameters.events_per_second
        while (left := due - time.monotonic()) > 0 and not stopping.wait(min(left, 0.1)):
            producer.poll(0)
        headers: list[tuple[str, str | bytes | None]] = [
            ("event_id", event.event_id.encode()),
            (
                "sent_at",
                datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z").encode(),
            ),
            (VERSION_HEADER, str(ORDERS.versions[-1]).encode()),
        ]
        value = json.dumps(event.value, separators=(",", ":")).encode()
        while not stopping.is_set():
            try:
                producer.produce(sink.name, value, event.order_id.encode(), headers=headers, on_delivery=sender.heard)
                break
            except BufferError:  # nobody takes them for a while
                producer.poll(0.5)
                sender.tell(len(producer))
        producer.poll(0)
        sender.tell(len(producer))
    while len(producer) and not sender.failure:
        if producer.flush(_FLUSH_SECONDS) and stopping.is_set():
            raise JobError(
                f"topic {sink.name}: {len(producer)} events were not acknowledged; the brokers give no answer"
            )
    sender.tell(0, last=True)


class _Sender:
    """What becomes of events."""

    def __init__(self) -> None:
        self.sent = 0
        self.failure: str | None = None
        self._next_line = time.monotonic() + _LOG_SECONDS

    def heard(self, error: KafkaError | None, message: Message) -> None:
        """An event is stored, or refused."""
        if error is None:
            self.sent += 1
        elif self.failure is None:
            self.failure = error.str()

    def tell(self, waiting: int, last: bool = False) -> None:
        """Say how many are stored, once a minute.

        Raises:
            JobError: one was refused.
        """
        if self.failure is not None:
            raise JobError(f"an event was refused: {self.failure}; the topic lacks it and later ones may be there")
        if last or time.monotonic() >= self._next_line:
            _LOG.info("%d events stored, %d on their way", self.sent, waiting)
            self._next_line = time.monotonic() + _LOG_SECONDS


JOB = Job(
    summary="send seeded order events to a topic, at a rate",
    outputs=(KafkaSink(ORDERS),),
    parameters=Parameters,
    loop=loop,
)
