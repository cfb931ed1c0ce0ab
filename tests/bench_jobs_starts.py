"""What a job computes from its start to the end of its first batch, with a class-data archive as on a host."""

from __future__ import annotations

from pathlib import Path

from bench_jobs_page import Goal, Part, spread, table, tenths
from bench_jobs_programs import class_data, job, running
from spark.broker import Broker

ROUNDS, GOAL = 3, 12
TEXT = "to be\nor not\nto be\n"
HOW = f"""\
From exec to the end of a first batch of three lines, the whole process tree, with the class-data archive that a host
has; {ROUNDS} rounds in turns."""


def publish_lines(broker: Broker, folder: Path) -> float:
    """CPU seconds of the job that sends lines."""
    texts = folder.with_name(f"{folder.name}-in")
    texts.mkdir(parents=True)
    (texts / "one.txt").write_text(TEXT)
    return first_batch(broker, folder, "publish_lines", input_directory=str(texts), output_topic=broker.topic())


def count_words(broker: Broker, folder: Path) -> float:
    """CPU seconds of the job that counts words."""
    source = broker.topic()
    broker.send(source, TEXT.splitlines())
    return first_batch(broker, folder, "count_words", input_topic=source, output_topic=broker.topic())


def first_batch(broker: Broker, folder: Path, name: str, **keys: object) -> float:
    """CPU seconds of a job until its first batch is done."""
    archive = class_data()
    command, checkpoint = job(name, broker, folder, archive, **keys)
    with running(command, folder, archive) as program:
        return program.until("the first batch is done", (checkpoint / "commits" / "0").exists)


def measure(broker: Broker, folder: Path) -> Part:
    """Both in turns."""
    found: dict[str, list[float]] = {"publish_lines": [], "count_words": []}
    for number in range(ROUNDS):
        for name, run in (("publish_lines", publish_lines), ("count_words", count_words)):
            found[name].append(run(broker, folder / f"{number}-{name}"))
            print(f"start, round {number}, {name}: {found[name][-1]:.1f} CPU-s", flush=True)
    rows = [[f"`{name}`", spread(values, tenths)] for name, values in found.items()]
    goals = [Goal(f"CPU-seconds of a start, {name}", GOAL, values, most=True) for name, values in found.items()]
    return Part("Start", HOW, table(["", "CPU-s"], rows), goals)
