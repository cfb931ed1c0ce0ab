"""What the parts of a build share: one at a time, its steps with their times, and the programs that it runs."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tarballs import SHOWN, BuildError

TIMEOUT = 1800  # seconds for one run of Maven or pip


@contextmanager
def only_build(output: Path) -> Iterator[None]:
    """Let one build at a time into a folder, and clear away what a killed one left."""
    output.mkdir(parents=True, exist_ok=True)
    with (output / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another build in {output}", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in output.glob(".stage-*"):
            shutil.rmtree(left)
        yield


@contextmanager
def step(target: str, what: str) -> Iterator[None]:
    """Print what was done and how long it took, once it is done."""
    start = time.monotonic()
    yield
    sys.stdout.write(f"{target:<12} {what} ({time.monotonic() - start:.1f} s)\n")
    sys.stdout.flush()


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run a program; return its exit status and all that it said."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{command[0]} was ended after {TIMEOUT} s: is its repository reachable?") from error
    return done.returncode, done.stdout


def excerpt(log: str) -> str:
    """Return the lines of a log worth showing, without the addresses of repositories."""
    lines = [re.sub(r"\S+://\S+", "(address)", line) for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line or "error:" in line]
    return "\n  ".join(["", *(errors or lines)[-SHOWN:]])
