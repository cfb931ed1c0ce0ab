"""What an unchanged site.yml costs: CPU seconds of the control node and of all hosts, against a play of one ping task.

Wall time says little on a shared machine; CPU seconds and their ratio do. The hosts' own idle use is measured, and
taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from faults import starved
from faults.inventory import ROOT, Inventory, load

BUDGET_RATIO = 7.0
BUDGET_HOST_TASKS = 3
BUDGET_ONCE = 14
WINDOW = 10
"""Seconds over which the use of idle hosts is measured."""


def settled(rate: Callable[[], float]) -> float:
    """Return what hosts use when nothing is asked of them, once that falls no more: those of a new lab still compile.

    Exits where it has not come to rest after two minutes.
    """
    least = rate()
    for _ in range(120 // WINDOW):
        now = rate()
        if 0.9 * least <= now <= 1.1 * least:
            return min(least, now)
        least = min(least, now)
    sys.exit(f"the hosts do not come to rest: {now:.2f} CPU-s a second, and it was {least:.2f}")


class Meter:
    """CPU seconds of the control node's commands and of the hosts."""

    def __init__(self, inventory: Inventory) -> None:
        """Find the containers and measure what they use when nothing is asked of them."""
        self.containers = starved.Meter(inventory)
        self.idle = settled(self.rate)

    def rate(self) -> float:
        """Return the CPU seconds that all hosts use in a second, over some seconds."""
        before, begin = self.hosts(), time.monotonic()
        threading.Event().wait(WINDOW)
        return (self.hosts() - before) / (time.monotonic() - begin)

    def hosts(self) -> float:
        """Return the CPU seconds of all hosts so far."""
        used = self.containers.read().lab
        if not used or None in used.values():
            sys.exit("the CPU time of the lab's containers is not counted on this machine")
        return sum(seconds for seconds in used.values() if seconds is not None)

    def run(self, inventory: Inventory, playbook: str, environment: dict[str, str], *options: str) -> dict[str, float]:
        """Run a playbook that changes nothing; return its wall, control node and host seconds."""
        before, used, begin = self.hosts(), resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            ["ansible-playbook", "-i", str(inventory.directory), playbook, *options],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
        if (
            done.returncode
            or " changed=0 " not in done.stdout
            or any(f" changed={n}" in done.stdout for n in range(1, 10))
        ):
            sys.exit(f"{playbook} failed or changed something:\n{done.stdout[-2000:]}{done.stderr[-500:]}")
        wall, now = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        control = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        return {"wall": wall, "control": control, "hosts": self.hosts() - before - self.idle * wall}


def main() -> int:
    """Measure, print, and fail above the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inventory", type=Path, default=ROOT / "inventories" / "lab")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    inventory = load(arguments.inventory.resolve())
    meter = Meter(inventory)
    meter.run(inventory, "tests/ping.yml", {})
    results: dict[str, list[dict[str, float]]] = {"tests/ping.yml": [], "playbooks/site.yml": []}
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        callback = {"ANSIBLE_CALLBACKS_ENABLED": "millrace.kafka.host_tasks", "MILLRACE_HOST_TASKS": str(counts)}
        for _ in range(arguments.runs):
            for playbook, rows in results.items():
                rows.append(meter.run(inventory, playbook, callback))
        tasks: dict[str, dict[str, int]] = json.loads(counts.read_text())
    print(
        f"{len(inventory.hosts('all'))} hosts, {arguments.runs} runs each, the least CPU of each; "
        f"load average {os.getloadavg()[0]:.1f}"
    )
    best = {playbook: min(rows, key=lambda row: row["control"] + row["hosts"]) for playbook, rows in results.items()}
    for playbook, row in best.items():
        total = row["control"] + row["hosts"]
        print(
            f"  {playbook:<20} control {row['control']:5.2f} + hosts {row['hosts']:5.2f} = {total:6.2f} CPU-s, "
            f"wall {row['wall']:.1f} s"
        )
    totals = [row["control"] + row["hosts"] for row in best.values()]
    ratio = totals[1] / totals[0]
    print(f"  ratio {ratio:.2f} (budget {BUDGET_RATIO})")
    once = sum(tasks.pop("(once)", {}).values())
    worst = {role: max(hosts.values()) for role, hosts in tasks.items()}
    print(
        "  host-tasks per role and host:",
        ", ".join(f"{role} {count}" for role, count in sorted(worst.items())),
        f"(budget {BUDGET_HOST_TASKS}); for all hosts at once: {once} (budget {BUDGET_ONCE})",
    )
    within = once <= BUDGET_ONCE and max(worst.values()) <= BUDGET_HOST_TASKS
    return 0 if ratio <= BUDGET_RATIO and within else 1


if __name__ == "__main__":
    sys.exit(main())
