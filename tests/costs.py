"""Measures CPU seconds of tests and of layers of tests, containers included, and compares layers with their budget.

A CPU second is no fixed amount of work: both threads of a core busy, or an older processor, make it cost up to twice as
many for the same work. So a run measures its pace all the time: the CPU seconds of one fixed computation, divided by
REFERENCE. `tests/budget.json` holds CPU seconds at pace 1, and a layer is compared after division by its own pace.

As a program, called by tests/run.sh: `pace FILE` measures until its parent ends; `LAYERS PACES` prints the table of the
layers that the first file holds, and exits with 1 where one is above its budget.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "tests" / "budget.json"
CGROUPS = Path("/sys/fs/cgroup")
PER_TEST = ROOT / ".build" / "costs.json"
CGROUP = "MILLRACE_LAB_CGROUP"
"""The environment variable that names the control group of a layer's containers; lab/ puts them there."""
LANE = "MILLRACE_LANE_CGROUP"
"""The environment variable that names the control group of all commands of a layer, waited for or not."""
REFERENCE = 0.36
"""CPU seconds of `fixed_work` at pace 1."""
STARTED = "import asyncio, decimal, email.message, http.client, json"
"""What the interpreter that `fixed_work` starts imports."""
EVERY = 20
"""Seconds between two measurements of the pace."""
ABOVE = 1.2
"""A layer fails above this share of its budget."""
WITH_CONTAINERS = ("survival", "lab", "site", "timed")
CPU, INSIDE = "cpu", "cpu in containers"


def fixed_work() -> float:
    """Return the CPU seconds of a computation that is always the same, of the three kinds that tests are made of.

    Calls and texts that stay in a core's own cache, 150,000 texts that do not, and the start of an interpreter. Other
    work makes the last two cost more, as it does with tests, and hardly changes the first.
    """
    before = cpu_used()
    for number in range(240):
        facts = {str(key): [key, key * number, "x" * (key % 7)] for key in range(200)}
        text = json.dumps(facts)
        assert json.loads(text) == facts
        re.sub(r"\d+", lambda found: found[0][::-1], text[:2000])
    texts = {str(number): [number, str(number * 7)] for number in range(150_000)}
    sorted(texts, key=lambda key: str(texts[key][1]))
    subprocess.run([sys.executable, "-I", "-S", "-c", STARTED], check=True)
    return cpu_used() - before


def cpu_used() -> float:
    """Return the CPU seconds of this thread and of all commands that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + children.ru_utime + children.ru_stime


def measure_pace(file: Path, parent: int) -> None:
    """Append a line (time, pace) to a file, again and again, until the process that started this one has ended."""
    while os.getppid() == parent:
        pace = fixed_work() / REFERENCE
        with file.open("a") as stream:
            stream.write(f"{time.time():.0f} {pace:.3f}\n")
        time.sleep(EVERY)


def pace_between(file: Path, since: float, until: float) -> float:
    """Return the mean pace in a time; without measurements in it, that of all measurements, without any, 1.

    The mean, because the cost is a sum: a pace of 2 in half of the time costs half more, whatever the median is.
    """
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    rows = [(float(at), float(pace)) for at, pace in lines]
    return fmean([pace for at, pace in rows if since <= at <= until] or [pace for _, pace in rows] or [1.0])


def seconds_in(group: str) -> float | None:
    """Return the CPU seconds of a control group, ended members included; None where nothing is counted for it."""
    for file, unit in ((f"cpuacct{group}/cpuacct.usage", 1e9), (f"{group.lstrip('/')}/cpu.stat", 1e6)):
        path = CGROUPS / file
        if group and path.exists():
            return float(re.findall(r"\d+", path.read_text())[0]) / unit
    return None


def own_seconds() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Costs:
    """A pytest plugin: adds to each report the CPU seconds since the one before, and sums them up in the end."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin to count."""
        self.config = config
        self.worker = hasattr(config, "workerinput")
        self.group, self.lane = ("" if self.worker else os.environ.get(name, "") for name in (CGROUP, LANE))
        self.own, self.inside = self.used()

    def used(self) -> tuple[float, float]:
        """Return the CPU seconds so far, of commands and in containers.

        Commands are all of the layer's control group; without one, and where tests run in parallel, this process and
        those that it has waited for.
        """
        lane = seconds_in(self.lane)
        return own_seconds() if lane is None else lane, seconds_in(self.group) or 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add what was used since the last report: what pytest did in between belongs to the next one."""
        report = yield
        own, inside = self.used()
        report.user_properties += [(CPU, own - self.own), (INSIDE, inside - self.inside)]
        self.own, self.inside = own, inside
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what each folder cost, and keep what each test cost for `make quick`."""
        if self.worker:
            return
        tests = defaultdict[str, list[float]](lambda: [0.0, 0.0, 0.0])
        for reports in terminalreporter.stats.values():
            for report in (each for each in reports if isinstance(each, pytest.TestReport)):
                measured = dict(report.user_properties)
                for place, cost in enumerate((report.duration, measured.get(CPU, 0.0), measured.get(INSIDE, 0.0))):
                    tests[report.nodeid][place] += float(cost)  # type: ignore[arg-type]
        folders = defaultdict[str, list[float]](lambda: [0.0, 0.0, 0.0])
        for test, costs in tests.items():
            folder = folders[test.partition("::")[0].rpartition("/")[0] or f"tests/{self.config.rootpath.name}"]
            folder[:] = [total + cost for total, cost in zip(folder, costs, strict=True)]
        lines = [
            f"{folder}: {wall:.0f} s, {own:.0f} CPU-s and {inside:.0f} in containers"
            for folder, (wall, own, inside) in sorted(folders.items())
        ]
        terminalreporter.section("cost of tests (seconds of parallel tests are added up)")
        terminalreporter.write_line("\n".join(lines))
        file = os.environ.get("MILLRACE_TEST_COSTS")
        if file:
            with open(file, "a") as stream:
                stream.writelines(f"  {line}\n" for line in lines)
        if not os.environ.get("MILLRACE_TESTS_LOCK"):  # a part of the campaign runs more of a test than `make quick`
            keep({test: round(own + inside, 3) for test, (_, own, inside) in tests.items()})


