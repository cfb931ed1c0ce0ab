"""What producers cost a broker: with the settings that the jobs' sinks have, and with those of librdkafka."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from threading import Event

from bench_jobs_page import Part, ratios, spread, table, tenths
from bench_jobs_programs import cpu_of, produce
from bench_jobs_words import PARTITIONS
from confluent_kafka import Producer
from spark.broker import Broker

ROUNDS, PER_SECOND, SECONDS, SIZE, IDLE_SECONDS = 3, 20_000, 6, 100, 3
SETTINGS: dict[str, dict[str, str]] = {
    "settings of the jobs (linger.ms 20, batch.size 131072)": {"linger.ms": "20", "batch.size": "131072"},
    "librdkafka's defaults (linger.ms 5, batch.size 1000000)": {},
}
"""The first as `millrace_jobs.io` has them."""
HOW = f"""\
One producer of librdkafka sends {PER_SECOND:,} records per second for {SECONDS} s, of {SIZE} bytes each, with acks=all,
to {PARTITIONS} partitions. The figures are CPU-seconds of the broker, minus its idle use. The two rows of the table are
measured alternately: {ROUNDS} rounds, after one round of warm-up."""


def send(broker: Broker, topic: str, settings: dict[str, str]) -> None:
    """Send at the rate, until all is acknowledged."""
    producer = Producer({"bootstrap.servers": broker.servers, "acks": "all", "log_level": 0, **settings})
    began, pause, value = time.monotonic(), Event(), bytes(SIZE)
    for number in range(PER_SECOND * SECONDS):
        while number > (time.monotonic() - began) * PER_SECOND:
            pause.wait(0.001)
        produce(producer, topic, value, number % PARTITIONS)
        producer.poll(0)
    if producer.flush(60):
        sys.exit("the broker does not take the records")


def idle_use(pid: int) -> float:
    """CPU seconds a second of a broker of which nothing is asked."""
    before, began = cpu_of(pid), time.monotonic()
    Event().wait(IDLE_SECONDS)
    return (cpu_of(pid) - before) / (time.monotonic() - began)


def cost(broker: Broker, pid: int, idle: float, settings: dict[str, str]) -> float:
    """CPU seconds of the broker for a million records."""
    topic = broker.topic(PARTITIONS)
    before, began = cpu_of(pid), time.monotonic()
    send(broker, topic, settings)
    used, took = cpu_of(pid) - before, time.monotonic() - began
    broker.delete(topic)
    return (used - idle * took) / (PER_SECOND * SECONDS) * 1e6


def measure(broker: Broker, _: Path) -> Part:
    """Both in turns."""
    found: dict[str, list[float]] = {name: [] for name in SETTINGS}
    assert broker.process is not None
    pid = broker.process.pid
    idle = idle_use(pid)
    for number in range(ROUNDS + 1):
        for name, settings in SETTINGS.items():
            found[name].append(cost(broker, pid, idle, settings))
            print(f"producers, round {number}, {name}: {found[name][-1]:.1f} CPU-s per million", flush=True)
    for values in found.values():
        del values[0]
    ours, theirs = found.values()
    rows = [[name, spread(values, tenths)] for name, values in found.items()]
    rows.append(["ratio settings of the jobs / librdkafka's defaults", spread(ratios(ours, theirs))])
    head = ["settings", "CPU-seconds of the broker per million records"]
    return Part("Settings of producers", HOW, table(head, rows))
