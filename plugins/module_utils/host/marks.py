"""Marks units that playbooks/restart.yml has to restart, on their host, until the end of the run.

A mark contains systemd's InvocationID of the process to be replaced, and the hosts of the run. Once the unit has
another process, the restart is done. Marks are in /run, so a reboot, which restarts everything, removes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

FOLDER = "/run/millrace"
NONE = "none"
"""The InvocationID of a unit that does not run."""


def path(unit: str) -> str:
    """Return the file of a unit's mark."""
    return f"{FOLDER}/restart-{unit}"


def lines(unit: str) -> list[str]:
    """Return the lines of a unit's mark; [] if the unit is not marked."""
    try:
        with open(path(unit), encoding="utf-8") as stream:
            return stream.read().splitlines()
    except OSError:
        return []


def read(unit: str) -> str:
    """Return the InvocationID of the process to be replaced, '' if the unit is not marked."""
    return "".join(lines(unit)[:1]).strip()


def run_of(unit: str) -> list[str]:
    """Return the hosts of the run that has marked a unit, sorted."""
    return sorted("".join(lines(unit)[1:2]).split())


def write(unit: str, invocation: str, hosts: Iterable[str] = ()) -> None:
    """Mark a unit for a run on some hosts. Raises OSError."""
    os.makedirs(FOLDER, mode=0o755, exist_ok=True)
    with open(f"{path(unit)}.new", "w", encoding="utf-8") as stream:
        stream.write(f"{invocation or NONE}\n{' '.join(sorted(hosts))}\n")
    os.replace(f"{path(unit)}.new", path(unit))


def remove(unit: str) -> None:
    """Remove a mark. Raises OSError."""
    os.unlink(path(unit))


def judged(unit: str, facts: Mapping[str, str]) -> str:
    """Return `due` or `done`, '' if the unit is not marked; `facts` are systemd's ActiveState and InvocationID."""
    mark = read(unit)
    if not mark:
        return ""
    return "due" if facts["ActiveState"] == "active" and facts.get("InvocationID") == mark else "done"


def of(units: Mapping[str, Mapping[str, str]], word: str) -> list[str]:
    """Return the units whose mark is `due`, or `done`."""
    return [name for name, facts in units.items() if judged(name, facts) == word]


def marked(names: Iterable[str]) -> list[str]:
    """Return the units that have a mark."""
    return [name for name in names if read(name)]
