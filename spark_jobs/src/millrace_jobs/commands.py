"""Writes commands for messages, complete, so that they can be pasted into a shell of root on the job's host."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = "millrace-jobs"


@dataclass(frozen=True)
class Started:
    """How this process was started: program, job, configuration file, and systemd unit."""

    program: str = _PROGRAM
    job: str = ""
    file: str = "FILE"
    unit: str = ""


_STARTED = [Started()]


@contextmanager
def started(job: str, file: Path) -> Iterator[None]:
    """Context manager: messages of the block contain the job's name, its configuration file and this program."""
    program = os.path.abspath(sys.argv[0]) if os.path.basename(sys.argv[0]) == _PROGRAM else _PROGRAM
    unit = unit_of(file.stem, _text("/proc/self/cgroup"))
    _STARTED.append(Started(program, job, os.path.abspath(file), unit))
    try:
        yield
    finally:
        _STARTED.pop()


def reposition(job: str, options: str) -> str:
    """Return the commands that stop a job, move it to other offsets and start it; `options` are those of the move.

    If the process does not run in a systemd unit of the job, the job has to be stopped in another way, and the text
    begins with this. `job` is the job's name if the process was not started by the command line.
    """
    process = _STARTED[-1]
    words = [process.program, "reposition", process.job or job, "--config", process.file]
    command = f"{' '.join(map(shlex.quote, words))} {options}"
    if not process.unit:
        return f"stop the job, {command}"
    unit = shlex.quote(process.unit)
    return f"systemctl stop {unit} && {command} && systemctl start {unit}"


def unit_of(instance: str, groups: str) -> str:
    """Return the systemd unit of the process whose /proc/PID/cgroup is `groups`; "" if it is no unit of this instance.

    `instance` is the part of the name after @, as count_words of spark-job@count_words.service.
    """
    found = re.search(rf"/([\w.\\-]+@{re.escape(instance)}\.service)(?:/|$)", groups, re.MULTILINE)
    return found.group(1) if found else ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
