"""One run of tests at a time in a checkout, of tests/run.sh or the campaign: they share .lab, .build/logs and networks.

flock on a file below .build: however a run ends, the kernel gives it back when the last process has closed the file.
Those are the run itself and the commands that it calls, as pytest: of a run that was killed they go on with its labs,
so the lock is theirs until they end. What these start in turn does not get the file, for Python passes none on: no
container and no ssh keeps it. Standard library only: `make test` asks before there is an environment.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / ".build" / "tests.lock"
# How long to wait for the words of a run that has just taken the lock, in seconds.
PATIENCE = 1.0


class BusyError(Exception):
    """Another run is there; the text says which, since when, and what to do."""


@contextmanager
def only_run(command: str) -> Iterator[int]:
    """Hold the lock; give the open file, for commands that are to keep it. Raises BusyError."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with FILE.open("a+") as file:
        take(file.fileno(), os.getpid(), command)
        yield file.fileno()


def take(file: int, pid: int, command: str) -> None:
    """Take the lock with an open file, for the process `pid`, which keeps it open. Raises BusyError."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BusyError(f"{command}: {refusal({pid, os.getpid()})}") from error
    os.ftruncate(file, 0)
    now = datetime.now().astimezone().isoformat(" ", "seconds")
    os.write(file, f"{pid}\n{command}, pid {pid}, since {now} in {ROOT}".encode())


def look() -> None:
    """Raise BusyError where a run is there; leave no file."""
    with contextlib.suppress(FileNotFoundError), FILE.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(refusal({os.getpid()})) from error


def refusal(own: set[int]) -> str:
    """Say who has the lock; `own` are processes that have the file open, and not the lock."""
    deadline = time.monotonic() + PATIENCE
    while True:
        pid, _, who = FILE.read_text().partition("\n")
        found = sorted(holders() - own)
        if pid in map(str, found) or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    begin, left = "another run of tests is there, so this one did nothing", " ".join(map(str, found))
    if pid in left.split() or not left:
        return f"{begin}: {who}. Wait for its end, or end it, which removes its labs: kill {pid}"
    return (
        f"{begin}: {who}, was killed, and commands of it go on with its labs: {left}. Wait for their end, or end them, "
        f"which removes these labs: kill -INT {left}"
    )


def holders() -> set[int]:
    """Return the processes that hold the lock with an open file, as far as this user may see it."""
    found, place = set(), str(FILE.resolve())
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            if os.readlink(link) == place and "FLOCK" in link.parents[1].joinpath("fdinfo", link.name).read_text():
                found.add(int(link.parts[2]))
    return found


def main(arguments: Sequence[str]) -> int:
    """Take the lock with the open file that is standard input, for PID COMMAND; without them only look; 2: refused."""
    try:
        take(0, int(arguments[0]), arguments[1]) if arguments else look()
    except BusyError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
