"""Send generated sensor readings at a given rate, some of them late; the record's key is the sensor's id.

The same seed gives the same readings.
"""

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
    """The parameters of the generator.

    `seed` and `sensors` (the number of sensors) determine the readings. `events` is the number of readings to send; 0
    means no limit.
    """

    seed: int = parameter(checks.at_least(0), default=1)
    events_per_second: int = parameter(checks.at_least(1), default=100)
    events: int = parameter(checks.at_least(0), default=0)  # 0: without end
    sensors: int = parameter(checks.at_least(1), default=20)


def readings(seed: int, sensors: int) -> Iterator[Event]:
    """Yield readings endlessly: one reading of each sensor for each second.

    One reading in a hundred has a time that is up to ten minutes too early, as if the reading came late. `sensors` is
    the number of sensors. The same arguments give the same readings.
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
    """Send readings until `stopping` is set or the number `events` of the parameters is sent.

    Return once all in-sync replicas have stored each reading. A restart sends the same readings again from the first
    reading. `outputs` has the topic under the key `output`.

    Raises:
        JobError: a broker rejected a reading permanently, or brokers do not acknowledge readings after `stopping` was
            set.
    """
    events = readings(parameters.seed, parameters.sensors)
    send(events, outputs["output"], READINGS, parameters.events_per_second, parameters.events, stopping)


JOB = Job(
    summary="send seeded readings of sensors to a topic, at a rate",
    outputs=(KafkaSink(READINGS),),
    parameters=Parameters,
    loop=loop,
)
