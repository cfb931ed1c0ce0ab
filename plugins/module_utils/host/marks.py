"""Marks systemd units on their host that playbooks/restart.yml has to restart; a mark is a file for each unit.

The file contains the InvocationID of the process that has to be replaced, and the hosts of the run. Once the unit has
another process, the restart is done. Marks are in /run, so a reboot, which restarts everything, removes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

FOLDER = "/run/millrace"
NONE = "none"
"""What a mark contains in place of an InvocationID if the unit was not running."""


def path(unit: str) -> str:
    """Return the path of the file that marks the unit."""
    return f"{FOLDER}/restart-{unit}"


def lines(unit: str) -> list[str]:
    """Return the lines of the file that marks the unit; [] if the unit is not marked."""
    try:
        with open(path(unit), encoding="utf-8") as stream:
            return stream.read().splitlines()
    except OSError:
        return []


def read(unit: str) -> str:
    """Return the InvocationID of the process that has to be replaced; '' if the unit is not marked."""
    return "".join(lines(unit)[:1]).strip()


def run_of(unit: str) -> list[str]:
    """Return the sorted names of the hosts in the run that has marked the unit; [] if the unit is not marked."""
    return sorted("".join(lines(unit)[1:2]).split())


def write(unit: str, invocation: str, hosts: Iterable[str] = ()) -> None:
    """Mark the unit for a restart by a run on `hosts`: its process with the InvocationID `invocation` must end.

    Raises OSError if the mark cannot be written.
    """
    os.makedirs(FOLDER, mode=0o755, exist_ok=True)
    with open(f"{path(unit)}.new", "w", encoding="utf-8") as stream:
        stream.write(f"{invocation or NONE}\n{' '.join(sorted(hosts))}\n")
    os.replace(f"{path(unit)}.new", path(unit))


def remove(unit: str) -> None:
    """Remove the unit's mark. Raises OSError if the unit has no mark, or if the mark cannot be removed."""
    os.unlink(path(unit))


def judged(unit: str, facts: Mapping[str, str]) -> str:
    """Return `due` if the unit is marked and still has to be restarted, `done` if it was restarted, '' without a mark.

    `facts` are the unit's ActiveState and InvocationID from systemd.
    """
    mark = read(unit)
    if not mark:
        return ""
    return "due" if facts["ActiveState"] == "active" and facts.get("InvocationID") == mark else "done"


def of(units: Mapping[str, Mapping[str, str]], word: str) -> list[str]:
    """Return the names of the units for which `judged` returns `word`, that is `due` or `done`.

    `units` maps the name of each unit to its ActiveState and InvocationID from systemd.
    """
    return [name for name, facts in units.items() if judged(name, facts) == word]


def marked(names: Iterable[str]) -> list[str]:
    """Return the names of those units in `names` that are marked for a restart."""
    return [name for name in names if read(name)]
