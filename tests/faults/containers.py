"""The containers that are the lab's hosts."""

import os
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from .inventory import ROOT

DYING = 60.0
"""Seconds in which a container ends whose processes were killed: one that waits for a disk dies when it answers."""


def podman(*arguments: str) -> list[str]:
    """Run podman as the lab does; return its lines."""
    environment = {**os.environ, "CONTAINERS_CONF": str(ROOT / "lab" / "podman.conf")}
    done = subprocess.run(["podman", *arguments], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def restart(containers: Sequence[str]) -> list[str]:
    """Restart them all at once: one podman after the other would be a rolling restart.

    podman gives up on one whose processes are not gone 5 s after signal 9, as behind a slow disk, and leaves it
    stopped: it is started then. Returns what podman said of those.
    """

    def once(container: str) -> str:
        try:
            podman("restart", container)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            start(container)
            return f"{container}: {str(error).strip().rpartition(chr(10))[2]}"
        return ""

    with ThreadPoolExecutor(len(containers)) as pool:
        return [said for said in pool.map(once, containers) if said]


def start(container: str) -> None:
    """Start one that is not running, as soon as podman takes it: while its processes die, it does not."""
    pause, deadline = Event(), time.monotonic() + DYING
    while True:
        try:
            podman("start", container)
            return
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            pause.wait(0.5)
