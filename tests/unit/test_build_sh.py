"""packaging/build.sh: one environment for each Python, made once, whoever asks at the same time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from unit.packaged import PACKAGING, make_jar, pin, put

# A Python whose environments are made slowly, and note it; all else is done by the one that runs the tests.
PYTHON = f"""#!/bin/sh
case "$*" in
  "-c "*) echo "$VERSION $0" ;;
  "-m venv --clear "*)
    echo "made by $VERSION" >>"$NOTES"
    rm -rf "$4" && mkdir -p "$4/bin" && sleep 1 && cp "$0" "$4/bin/python" && cp "$0" "$4/bin/pip" ;;
  "-m pip "* | "install "*) echo "pip of $VERSION" >>"$NOTES"; [ -z "$FAILS" ] ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
MAVEN = """#!/bin/sh
echo maven >>"$NOTES"
until [ -e "$MAVEN_UNTIL" ]; do sleep 0.1; done
for a; do case $a in -Dstage=*) d=${a#*=}/kafka/dependency ;; esac; done
mkdir -p "$d" && cp "$(dirname "$0")"/*.jar "$d"
"""


class Checkout:
    """A copy of packaging/ whose Python and Maven are pretended."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.notes, self.go = folder, folder / "notes", folder / "go"
        shutil.copytree(PACKAGING, folder / "packaging", ignore=shutil.ignore_patterns("__pycache__"))
        kafka = folder / "packaging" / "kafka"
        put(kafka / "launchers.tsv", "kafka-topics.sh\ttool\ttools.Topics\n")
        pin(kafka / "libs.sha256", make_jar(folder / "bin" / "one.jar", "tools/Topics.class"))
        put(folder / "spark_jobs" / "pyproject.toml", '[project]\nname = "millrace-jobs"\nversion = "0.4"\n')
        for name in ("python3", "python3.13"):
            put(folder / "bin" / name, PYTHON, 0o755)
        put(folder / "bin" / "mvn", MAVEN, 0o755)
        self.notes.touch()

    def begin(
        self, *targets: str, python: str = "python3", version: str = "3.11.2", **more: str
    ) -> subprocess.Popen[str]:
        """Start it; with MAVEN_UNTIL its Maven ends when this file is there."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        said = {"PATH": path, "NOTES": str(self.notes), "VERSION": version, "FAILS": "", "MAVEN_UNTIL": "/"}
        return subprocess.Popen(
            [self.folder / "packaging" / "build.sh", *targets],
            env={**os.environ, **said, "PYTHON": python, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def made(self) -> list[str]:
        """Return who made environments."""
        return [line for line in self.notes.read_text().splitlines() if line.startswith("made")]

    def until_noted(self, line: str) -> None:
        deadline = time.monotonic() + 120
        while line not in self.notes.read_text().splitlines():
            assert time.monotonic() < deadline, self.notes.read_text()
            time.sleep(0.05)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def end(process: subprocess.Popen[str]) -> str:
    """Return what it said."""
    return process.communicate(timeout=120)[0]


def first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line that it says."""
    assert process.stdout
    return process.stdout.readline()


def test_two_at_once_make_one_environment(checkout: Checkout) -> None:
    both = [checkout.begin("--list", "jobs") for _ in range(2)]
    said = [end(process) for process in both]
    listed = f"{checkout.folder}/.build/archives/millrace_jobs-0.4-py3-none-any.whl\n"
    assert sorted(said, key=len) == [listed, f"waiting for another build in {checkout.folder}/.build\n{listed}"]
    assert [process.returncode for process in both] == [0, 0] and checkout.made() == ["made by 3.11.2"]


def test_another_python_gets_its_own_environment(checkout: Checkout) -> None:
    for version, python in (
        ("3.11.2", "python3"),
        ("3.11.2", "python3"),
        ("3.13.5", "python3"),
        ("3.13.5", "python3.13"),
    ):
        end(checkout.begin("--list", "jobs", version=version, python=python))
    assert checkout.made() == ["made by 3.11.2", "made by 3.13.5", "made by 3.13.5"]


def test_an_environment_in_use_is_not_made_anew_under_a_build(checkout: Checkout) -> None:
    building = checkout.begin("kafka", MAVEN_UNTIL=str(checkout.go))
    checkout.until_noted("maven")
    other = checkout.begin("--list", "jobs", version="3.13.5")
    listing = checkout.begin("--list", "jobs")
    assert "waiting" not in end(listing) and building.poll() is None, "one that changes nothing need not wait"
    assert first_line(other).startswith("waiting for another build in ")
    assert checkout.made() == ["made by 3.11.2"]
    checkout.go.touch()
    end(other)
    assert checkout.made() == ["made by 3.11.2", "made by 3.13.5"]
    end(building)


def test_a_second_build_finds_what_the_first_has_built(checkout: Checkout) -> None:
    first = checkout.begin("kafka", MAVEN_UNTIL=str(checkout.go))
    checkout.until_noted("maven")
    second = checkout.begin("kafka")
    assert first_line(second) == f"waiting for another build in {checkout.folder}/.build/archives\n"
    checkout.go.touch()
    assert "up to date" in end(second) and checkout.notes.read_text().count("maven") == 1
    end(first)
    assert first.returncode == 0


def test_an_environment_half_made_is_made_again(checkout: Checkout) -> None:
    end(checkout.begin("--list", "jobs", FAILS="yes"))
    assert end(checkout.begin("--list", "jobs")).endswith(".whl\n")
    assert len(checkout.made()) == 2


def test_a_killed_build_leaves_no_lock(checkout: Checkout) -> None:
    """Maven, which outlives it, does not hold the lock."""
    killed = checkout.begin("kafka", MAVEN_UNTIL=str(checkout.go))
    checkout.until_noted("maven")
    killed.send_signal(signal.SIGKILL)
    killed.wait(60)
    said = end(checkout.begin("--list", "jobs", version="3.13.5"))
    checkout.go.touch()
    assert "waiting" not in said and said.endswith(".whl\n")
