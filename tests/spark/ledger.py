"""What was sent to a topic of orders, and what a read model of it has to hold: counted without the jobs' code."""

import json
from collections.abc import Iterable, Sequence
from itertools import islice

from confluent_kafka import Producer
from millrace_jobs.jobs.generate_orders import order_events

from .database import rows

Event = tuple[str, bytes]  # order and value
READ_MODEL = "SELECT order_id, status, customer, amount_cents, events FROM orders"


def some_events(number: int, seed: int = 7) -> list[Event]:
    """The first events that a seed gives."""
    return [(event.key, json.dumps(event.value).encode()) for event in islice(order_events(seed, 20), number)]


def send(servers: str, topic: str, events: Iterable[Event]) -> None:
    """Send events, each acknowledged."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 0})
    for number, (order, value) in enumerate(events):
        producer.produce(topic, value, order)
        if number % 50_000 == 49_999:  # its queue holds 100,000
            assert producer.flush(60) == 0
    assert producer.flush(60) == 0


def expected(events: Sequence[Event]) -> set[tuple[str, str, str | None, int | None, int]]:
    """The rows of the read model."""
    found: dict[str, tuple[str, str | None, int | None, int]] = {}
    for order, text in events:
        value = json.loads(text)
        _, customer, amount, number = found.get(order, ("", None, None, 0))
        found[order] = (
            value["event"],
            value.get("customer", customer),
            value.get("amount_cents", amount),
            number + 1,
        )
    return {(order, *row) for order, row in found.items()}


def read_model(database: dict[str, str]) -> set[tuple[object, ...]]:
    """The rows that are there."""
    return set(rows(database, READ_MODEL))
