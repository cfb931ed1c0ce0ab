"""`make lab`: from a bare machine to a running datacenter whose Spark job has counted the words of real text.

Each step says what it does and how long it took; steps that wait for different things run side by side. Standard
library only: it starts before the project's environment exists.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from derive import Settled, settle, take
from derive import members as members_of
from millrace_lab.records import LabError

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOGS = ROOT / ".build" / "logs"


class StepError(Exception):
    """A step that failed; the text says which and where its output is."""


class Steps:
    """Runs named steps and remembers their times."""

    def __init__(self) -> None:
        """Start the clock."""
        self.started = time.monotonic()
        self.times: list[tuple[str, float]] = []
        self.lock = threading.Lock()

    def run(self, name: str, what: str, *argv: str, shown: bool = False) -> None:
        """Run one command; its output goes to a log, or to the terminal when `shown`. Raises StepError."""
        begin = time.monotonic()
        self.say(f"{name}: {what}")
        LOGS.mkdir(parents=True, exist_ok=True)
        log = LOGS / f"{name}.log"
        with log.open("wb") as stream:
            done = subprocess.run(
                argv,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                env=environment(),
                stdout=None if shown else stream,
                stderr=None if shown else stream,
            )
        seconds = time.monotonic() - begin
        with self.lock:
            self.times.append((name, seconds))
        if done.returncode:
            tail = (
                ""
                if shown
                else "\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]) + f"\nThe whole output: {log}"
            )
            raise StepError(f"{name} failed after {seconds:.1f} s.{tail}")
        self.say(f"{name}: done in {seconds:.1f} s")

    def say(self, text: str) -> None:
        """Print a line with the time since the start."""
        with self.lock:
            print(f"[{time.monotonic() - self.started:6.1f} s] {text}", flush=True)

    def together(self, *steps: Callable[[], None]) -> None:
        """Run steps side by side; wait for all, then raise the first error."""
        with ThreadPoolExecutor(len(steps)) as pool:
            for future in [pool.submit(step) for step in steps]:
                future.result()

    def summary(self) -> str:
        """Return where the time went, longest first."""
        total = time.monotonic() - self.started
        rows = [f"  {name:<10} {seconds:7.1f} s" for name, seconds in sorted(self.times, key=lambda row: -row[1])]
        return "\n".join(
            ["Where the time went (steps of one group ran side by side):", *rows, f"  {'in all':<10} {total:7.1f} s"]
        )


def environment() -> dict[str, str]:
    """Return the environment of every step: the project's own tools first."""
    return {
        **os.environ,
        "PATH": f"{VENV / 'bin'}:{os.environ['PATH']}",
        "CONTAINERS_CONF": str(ROOT / "lab" / "podman.conf"),
        "PYTHON": sys.executable,
    }


def make_venv(steps: Steps) -> None:
    """Make the control node's environment from the lock file, once per content of that file, Python and place.

    Its programs begin with the path of the environment: in a checkout that was renamed they do not start.
    """
    lock = ROOT / "requirements.lock"
    made_by = f"{sys.version} {Path(sys.executable).resolve()} {VENV.resolve()}"
    key = hashlib.sha256(lock.read_bytes() + made_by.encode()).hexdigest()
    stamp = VENV / ".lock.sha256"
    if stamp.exists() and stamp.read_text() == key:
        return
    install = f"'{VENV}/bin/pip' install --quiet --no-compile --require-hashes -r '{lock}'"
    script = f"'{sys.executable}' -m venv --clear '{VENV}'; {install}"
    steps.run("venv", "the control node's Python environment (.venv)", "sh", "-euc", script)
    stamp.write_text(key)


def prepare(steps: Steps) -> None:
    """Packages first, then everything that needs only them, side by side."""
    steps.run("packages", "packages of this machine (lab/packages.txt)", "lab/install-packages.sh")
    steps.together(
        lambda: make_venv(steps),
        lambda: steps.run("archives", "Kafka, ZooKeeper, PySpark and the jobs (.build/archives)", "packaging/build.sh"),
        lambda: steps.run("image", "the lab's image, from this distribution's packages", "lab/image/build.sh"),
    )


