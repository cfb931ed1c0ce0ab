"""Send generated order events at a given rate; the record's key is the order's id.

The same seed gives the same events.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from millrace_jobs import checks
from millrace_jobs.contract import ORDERS
from millrace_jobs.ends import Topic
from millrace_jobs.job import Job, parameter
from millrace_jobs.parts import KafkaSink
from millrace_jobs.sending import BEGIN, Event, event_id, json_time, send

_OPEN = 50  # orders that are open at the same time: their events are interleaved


@dataclass(frozen=True)
class Parameters:
    """The parameters of the generator.

    `seed` and `customers` (the number of customers) determine the events. `events` is the number of events to send; 0
    means no limit.
    """

    seed: int = parameter(checks.at_least(0), default=1)
    events_per_second: int = parameter(checks.at_least(1), default=100)
    events: int = parameter(checks.at_least(0), default=0)  # 0: without end
    customers: int = parameter(checks.at_least(1), default=1000)


def order_events(seed: int, customers: int) -> Iterator[Event]:
    """Yield events of orders endlessly: each order is created, updated, and then closed or cancelled.

    `customers` is the number of customers. The same arguments give the same events.
    """
    chance = random.Random(seed)
    orders: list[list[int]] = []  # number, events so far, events in all
    created = 0
    for position in range(2**62):
        if len(orders) < _OPEN:
            orders.append([created, 0, chance.randint(2, 6)])
            created += 1
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
            "at": json_time(BEGIN + timedelta(seconds=position)),
        }
        if event == "OrderCreated":
            value["customer"] = f"customer-{chance.randrange(customers)}"
        if not last:
            value["amount_cents"] = chance.randint(100, 1_000_000)
        yield Event(event_id(chance), str(value["order_id"]), value)


def loop(parameters: Parameters, outputs: Mapping[str, Topic], stopping: threading.Event) -> None:
    """Send order events until `stopping` is set or the number `events` of the parameters is sent.

    Return once all in-sync replicas have stored each event. A restart sends all events again from the first event, with
    the same ids. `outputs` has the topic under the key `output`.

    Raises:
        JobError: a broker rejected an event permanently, or brokers do not acknowledge events after `stopping` was set.
    """
    events = order_events(parameters.seed, parameters.customers)
    send(events, outputs["output"], ORDERS, parameters.events_per_second, parameters.events, stopping)


JOB = Job(
    summary="send seeded order events to a topic, at a rate",
    outputs=(KafkaSink(ORDERS),),
    parameters=Parameters,
    loop=loop,
)
