"""Programs that make bench-jobs measures: how they are started, what they have computed, how far they have read."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from confluent_kafka import Producer
from spark.broker import Broker
from spark.built import BUILD, ClassData, unpacked

CORES = 2
"""Tasks at a time, for every program alike."""
MEMORY = "2g"
POLL_SECONDS = 0.05
PATIENCE_SECONDS = 600
PYTHON = BUILD / "venv-spark" / "bin" / "python"
"""The environment of the jobs, which `tests/run.sh` makes."""
JARS = "spark-jars-*.tgz"
"""What lets Spark speak to Kafka."""
_TICKS = os.sysconf("SC_CLK_TCK")


def until(what: str, true: Callable[[], bool], seconds: float = PATIENCE_SECONDS, poll: float = POLL_SECONDS) -> None:
    """Return once it is true; end with its name where that takes too long."""
    pause, deadline = Event(), time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            sys.exit(f"not after {seconds:.0f} s: {what}")
        pause.wait(poll)


def tree_seconds(stats: Sequence[str], root: int) -> float:
    """Return the CPU seconds of a process and all below it, those that have ended and were waited for among them.

    `stats` are texts of /proc/<pid>/stat (proc(5)): a name in brackets may hold anything.
    """
    used: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for text in stats:
        pid, _, rest = text.partition(" ")
        fields = rest.rpartition(")")[2].split()
        used[int(pid)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
        children.setdefault(int(fields[1]), []).append(int(pid))
    left, found = [root], 0
    while left:
        one = left.pop()
        found += used.get(one, 0)
        left += children.get(one, [])
    return found / _TICKS


def stats() -> list[str]:
    """What the kernel says of each process."""
    found = list[str]()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            found.append(file.read_text(errors="replace"))
    return found


def cpu_of(root: int) -> float:
    """Return the CPU seconds of a process that runs, and of all below it."""
    return tree_seconds(stats(), root)


def group_lives(group: int) -> bool:
    """Whether any process of a group runs; one that nobody waited for does not."""
    for text in stats():
        state, _, its_group = text.rpartition(")")[2].split()[:3]
        if int(its_group) == group and state != "Z":
            return True
    return False


def read_until(checkpoint: Path) -> int:
    """Return the sum of the offsets up to which a query has finished, over all partitions of its topic."""
    done = [int(file.name) for file in (checkpoint / "commits").glob("[0-9]*") if file.name.isdigit()]
    if not done:
        return 0
    last = (checkpoint / "offsets" / str(max(done))).read_text().splitlines()[-1]
    (partitions,) = json.loads(last).values()
    return sum(partitions.values())


def produce(producer: Producer, topic: str, value: bytes | str, partition: int) -> None:
    """Send one record, once the queue has room for it."""
    while True:
        try:
            producer.produce(topic, value, partition=partition)
            return
        except BufferError:
            producer.poll(0.1)


@dataclass
class Program:
    """A program that runs, and what it has said."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def cpu(self) -> float:
        """CPU seconds so far."""
        return cpu_of(self.process.pid)

    @property
    def said(self) -> str:
        """Everything that it has said."""
        return self.log.read_text(errors="replace")

    def until(self, what: str, true: Callable[[], bool]) -> float:
        """Return what it has computed when it is true; end where the program does."""

        def so() -> bool:
            if self.process.poll() is not None:
                sys.exit(f"{what}: the program ended with {self.process.returncode}:\n{self.said[-3000:]}")
            return true()

        until(what, so)
        return self.cpu


@contextmanager
def running(command: Sequence[str], folder: Path, archive: ClassData | None = None) -> Iterator[Program]:
    """A program that is gone afterwards, with all that it started; one with Spark names the class-data archive."""
    folder.mkdir(parents=True, exist_ok=True)
    log, within = folder / "log", environment(archive) if archive else None
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=within,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        yield Program(process, log)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        with suppress(SystemExit):  # its JVM ends after it, and writes class data then
            until("all of it has ended", lambda: not group_lives(process.pid))
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def class_data() -> ClassData:
    """The class-data archive of the jobs, as the service of a host has one."""
    (jars,) = PYTHON.parents[1].glob("lib/python3*/site-packages/pyspark/jars")
    return ClassData("jobs", jars, unpacked(JARS), more=[*(BUILD / "archives").glob("millrace_jobs-*.whl")])


def environment(archive: ClassData, **more: str) -> dict[str, str]:
    """That of a program whose Spark uses a class-data archive, or makes it; the optimising compiler is on."""
    flags = " ".join([*archive.flags, "-Xlog:disable"])
    return {**os.environ, "SPARK_SUBMIT_OPTS": flags, "PYSPARK_PYTHON": str(PYTHON), **more}


def job(name: str, broker: Broker, folder: Path, archive: ClassData, **keys: object) -> tuple[list[str], Path]:
    """Write the configuration of a job; return its command and its checkpoint."""
    folder.mkdir(parents=True)
    checkpoint = folder / "checkpoint"
    config = {
        "checkpoint": str(checkpoint),
        "jars_directory": str(unpacked(JARS)),
        "kafka": {"bootstrap.servers": broker.servers},
        "spark": {"spark.master": f"local[{CORES}]", "spark.driver.memory": MEMORY},
        **keys,
    }
    if name == "measure_latency":
        for key in ("checkpoint", "jars_directory", "spark"):
            del config[key]
    (folder / "job.json").write_text(json.dumps(config))
    return [str(PYTHON.with_name("millrace-jobs")), name, "--config", str(folder / "job.json")], checkpoint


def script(file: Path, *arguments: object) -> list[str]:
    """The command of a script of PySpark, with the jars behind Spark's own as jobs have them: class data fit them."""
    jars = os.pathsep.join(str(jar) for jar in sorted(unpacked(JARS).glob("*.jar")))
    return ["env", f"SPARK_DIST_CLASSPATH={jars}", str(PYTHON), str(file), *map(str, arguments)]


def make_class_data(folder: Path) -> None:
    """Where these jobs and this Java have no class-data archive yet, make it by the command that a host runs."""
    archive = class_data()
    if archive.file.exists():
        return
    command = [str(PYTHON.with_name("millrace-jobs")), "class-data", "--jars", str(unpacked(JARS))]
    with running(command, folder, archive) as program:
        if program.process.wait(PATIENCE_SECONDS):
            sys.exit(f"no class data:\n{program.said[-3000:]}")
    archive.keep()


def java() -> str:
    """The java of this machine."""
    return shutil.which("java") or sys.exit("no java on the PATH: make setup installs it")
