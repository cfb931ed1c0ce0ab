"""Send generated shipments of the orders that the job generate_orders closes with the same seed.

The record's key is the shipment's id.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from millrace_jobs import checks
from millrace_jobs.contract import SHIPMENTS
from millrace_jobs.ends import Topic
from millrace_jobs.job import Job, parameter
from millrace_jobs.jobs.generate_orders import order_events
from millrace_jobs.parts import KafkaSink
from millrace_jobs.sending import Event, event_id, json_time, send

_CARRIERS = ("ship", "train", "van")
_SLOWEST = 3600  # seconds between an order's end and its last shipment


@dataclass(frozen=True)
class Parameters:
    """The parameters of the generator.

    `seed` and `customers` must equal those of the job generate_orders. `events` is the number of shipments to send; 0
    means no limit.
    """

    seed: int = parameter(checks.at_least(0), default=1)
    events_per_second: int = parameter(checks.at_least(1), default=25)
    events: int = parameter(checks.at_least(0), default=0)  # 0: without end
    customers: int = parameter(checks.at_least(1), default=1000)


def shipments(seed: int, customers: int) -> Iterator[Event]:
    """Yield shipments endlessly: zero to two for each closed order, in the sequence in which orders are closed.

    A shipment leaves within an hour after its order was closed. `customers` is the number of customers. The same
    arguments give the same shipments.
    """
    chance = random.Random(f"shipments of {seed}")
    for order in order_events(seed, customers):
        if order.value["event"] != "OrderClosed":
            continue
        closed = datetime.fromisoformat(str(order.value["at"]).replace("Z", "+00:00"))
        for number in range(chance.choices((0, 1, 2), (1, 8, 1))[0]):
            value = {
                "shipment_id": f"{order.key}-{number}",
                "order_id": order.key,
                "carrier": chance.choice(_CARRIERS),
                "at": json_time(closed + timedelta(seconds=chance.randrange(_SLOWEST))),
            }
            yield Event(event_id(chance), str(value["shipment_id"]), value)


def loop(parameters: Parameters, outputs: Mapping[str, Topic], stopping: threading.Event) -> None:
    """Send shipments until `stopping` is set or the number `events` of the parameters is sent.

    Return once all in-sync replicas have stored each shipment. A restart sends the same shipments again from the first
    shipment. `outputs` has the topic under the key `output`.

    Raises:
        JobError: a broker rejected a shipment permanently, or brokers do not acknowledge shipments after `stopping` was
            set.
    """
    events = shipments(parameters.seed, parameters.customers)
    send(events, outputs["output"], SHIPMENTS, parameters.events_per_second, parameters.events, stopping)


JOB = Job(
    summary="send the seeded shipments of generate_orders' orders",
    outputs=(KafkaSink(SHIPMENTS),),
    parameters=Parameters,
    loop=loop,
)