def keep(tests: Mapping[str, float]) -> None:
    """Merge the CPU seconds of tests into PER_TEST; several runs of pytest may do so at once."""
    if not PER_TEST.parent.is_dir():
        return
    with PER_TEST.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = {test: cost for test, cost in read_costs().items() if file_of(test).exists()}
        beside = PER_TEST.with_suffix(".new")
        beside.write_text(json.dumps({**known, **tests}, indent=0, sort_keys=True))
        beside.replace(PER_TEST)


def file_of(test: str) -> Path:
    """Return the file of a test by its name; the names of tests/spark are relative to that folder."""
    file = test.partition("::")[0]
    return ROOT / (file if file.startswith("tests/") else f"tests/spark/{file}")


def read_costs() -> dict[str, float]:
    """Return the CPU seconds of each test in the last run that had it; {} where no run is known."""
    try:
        return dict(json.loads(PER_TEST.read_text()))
    except (OSError, ValueError, TypeError):
        return {}


def judge(rows: Sequence[Mapping[str, Any]], budget: Mapping[str, float]) -> tuple[str, list[str]]:
    """Return the table of layers, and a line for each layer that is above its budget.

    A layer with containers is not compared where their CPU seconds could not be counted.
    """
    head = f"{'layer':<10}{'wall s':>8}{'CPU-s':>8}{'in containers':>15}{'pace':>6}{'at pace 1':>11}{'budget':>8}"
    lines, above = [head], list[str]()
    for row in rows:
        name, inside = row["layer"], row["containers"]
        cost = (row["own"] + (inside or 0)) / row["pace"]
        allowed = budget.get(name)
        counted = f"{inside:.0f}" if inside is not None else "not counted"
        lines.append(
            f"{name:<10}{row['wall']:>8.0f}{row['own']:>8.0f}{counted:>15}{row['pace']:>6.2f}{cost:>11.0f}"
            f"{allowed if allowed is not None else '-':>8}"
        )
        if allowed is not None and inside is None and name in WITH_CONTAINERS:
            lines.append(f"{'':<10}not compared with its budget, which includes containers")
        elif allowed is not None and cost > ABOVE * allowed:
            above.append(
                f"{name}: {cost:.0f} CPU-s at pace 1, more than {ABOVE} times its budget of {allowed} "
                "(tests/budget.json): make its tests cheaper, or move some to the campaign"
            )
    total = sum((row["own"] + (row["containers"] or 0)) / row["pace"] for row in rows)
    lines.append(f"{'sum':<10}{total:>58.0f}")
    return "\n".join(lines), above


def main(words: Sequence[str]) -> int:
    """Do what tests/run.sh asks for."""
    if words[0] == "pace":
        measure_pace(Path(words[1]), os.getppid())
        return 0
    layers, paces = map(Path, words)
    rows = [json.loads(line) for line in layers.read_text().splitlines()] if layers.exists() else []
    for row in rows:
        row["pace"] = pace_between(paces, row["until"] - row["wall"], row["until"])
    # A part of the campaign runs more of a layer than make test does.
    budget = {} if os.environ.get("MILLRACE_TESTS_LOCK") else json.loads(BUDGET.read_text())
    table, above = judge(rows, budget)
    print(table, *(f"=== ABOVE THE BUDGET: {line}" for line in above), sep="\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
