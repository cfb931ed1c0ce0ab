"""Send generated sensor readings at a given rate, the same for the same seed, some late: key = the sensor's id."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from millrace_jobs import checks
from millrace_jobs.contract import READINGS
from millrace_jobs.ends import Topic
from millrace_jobs.job import Job, parameter
from millrace_jobs.parts import KafkaSink
from millrace_jobs.sending import BEGIN, Event, event_id, json_time, send

_LATE = 0.01  # of the readings
_LATEST = 600  # seconds


@dataclass(frozen=True)
class Parameters:
    """`seed` and `sensors` (their number) determine the readings; `events` is how many are sent, 0 without end."""

    seed: int = parameter(checks.at_least(0), default=1)
    events_per_second: int = parameter(checks.at_least(1), default=100)
    events: int = parameter(checks.at_least(0), default=0)  # 0: without end
    sensors: int = parameter(checks.at_least(1), default=20)


def readings(seed: int, sensors: int) -> Iterator[Event]:
    """Yield readings without end: one of each sensor for each second, one in a hundred up to ten minutes late.

    The same arguments give the same readings.
    """
    chance = random.Random(f"readings of {seed}")
    for position in range(2**62):
        second, sensor = divmod(position, sensors)
        late = chance.randrange(1, _LATEST) if chance.random() < _LATE else 0
        value = {
            "sensor_id": f"sensor-{sensor}",
            "at": json_time(BEGIN + timedelta(seconds=max(0, second - late))),
            "celsius": round(20 + sensor % 10 + 5 * math.sin(second / 600) + chance.gauss(0, 0.5), 2),
        }
        yield Event(event_id(chance), str(value["sensor_id"]), value)


def loop(parameters: Parameters, outputs: Mapping[str, Topic], stopping: threading.Event) -> None:
    """Send until `stopping` is set or all readings are sent; a restart sends the same readings from the first again.

    Raises:
        JobError: an event was refused for good, or brokers do not acknowledge events after `stopping` was set.
    """
    events = readings(parameters.seed, parameters.sensors)
    send(events, outputs["output"], READINGS, parameters.events_per_second, parameters.events, stopping)


JOB = Job(
    summary="send seeded readings of sensors to a topic, at a rate",
    outputs=(KafkaSink(READINGS),),
    parameters=Parameters,
    loop=loop,
)
