"""What the jobs cost against their rivals, on one broker and one topic: CPU seconds, for wall time says little here.

Writes its part of docs/performance.md, and ends with 1 where a goal is not met. `tests/run.sh bench-jobs` calls it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import bench_jobs_orders
import bench_jobs_producers
import bench_jobs_relay
import bench_jobs_starts
import bench_jobs_words
import pages
from bench_jobs_page import Part, section
from bench_jobs_programs import MEMORY, make_class_data
from spark.broker import Broker, running_broker

BROKER = ["java", "-Xms512m", "-Xmx512m", "-Xlog:disable"]
"""The optimising compiler is on, as in production."""
PAGE = pages.ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- jobs: begin, by make bench-jobs -->\n", "<!-- jobs: end -->\n"
PARTS: dict[str, Callable[[Broker, Path], Part]] = {
    "words": bench_jobs_words.measure,
    "starts": bench_jobs_starts.measure,
    "relay": bench_jobs_relay.measure,
    "producers": bench_jobs_producers.measure,
    "latency": bench_jobs_relay.latency,
    "orders": bench_jobs_orders.measure,
}


def text(parts: list[Part]) -> str:
    """Return what the page says of the jobs."""
    machine = (
        f"The machine had {os.cpu_count()} cores for all programs and the broker, and a load average of "
        f"{os.getloadavg()[0]:.1f} at the end."
    )
    return section(parts, f"{machine}\nThe Java heap of each job was {MEMORY}.")


def page(parts: list[Part]) -> str:
    """Return the page with this part anew; raises ValueError where its place is gone."""
    return pages.between(PAGE, PAGE.read_text(encoding="utf-8"), BEGIN, END, f"\n{text(parts)}\n\n")


def main(names: list[str]) -> int:
    """Measure all, or only print what is named; 1 where a goal is not met."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what runs is ended then, as on Ctrl-C
    began = time.monotonic()
    with TemporaryDirectory(prefix="millrace-bench-") as name:
        folder = Path(name)
        (folder / "broker").mkdir()
        with running_broker(folder / "broker", BROKER) as broker:
            bench_jobs_words.preload(broker)
            make_class_data(folder / "class-data")
            parts = [PARTS[one](broker, folder / one) for one in names or PARTS]
    print(text(parts))
    if not names:
        pages.write(PAGE, lambda: page(parts))
    missed = [goal for part in parts for goal in part.goals if not goal.met]
    for goal in missed:
        print(f"missed: {goal.what}, {goal.text}")
    print(f"{time.monotonic() - began:.0f} s, load average {os.getloadavg()[0]:.1f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
