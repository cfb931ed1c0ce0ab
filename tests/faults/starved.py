"""Decides whether other work took the processors that a test and its lab needed.

The rule: in a window of time, the test was starved if both of these hold.

- The machine's processors were busy for at least BUSY of the window. Busy is all that /proc/stat does not count as idle
  or as waiting for a disk; time that a hypervisor gave to others counts as busy.
- Other work took at least OTHERS of one processor: the busy time, minus the CPU time of the lab's containers (their
  control groups), minus the CPU time of this process and its commands. Other layers of the same run are other work.

If a figure cannot be read, the test was not starved: nothing is measured again without evidence.
"""

import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from costs import LANE, own_seconds, seconds_in

from .containers import podman
from .inventory import Inventory

BUSY, OTHERS = 0.9, 0.25
CONTAINERS = "MILLRACE_LAB_CGROUP"
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Reading:
    """CPU seconds until now, each since a time of its own."""

    at: float
    """Now, in monotonic seconds."""
    total: float
    """Of all processors, idle or busy."""
    busy: float
    """Of all processors, busy."""
    own: float
    """Of this lane of tests, else of this process and of the commands that it has waited for."""
    lab: Mapping[str, float | None]
    """Of each container, by its control group; None where it cannot be read."""


@dataclass(frozen=True)
class Window:
    """How busy the processors were between two readings."""

    seconds: float
    busy: float
    """From 0 to 1."""
    others: float | None
    """Processors that other work took; None where the CPU time of the lab is not known."""

    @property
    def starved(self) -> bool:
        """Whether the rule of this module holds."""
        return self.busy >= BUSY and self.others is not None and self.others >= OTHERS

    def __str__(self) -> str:
        """Return the figures of the rule."""
        others = "an unknown number" if self.others is None else f"{self.others:.2f}"
        return f"in {self.seconds:.0f} s processors were {self.busy:.0%} busy, and other work took {others} of them"


class Meter:
    """Reads the CPU time of the machine, and of the containers of one lab."""

    def __init__(self, inventory: Inventory | None) -> None:
        """Take the lab of an inventory; None or an inventory without a lab has no containers."""
        self.inventory = inventory

    @cached_property
    def groups(self) -> list[str]:
        """The control groups of the lab's containers; '' for a container that does not run."""
        if self.inventory is None or self.inventory.lab_directory is None:
            return []
        containers = [self.inventory.container(host) for host in self.inventory.hosts("all")]
        return [group_of_process(pid) for pid in podman("inspect", "--format", "{{.State.Pid}}", *containers)]

    def read(self) -> Reading:
        """Read all figures."""
        total, busy = processors(Path("/proc/stat").read_text())
        lab = {group: seconds_in(group) for group in self.groups}
        # The group of all containers of this lane goes on counting where one of them is restarted.
        all_containers = os.environ.get(CONTAINERS, "")
        if lab and (used := seconds_in(all_containers)) is not None:
            lab = {all_containers: used}
        in_lane = seconds_in(os.environ.get(LANE, ""))
        return Reading(time.monotonic(), total, busy, own_seconds() if in_lane is None else in_lane, lab)


def group_of_process(pid: str) -> str:
    """Return the control group of the container that a process belongs to; '' without such a process."""
    with suppress(OSError):
        return group_of(Path(f"/proc/{pid}/cgroup").read_text())
    return ""


def group_of(text: str) -> str:
    """Return the control group of a container that counts its CPU time, from a file /proc/<pid>/cgroup; else ''."""
    rows = (line.split(":", 2) for line in text.splitlines())
    paths = {name: path for _, names, path in rows for name in names.split(",")}  # '' is the hierarchy of cgroup v2
    found = re.match(r".*?/libpod-[^/]*", paths.get("cpuacct", paths.get("", "")))
    return found[0] if found else ""


def processors(stat: str) -> tuple[float, float]:
    """Return the seconds of all processors, in all and busy, from the text of /proc/stat."""
    user, nice, system, idle, iowait, *others = map(int, stat.splitlines()[0].split()[1:9])
    busy = user + nice + system + sum(others)
    return (busy + idle + iowait) / _TICKS_A_SECOND, busy / _TICKS_A_SECOND


def between(before: Reading, after: Reading) -> Window:
    """Return how busy the processors were between two readings."""
    seconds, busy = after.at - before.at, after.busy - before.busy
    share = busy / (after.total - before.total) if after.total > before.total else 0.0
    used = [_used(then, after.lab.get(group)) for group, then in before.lab.items()]
    known = [each for each in used if each is not None]
    if not known or len(known) < len(used) or seconds <= 0:
        return Window(seconds, share, None)
    return Window(seconds, share, (busy - sum(known) - (after.own - before.own)) / seconds)


def _used(before: float | None, after: float | None) -> float | None:
    """Return the CPU seconds of a container between two readings; the counter of a restarted one begins at 0."""
    if before is None or after is None:
        return None
    return after - before if after >= before else after
