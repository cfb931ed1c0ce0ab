"""`make lab-down-all`: removes the labs of this checkout and every lab whose directory is gone; others' labs stay.

What to remove is found by the labels of containers and networks, by claims and by disks: after `git clean` nothing else
is left to tell. Standard library only, since that takes the control node's environment away as well.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from millrace_lab.machine import LabError, Machine, identity, machine_lock

ROOT = Path(__file__).resolve().parents[1]


def remove_all(machine: Machine, labs: Path) -> None:
    """Remove the labs below a checkout's .lab, orphans of all checkouts, and the blackhole route with the last lab.

    A lab that cannot be removed keeps its directory, so that it can be asked for again; the others go. Raises LabError
    in the end.
    """
    with machine_lock():
        wanted: list[tuple[str, Path | None]] = [(lab_id, None) for lab_id in machine.orphans()]
        for directory in (file.parent for file in sorted(labs.glob("*/id"))):
            wanted.append(("" if machine.copied(directory) else identity(directory), directory))
        failed = []
        for lab_id, path in [*wanted, ("", labs / "inventories")]:
            try:
                if lab_id:
                    machine.remove(lab_id)
                if path and path.exists() and machine.act(f"remove {path}"):
                    shutil.rmtree(path)
            except (LabError, OSError) as error:
                failed.append(f"{path or lab_id} is not removed: {error}")
        machine.drop_route()
    if failed:
        raise LabError("\n".join(failed))


def main() -> int:
    """List what was removed; return the exit code."""
    machine = Machine(str(ROOT / "lab" / "containers.conf"))
    try:
        remove_all(machine, ROOT / ".lab")
    except LabError as error:
        print(f"make lab-down-all: {error}", file=sys.stderr)
        return 1
    finally:
        print(*(machine.actions or ["nothing was left to remove"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
