"""What a job computes from its start to the end of its first batch, with a class-data archive as on a host."""

from __future__ import annotations

from pathlib import Path

from bench_jobs_page import Goal, Part, ratios, spread, table, tenths
from bench_jobs_programs import CORES, MEMORY, class_data, job, running, script
from spark.broker import Broker

ROUNDS, GOAL, GUIDE_GOAL = 5, 12, 1
TEXT = "to be\nor not\nto be\n"
GUIDE = Path(__file__).parent / "spark" / "guide.py"
HOW = f"""\
The table shows the CPU-seconds from the start of a program's process until the end of its first batch, which has three
lines. {ROUNDS} rounds in turns. All programs use the class-data archive that hosts have. CPU-seconds depend on the
machine and its load, so compare them with the reference: the word count script of Spark's Structured Streaming guide.

- The reference script reads a topic and writes to a topic. It has the same number of tasks, heap, class-data archive
  and trigger as the jobs.
- The reference script changes no other setting of Spark. Its state is in the Java heap, and its rows contain only the
  value of a record."""


def publish_lines(broker: Broker, folder: Path) -> float:
    """CPU seconds of the job that sends lines."""
    texts = folder.with_name(f"{folder.name}-in")
    texts.mkdir(parents=True)
    (texts / "one.txt").write_text(TEXT)
    return of_job(broker, folder, "publish_lines", input_directory=str(texts), output_topic=broker.topic())


def count_words(broker: Broker, folder: Path) -> float:
    """CPU seconds of the job that counts words."""
    return of_job(broker, folder, "count_words", input_topic=lines(broker), output_topic=broker.topic())


def guide(broker: Broker, folder: Path) -> float:
    """CPU seconds of the script that is the yardstick."""
    checkpoint, master = folder / "checkpoint", f"local[{CORES}]"
    ends = broker.servers, lines(broker), broker.topic()
    return first_batch(script(GUIDE, *ends, CORES, MEMORY, checkpoint, master), folder, checkpoint)


def lines(broker: Broker) -> str:
    """A topic that holds the lines."""
    topic = broker.topic()
    broker.send(topic, TEXT.splitlines())
    return topic


def of_job(broker: Broker, folder: Path, name: str, **keys: object) -> float:
    """CPU seconds of a job until its first batch is done."""
    command, checkpoint = job(name, broker, folder, class_data(), **keys)
    return first_batch(command, folder, checkpoint)


def first_batch(command: list[str], folder: Path, checkpoint: Path) -> float:
    """CPU seconds of a program until its first batch is done."""
    with running(command, folder, class_data()) as program:
        return program.until("the first batch is done", (checkpoint / "commits" / "0").exists)


PROGRAMS = {"publish_lines": publish_lines, "count_words": count_words, "Spark's guide": guide}
*JOBS, YARDSTICK = PROGRAMS


def part(found: dict[str, list[float]]) -> Part:
    """What the page says of the CPU seconds of each round."""
    to_guide = {name: ratios(found[name], found[YARDSTICK]) for name in JOBS}
    rows = [[f"`{name}`", spread(found[name], tenths), spread(to_guide[name])] for name in JOBS]
    rows.append([f"{YARDSTICK}, word count", spread(found[YARDSTICK], tenths), ""])
    goals = [Goal(f"start: CPU-seconds of {name}", GOAL, found[name], most=True) for name in JOBS]
    goals += [
        Goal(f"start: CPU-seconds of {name} / of {YARDSTICK}", GUIDE_GOAL, to_guide[name], most=True) for name in JOBS
    ]
    return Part("Start", HOW, table(["program", "CPU-seconds", f"ratio to {YARDSTICK}"], rows), goals)


def measure(broker: Broker, folder: Path) -> Part:
    """All in turns."""
    found: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for number in range(ROUNDS):
        for at, (name, run) in enumerate(PROGRAMS.items()):
            found[name].append(run(broker, folder / f"{number}-{at}"))
            print(f"start, round {number}, {name}: {found[name][-1]:.1f} CPU-s", flush=True)
    return part(found)
