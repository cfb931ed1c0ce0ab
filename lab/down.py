"""Removes labs that no process uses: the named ones, or all of this checkout and all whose directory is gone.

`make lab-down` names an inventory (or a family of them), tests name folders below .lab. What to remove is found by the
labels of containers and networks, by claims and by disks: after `git clean` nothing else is left to tell. Standard
library only, since that takes the control node's environment away as well.
"""

from __future__ import annotations

import argparse
import fcntl
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from derive import lab_directory, members
from millrace_lab.claims import absent
from millrace_lab.records import LabError, identity, read_claims
from millrace_lab.shared_resources import Machine, machine_lock

ROOT = Path(__file__).resolve().parents[1]
PREPARED = Path("/run/millrace-lab-prepared.lock")
PREPARES = r"^millrace-prepare-[0-9a-f]{12}$"  # by name: labels of a container go on to the image, and to its hosts


def remove_all(machine: Machine, labs: Path) -> None:
    """Remove the labs below a checkout's .lab, orphans of all checkouts, and the blackhole route with the last lab.

    A lab that cannot be removed keeps its directory, so that it can be asked for again; the others go. Raises LabError
    in the end.
    """
    failed = []
    remove_unprepared(machine)
    with machine_lock():
        for lab_id in machine.orphans():
            try:
                machine.remove(lab_id)
            except (LabError, OSError) as error:
                failed.append(f"{lab_id} is not removed: {error}")
        failed += remove_damaged(machine, labs)
    try:
        remove(machine, known(machine, labs))
        if (labs / "inventories").exists() and machine.act(f"remove {labs / 'inventories'}"):
            shutil.rmtree(labs / "inventories")
    except (LabError, OSError) as error:
        failed.append(str(error))
    if failed:
        raise LabError("\n".join(failed))


def remove_damaged(machine: Machine, labs: Path) -> list[str]:
    """Remove damaged claims of which nothing stands; return why others stay that have lost their checkout."""
    held = machine.damaged()
    for each in read_claims()[1]:
        if each not in held.values() and machine.act(f"remove the damaged claim {each.file}"):
            shutil.rmtree(each.file) if each.file.is_dir() else each.file.unlink()
    failed = []
    for directory in held:
        if labs not in directory.parents and not identity(directory):
            try:
                machine.check_claim(directory)
            except LabError as error:
                failed.append(f"{directory} is not removed: {error}")
    return failed


def remove_unprepared(machine: Machine) -> None:
    """Remove the container of an image that lab/image/prepared.sh was killed over; one that is being made stays."""
    with PREPARED.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        listed = machine.run("podman", "ps", "-a", "--filter", f"name={PREPARES}", "--format", "{{.Names}}")
        for name in listed.split():
            if machine.act(f"remove container {name}"):
                machine.run("podman", "rm", "-f", "-t", "0", name)


def remove(machine: Machine, directories: Sequence[Path]) -> None:
    """Remove these labs, and the blackhole route with the last one. Raises LabError in the end where one stays."""
    failed = []
    with machine_lock():
        for directory in directories:
            try:
                absent(machine, directory)
            except (LabError, OSError) as error:
                failed.append(f"{directory} is not removed: {error}")
        machine.drop_route()
    if failed:
        raise LabError("\n".join(failed))


def known(machine: Machine, place: Path) -> list[Path]:
    """List the lab directories that are `place` or below it: by containers, networks, claims, and what is there."""
    found = {directory for _, directory in machine.places()} | {claim.directory for claim in machine.claims()}
    found |= {file.parent for file in (place / "id", *place.glob("*/id")) if file.exists()}
    return sorted(directory for directory in found if directory == place or place in directory.parents)


def named(machine: Machine, place: Path) -> list[Path]:
    """Return the lab directories of an inventory or a family of them, or those below a folder of .lab.

    Raises LabError where there is no such inventory.
    """
    if place.is_relative_to(ROOT / ".lab"):
        return known(machine, place)
    return [lab_directory(member) for member in members(place)]


def main() -> int:
    """List what was removed; return the exit code: 1 where a lab stays, 2 where an inventory is unknown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path, nargs="*", help="an inventory, or a folder below .lab")
    machine = Machine(str(ROOT / "lab" / "podman.conf"))
    places = [place.absolute() for place in parser.parse_args().place]
    try:
        directories = [directory for place in places for directory in named(machine, place)]
    except LabError as error:
        print(f"lab-down: {error}", file=sys.stderr)
        return 2
    try:
        if places:
            remove(machine, directories)
        else:
            remove_all(machine, ROOT / ".lab")
    except LabError as error:
        print(f"lab-down: {error}", file=sys.stderr)
        return 1
    finally:
        print(*(machine.actions or ["nothing was left to remove"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
