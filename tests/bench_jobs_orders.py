"""What exactly once costs `project_orders`: tests/spark/exactly_once.py, which writes as the job does, measures it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from bench_jobs_page import Goal, Part, ratios, spread, table, tenths, thousands
from bench_jobs_programs import CORES, PYTHON, class_data, environment
from pages import ROOT
from spark.broker import Broker
from spark.built import unpacked

WARM_UP, ROUNDS, EVENTS, BATCH, GOAL = 2, 4, 160_000, 40_000, 1.05
NAMES = {
    "guarded": "upsert and offsets in one transaction, as project_orders does",
    "unguarded": "the same upsert without offsets",
    "append": "the same rows appended to a table without a key",
}
HOW = f"""\
Spark writes {EVENTS:,} order events in batches of {BATCH:,} to PostgreSQL in three ways. PostgreSQL runs on the same
machine, is reached through a Unix socket, and has `fsync` off.

- All three ways run in one warm Spark session, and use the code of the job's own sink.
- CPU-seconds are the sum of those of Spark and PostgreSQL.
- {ROUNDS} rounds, after {WARM_UP} rounds of warm-up. The order of the three ways alternates."""


def measure(broker: Broker, folder: Path) -> Part:
    """All three in turns."""
    topic = broker.topic(CORES)
    broker.make(f"{topic}-dead")
    command = [
        *(str(PYTHON), "-m", "spark.exactly_once", broker.servers, topic, str(unpacked("spark-jars-*.tgz"))),
        *(f"local[{CORES}]", str(EVENTS), str(BATCH), str(WARM_UP), str(ROUNDS), str(folder)),
    ]
    used: dict[str, list[float]] = {way: [] for way in NAMES}
    took: dict[str, list[float]] = {way: [] for way in NAMES}
    folder.mkdir()
    within = environment(class_data(), PYTHONPATH=str(ROOT / "tests"))
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=within) as program,
    ):
        try:
            assert program.stdout is not None
            for line in program.stdout:
                one = json.loads(line)
                print(f"exactly once, round {one['round']}, {one['way']}: {line.decode().strip()}", flush=True)
                if one["events"] != EVENTS:
                    sys.exit(f"{one['way']}: {one['events']} of {EVENTS} events")
                if one["round"] >= WARM_UP:
                    used[one["way"]].append(one["spark"] + one["postgresql"])
                    took[one["way"]].append(one["seconds"])
        finally:
            program.send_signal(signal.SIGINT)  # where it has not ended: it stops its database then
    if program.returncode:
        sys.exit(f"the comparison failed:\n{(folder / 'log').read_text(errors='replace')[-3000:]}")
    rows = [
        [name, spread([EVENTS / one for one in used[way]], thousands), spread(took[way], tenths)]
        for way, name in NAMES.items()
    ]
    for way in ("unguarded", "append"):
        found = (spread(ratios(figures["guarded"], figures[way])) for figures in (used, took))
        rows.append([f"ratio of cost: project_orders / {NAMES[way]}", *found])
    goal = Goal("exactly once: CPU-seconds of project_orders / the same upsert without offsets", GOAL,
                ratios(used["guarded"], used["unguarded"]), most=True)  # fmt: skip
    head = ["way of writing", "thousand events per CPU-second", "seconds"]
    return Part("Exactly once", HOW, table(head, rows), [goal])