def main() -> int:
    """Run the steps that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inventory", default="inventories/lab")
    parser.add_argument("--text", default="/usr/share/common-licenses", help="a file or a folder of text files")
    parser.add_argument("--compare", choices=("words", "orders"), default="words", help="what is compared in the end")
    parser.add_argument("--only-prepare", action="store_true", help="install and build, start nothing")
    arguments = parser.parse_args()
    steps, inventory = Steps(), arguments.inventory
    try:
        found = members(inventory)
        if arguments.only_prepare:
            prepare(steps)
            print(steps.summary())
            return 0
        if arguments.compare == "words" and not any(map(os.path.isfile, files(Path(arguments.text)))):
            raise LabError(f"TEXT={arguments.text}: no such file, and no folder with a file in it: nothing to count")
        for member in found:
            take(ROOT / member)
        prepare(steps)
        labs = [settle(ROOT / member, os.getpid()) for member in found]
        for lab in labs:
            member = shown(lab.inventory)
            steps.say(f"networks: {' and '.join(lab.networks.values())}, inventory {member}")
            steps.run(
                "create", f"containers and networks of {member}", "ansible-playbook", "-i", member, "lab/create.yml"
            )
            if others := [each.networks["client"] for each in labs if each is not lab]:
                # The clusters of a family trust each other's CAs, and reach each other.
                joining = ("-e", json.dumps({"others": others}), "lab/authorities.yml", "lab/joined.yml")
                steps.run("family", f"CAs and routes of {member}", "ansible-playbook", "-i", member, *joining)
        for lab in labs:
            member = shown(lab.inventory)
            steps.run("site", "the datacenter", "ansible-playbook", "-i", member, "playbooks/site.yml", shown=True)
            name, what, program, *more = {
                "words": ("count", "publish text, count words, compare", "wordcount.py", "--text", arguments.text),
                "orders": ("orders", "the read model of orders against its topic", "orders.py"),
            }[arguments.compare]
            steps.run(name, what, "python", f"lab/{program}", "--lab", shown(lab.directory), *more, shown=True)
    except (LabError, StepError) as error:
        print(f"\nmake lab: {error}", file=sys.stderr)
        return 1
    print(f"\n{steps.summary()}\n\n{further(labs[0], inventory, arguments.compare)}")
    return 0


def members(inventory: str) -> list[str]:
    """Return the inventory itself, or those of a family (inventories/lab_mirrored), one directory for each cluster."""
    return [shown(member) for member in members_of(Path(os.path.normpath(ROOT / inventory)))]


def files(text: Path) -> Iterator[Path]:
    """Yield what is there of a text: itself, or all that is in a folder."""
    yield text
    for folder, _, names in os.walk(text):
        yield from (Path(folder, name) for name in names)


def shown(path: Path) -> str:
    """Return a path as it is typed in the checkout."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def further(made: Settled, asked: str, compared: str) -> str:
    """Return how to look further."""
    inventory, lab = shown(made.inventory), shown(made.directory)
    name = shown(ROOT / asked).removeprefix("inventories/")
    which = "" if name == "lab" else f" i={name}"
    looks = {
        "words": f"""kcat -F {lab}/kcat.conf -C -t streams-wordcount-output -e -K ' ' counts as they grew""",
        "orders": f"""python lab/orders.py --lab {lab}                    compare again, with what came since
  ssh -F {lab}/ssh_config dc1-db1 runuser -u postgres -- psql orders   the read model: view orders""",
    }[compared]
    again = f"""
  make lab{which} TEXT=/path/to/text                                   count your own text as well"""
    return f"""How to look further:
  . .venv/bin/activate
  ansible-playbook -i {inventory} playbooks/check.yml                     the cluster's health
  ansible-playbook -i {inventory} playbooks/check.yml -e page=site.html   the same as a page for browsers
  kcat -F {lab}/kcat.conf -L                                     brokers, topics, partitions
  {looks}
  ssh -F {lab}/ssh_config <host>                                 \
a host of the inventory; kafka-topics.sh and the other tools are on PATH{again if compared == "words" else ""}
  make lab-down{which}                                                 remove everything"""


if __name__ == "__main__":
    sys.exit(main())
