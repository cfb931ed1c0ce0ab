"""A run of the campaign: commands that end with it, labs that are removed, what is seen kept in docs/."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from derive import settle
from faults.inventory import ROOT
from survival.stretched import ENVIRONMENT, copy_inventory, prepared_image

LAB = ("198.18.77", "198.18.78")
"""The networks of the labs that parts make here, one at a time."""
SEEN = "docs/seen"


class PartError(Exception):
    """A command of a part that failed; its output was printed."""


@dataclass(frozen=True)
class Campaign:
    """One run."""

    seed: int
    lock: int
    """The open file of checkout_lock: commands keep it, that go on when this process is killed."""

    def run(self, *command: str) -> None:
        """Run one command, its output shown; it ends with this process, in its own time. Raises PartError."""
        say(f"$ {' '.join(command)}")
        environment = {**ENVIRONMENT, "MILLRACE_TESTS_LOCK": str(self.lock)}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, process_group=0, pass_fds=(self.lock,)
        )
        try:
            process.wait()
        finally:
            end(process)
        if process.returncode:
            raise PartError(" ".join(command))

    def survival(self, layouts: str, *options: str, tests: tuple[str, ...] = ("",)) -> None:
        """Run tests of tests/survival on some layouts side by side, two at a time, and keep what was seen."""
        chance = ("--survival-seed", str(self.seed), "--survival-layouts", layouts, "--survival-record", SEEN)
        paths = [f"tests/survival/{name}" for name in tests]
        try:
            self.run("pytest", *paths, "-m", "", "-n", "2", *chance, *options)
        finally:
            self.down(*(f"survival_{layout}" for layout in layouts.split(",")))  # of tests that were interrupted
            self.run("make", "docs", "PAGES=layouts reliability disaster")  # those that show what was seen

    def down(self, *labs: str) -> None:
        """Remove what stands of labs below .lab."""
        self.run("python", "lab/down.py", *(f".lab/{lab}" for lab in labs))

    @contextmanager
    def lab(
        self, name: str, *options: str, before: Sequence[str] = (), source: str = "lab", **variables: object
    ) -> Iterator[str]:
        """Make the datacenter of inventories/lab, or of another, on networks of its own, and remove it in the end.

        With more variables, and with `options` of its making. `before` is a playbook, with its options, between its
        making and site.yml.
        """
        with TemporaryDirectory() as folder:
            copy = Path(folder) / name
            # One lab directory for all: its networks are held by this process, and the next part would be in the way.
            copy_inventory(ROOT / "inventories" / source, copy, "campaign", LAB, variables)
            copy = settle(copy, os.getpid()).inventory
            self.play(copy, "lab/destroy.yml")  # left behind by a run that was killed
            try:
                self.play(copy, "lab/create.yml", *options)
                if before:
                    self.play(copy, *before)
                self.play(copy, "playbooks/site.yml")
                yield str(copy)
            finally:
                self.play(copy, "lab/destroy.yml")

    def play(self, inventory: Path | str, playbook: str, *options: str) -> None:
        """Run a playbook."""
        self.run("ansible-playbook", "-i", str(inventory), playbook, *options)


_deaf = Event()


def say(*lines: str) -> bool:
    """Print, and tell whether anybody reads it.

    From when nobody does (a terminal that was closed, a tee that died) commands are silent as well: those that remove
    labs must not fail of it.
    """
    try:
        print(*lines, sep="\n", flush=True)
    except OSError:
        _deaf.set()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):
            os.dup2(nowhere, number)
    return not _deaf.is_set()


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs as Ctrl-C does, so that tests remove their labs; after five minutes for good."""
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(300)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def prepared() -> tuple[str, str]:
    """Return the options for a lab that has everything installed from the start."""
    return "-e", f"lab_image={prepared_image('kafka', 'zookeeper', 'spark')}"
