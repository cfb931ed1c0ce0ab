"""Serves metrics of a cluster to Prometheus; a systemd service runs this program without Ansible.

The cluster is read at intervals. Scrapes cause no requests to it.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.canary import (
    Canary,
    Complaints,
    Runner,
    Tally,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.metrics import Metric, Snapshot, metrics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.reading import Reader
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.canary import Wire

STALE = 3
"""Intervals after which the last answer of the cluster is no longer served."""
LONGEST = 60.0
"""Seconds of a reading that takes long, which may be added to that."""


class Exporter:
    """Keeps the last state of a cluster, and returns it as metrics."""

    def __init__(self, interval: float) -> None:
        """`interval` is the time between two readings in seconds; `duration` is how long the last one took."""
        self.interval, self.failures, self.duration = interval, 0, 0.0
        self.last: tuple[float, list[Metric]] | None = None
        """The monotonic time after the last reading that succeeded, and its metrics."""
        self.began: float | None = None
        """The monotonic time at which the current reading began."""

    def read(self, read: Callable[[], Snapshot]) -> None:
        """Call `read` once; an error is printed and counted, and the last state is kept until it is stale."""
        self.began = began = time.monotonic()
        try:
            found = list(metrics(read()))
            self.last = time.monotonic(), found
        except Exception as error:  # of this reading: the next one may succeed
            self.failures += 1
            print(f"the cluster was not read: {type(error).__name__}: {error}", flush=True)
        self.duration, self.began = time.monotonic() - began, None

    def current(self, now: float) -> Iterator[Metric]:
        """Yield the metrics; those of the cluster are left out if the last answer is too old. `now` is monotonic."""
        last, began = self.last, self.began
        taking = max(self.duration, now - began if began is not None else 0.0)
        fresh = last is not None and now - last[0] <= STALE * self.interval + min(taking, LONGEST)
        yield Metric("lag_exporter_up", "1 if the cluster was read a short time ago, else 0.", (), [((), fresh)])
        yield Metric("lag_exporter_failures", "Readings that failed since the start.", (), [((), self.failures)])
        yield Metric("lag_exporter_reading_seconds", "How long the last reading took.", (), [((), self.duration)])
        if last and fresh:
            yield from last[1]


class Collector:
    """The metrics of an exporter, as prometheus_client collects them."""

    def __init__(self, exporter: Exporter) -> None:
        """Collect from `exporter`."""
        self.exporter = exporter

    def collect(self) -> Iterator[Any]:
        """Yield the metrics as prometheus_client's families."""
        from prometheus_client.core import GaugeMetricFamily

        for metric in self.exporter.current(time.monotonic()):
            family = GaugeMetricFamily(metric.name, metric.text, labels=metric.labels)
            for labels, value in metric.samples:
                family.add_metric(labels, float(value))
            yield family


class CanaryCollector:
    """The metrics of a canary, as prometheus_client collects them."""

    def __init__(self, tally: Tally) -> None:
        """Collect from `tally`."""
        self.tally = tally

    def collect(self) -> Iterator[Any]:
        """Yield the metrics as prometheus_client's families."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        for name, text, samples in self.tally.counters():
            counter = CounterMetricFamily(name, text, labels=["broker"])
            for broker, number in samples:
                counter.add_metric([broker], number)
            yield counter
        text = "Time until a record of the canary was acknowledged, and until it was read."
        histogram = HistogramMetricFamily("kafka_canary_seconds", text, labels=["broker", "step"])
        for labels, buckets, seconds in self.tally.histograms():
            histogram.add_metric(labels, buckets, seconds)
        yield histogram


def start_canary(settings: Mapping[str, Any]) -> Tally:
    """Start the canary in a thread of its own, and return what it counts."""
    tally, complain = Tally(map(int, settings["racks"])), Complaints()
    runner = Runner(Canary(tally, uuid.uuid4().hex[:8]), complain)

    def run() -> None:
        runner.run(lambda: Wire(settings["client"], settings["canary"], complain))

    threading.Thread(target=run, name="canary", daemon=True).start()
    return tally


def main(arguments: Sequence[str] = ()) -> int:
    """Serve until SIGTERM. The argument is a JSON file with the settings (roles/lag_exporter)."""
    from prometheus_client import CollectorRegistry, start_http_server

    (file,) = arguments or sys.argv[1:]
    settings = json.loads(Path(file).read_text(encoding="utf-8"))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))  # also in the middle of a reading, which changes nothing
    exporter, registry = Exporter(settings["interval"]), CollectorRegistry()
    registry.register(Collector(exporter))
    if settings["canary"]:
        registry.register(CanaryCollector(start_canary(settings)))
    reader, pause = Reader(settings), threading.Event()
    start_http_server(settings["port"], settings["address"], registry)
    while True:
        exporter.read(reader.read)
        pause.wait(max(1.0, settings["interval"] - exporter.duration))


if __name__ == "__main__":
    sys.exit(main())
