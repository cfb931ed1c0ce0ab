"""Records handed on from topic to topic: the job relay against a bare loop of librdkafka, and how long one takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from bench_jobs_page import Goal, Part, ratios, spread, table, thousands
from bench_jobs_programs import CORES, Program, class_data, job, read_until, running
from bench_jobs_words import INPUT, LINES, PARTITIONS
from spark.broker import Broker

ROUNDS, GOAL, BATCH, WARM_UP = 3, 0.5, 500_000, 1_000_000
LOOP = Path(__file__).parent / "spark" / "loop.py"
HOW = f"""\
Two programs copy the {LINES:,} lines of the word count's topic to another topic, in turns; {ROUNDS} rounds.

- `relay` reads {BATCH:,} records per batch (`max_offsets_per_trigger`). Its first {WARM_UP:,} records are warm-up, and
  its other records are measured.
- The bare loop is a Python program with librdkafka's default settings. It reads up to 1,000 records at a time and
  copies no headers. It is measured from its first record to the last acknowledgement."""
TRIGGERS = {
    "micro-batch": {"trigger_interval": "0 seconds"},
    "real-time": {"trigger": "real-time"},
}
PER_SECOND, WINDOW_SECONDS, WINDOWS = 1000, 8, 3
"""The first window is the one that warms."""
LATENCY = f"""\
`measure_latency` sends {PER_SECOND:,} records per second to a topic of {CORES} partitions. `relay` copies them to
another topic, from which `measure_latency` reads them. The figures are milliseconds from sending to reading, in
{WINDOWS - 1} windows of {WINDOW_SECONDS} s, after one window of warm-up.

- Micro-batch: in this measurement, a batch begins when the previous batch has ended. By default, a batch begins at most
  once a second, which adds up to one second of latency.
- Real-time: every 5 s, records wait while `relay` stores its progress."""


def relay(broker: Broker, folder: Path) -> float:
    """Rows per CPU second of the warm job."""
    archive, sink = class_data(), broker.topic(PARTITIONS)
    keys = {"input_topic": INPUT, "output_topic": sink, "max_offsets_per_trigger": BATCH}
    command, checkpoint = job("relay", broker, folder, archive, **keys)
    with running(command, folder, archive) as program:
        before = program.until("the job is warm", lambda: read_until(checkpoint) >= WARM_UP)
        first = read_until(checkpoint)
        after = program.until("all is handed on", lambda: read_until(checkpoint) >= LINES)
    broker.delete(sink)
    return (LINES - first) / (after - before)


def loop(broker: Broker, folder: Path) -> float:
    """Rows per CPU second of the loop."""
    sink = broker.topic(PARTITIONS)
    command = [sys.executable, str(LOOP), broker.servers, INPUT, sink, str(PARTITIONS), str(LINES)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the loop failed:\n{done.stderr[-3000:]}")
    broker.delete(sink)
    return LINES / float(done.stdout)


def measure(broker: Broker, folder: Path) -> Part:
    """Both in turns."""
    rates: dict[str, list[float]] = {"relay": [], "bare loop": []}
    for number in range(ROUNDS):
        for name, run in (("relay", relay), ("bare loop", loop)):
            rates[name].append(run(broker, folder / f"{number}-{name}"))
            print(f"pass-through, round {number}, {name}: {rates[name][-1]:,.0f} records per CPU-s", flush=True)
    found = ratios(rates["relay"], rates["bare loop"])
    rows = [[name, spread(values, thousands)] for name, values in rates.items()]
    rows.append(["ratio relay / bare loop", spread(found)])
    goal = Goal("pass-through: records per CPU-second, relay / a bare loop of librdkafka", GOAL, found)
    return Part("Pass-through", HOW, table(["program", "thousand records per CPU-second"], rows), [goal])


def reports(log: str) -> list[dict[str, float]]:
    """What measure_latency has said: percentiles of each of its windows in which records arrived."""
    found = [json.loads(text) for text in re.findall(r"latency (\{.*\})$", log, re.MULTILINE)]
    return [one for one in found if "p50_ms" in one]


def reported(sender: Program) -> bool:
    """Tell whether all windows have ended."""
    return len(reports(sender.said)) > WINDOWS


def latency(broker: Broker, folder: Path) -> Part:
    """Each trigger once, warm."""
    rows, archive = [], class_data()
    for number, (name, keys) in enumerate(TRIGGERS.items()):
        source, sink = broker.topic(CORES), broker.topic(CORES)
        command, checkpoint = job(
            "relay", broker, folder / f"{number}", archive, input_topic=source, output_topic=sink, **keys
        )
        sends, _ = job(
            "measure_latency", broker, folder / f"{number}-sends", archive, output_topic=source, arrives_topic=sink,
            canaries_per_second=PER_SECOND, report_seconds=WINDOW_SECONDS,
        )  # fmt: skip
        with running(command, folder / f"{number}", archive) as program:
            program.until("the relay has begun", (checkpoint / "offsets" / "0").exists)
            with running(sends, folder / f"{number}-sends") as sender:
                sender.until("records took their time", partial(reported, sender))
                found = reports(sender.said)[-WINDOWS + 1 :]
        p50, p99 = ([one[key] for one in found] for key in ("p50_ms", "p99_ms"))
        if missing := sum(int(one["missing"]) for one in found):
            name += f", {missing:,} given up after a minute"
        rows.append([name, spread(p50, "{:,.0f}".format), spread(p99, "{:,.0f}".format)])
        print(f"latency, {name}: p50 {rows[-1][1]} ms, p99 {rows[-1][2]} ms", flush=True)
    return Part("Latency", LATENCY, table(["`relay`", "p50, ms", "p99, ms"], rows))
