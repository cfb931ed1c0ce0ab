"""Asks the wheel of the Spark jobs, in a process of its own, what is wrong with configurations and what the jobs use.

The wheel may be a site's own, with jobs that this project does not know. It needs no PySpark for these answers.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

# Modules of jobs are imported one by one, since one that fails would end the import of all. Then the wheel finds the
# other modules. What modules print goes to stderr.
QUESTION = """
import contextlib, importlib, json, pkgutil, sys, traceback

answer, sys.stdout = sys.stdout, sys.stderr
broken, found = {}, pkgutil.iter_modules


def describe(error, file):
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    text = traceback.format_exception_only(error)[-1].strip()
    return {"error": text, "line": lines[-1] if lines else None, "missing": missing}


with contextlib.suppress(ImportError):  # another wheel: reported below
    package = importlib.import_module("millrace_jobs.jobs")
    for module in list(found(package.__path__)):
        try:
            importlib.import_module(f"millrace_jobs.jobs.{module.name}").JOB
        except BaseException as error:
            broken[module.name] = describe(error, f"{package.__path__[0]}/{module.name}.py")
pkgutil.iter_modules = lambda *given: [module for module in found(*given) if module.name not in broken]
from millrace_jobs.config import JOBS, problems
from millrace_jobs.uses import uses

answers = []
for item in json.load(sys.stdin):
    try:
        answers.append([problems(*item), uses(*item)])
    except Exception as error:
        file = f"{package.__path__[0]}/{item[0]}.py"
        answers.append([[], None])
        broken[item[0]] = describe(error, file)
json.dump([sorted({*JOBS, *broken}), answers, broken], answer)
"""


@dataclass(frozen=True)
class Uses:
    """The topics and directories of a job with its configuration, as the module millrace_jobs.uses lists them.

    Each dict is {topic or directory: configuration key}. A topic without a value in the configuration is the job's
    default topic.
    """

    reads: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    dead_letters: Mapping[str, str] = field(default_factory=dict)
    input_directories: Mapping[str, str] = field(default_factory=dict)
    output_directories: Mapping[str, str] = field(default_factory=dict)
    spark: bool = True
    """False for a job without Spark, which reads topics without a consumer group."""
    archive: bool = False
    """True if output directories store the job's progress by topic, so that jobs of other topics may share them."""
    state: bool = False
    """True if tasks of the job store state in its checkpoint."""
    known: bool = True
    """False if the wheel has no such job, or could not be asked."""


UNKNOWN = Uses(known=False)
KEYS = {each.name for each in fields(Uses)}
PATIENCE = 120
"""Seconds to wait for the answers of a wheel."""


@dataclass(frozen=True)
class Broken:
    """Why a module of a job cannot be asked."""

    error: str
    """The type of the exception and its text."""
    line: int | None = None
    """The line of the module that raised it, if known."""
    missing: str | None = None
    """The package that the module imports and the control node does not have."""


@dataclass(frozen=True)
class Answers:
    """The answers of a wheel to a list of configurations."""

    jobs: Sequence[str] = ()
    """The names of all jobs in the wheel, also of those in `broken`."""
    problems: Sequence[Sequence[str]] = ()
    """For each configuration its problems, each as `KEY: what is wrong; what to do`."""
    uses: Sequence[Uses] = ()
    """For each configuration the topics and directories that its job uses."""
    broken: Mapping[str, Broken] = field(default_factory=dict)
    """{job: why its module cannot be imported, or cannot check a configuration}."""
    error: str = ""
    """Why the wheel could not be asked; "" if it answered."""


# Folders and files of the sources that are not in a wheel (packaging/products.py).
LEFT_OUT = re.compile(r"__pycache__|.*\.pyc|.*\.egg-info|\..*")


def changed_sources(wheel: str) -> list[str]:
    """Return the files of spark_jobs/ that differ from a wheel which this checkout built, as src/millrace_jobs/io.py.

    Return [] for another wheel. A wheel that a checkout built is in its folder .build, beside spark_jobs.
    """
    path = Path(os.path.abspath(wheel))  # keeps links: .build may be one
    build = next((parent for parent in path.parents if parent.name == ".build"), None)
    folder = build and build.parent / "spark_jobs" / "src"
    if folder is None or not (folder / "millrace_jobs").is_dir():
        return []
    try:
        with zipfile.ZipFile(path) as archive:
            built = {name: archive.read(name) for name in archive.namelist() if name.startswith("millrace_jobs/")}
    except (OSError, zipfile.BadZipFile):
        return []  # reported when the wheel is asked
    files = [file for file in (folder / "millrace_jobs").rglob("*") if file.is_file()]
    sources = {str(file.relative_to(folder)): file for file in files}
    sources = {name: file for name, file in sources.items() if not any(map(LEFT_OUT.fullmatch, name.split("/")))}
    changed = [name for name, file in sources.items() if file.read_bytes() != built.get(name)]
    return sorted(f"src/{name}" for name in {*changed, *(built.keys() - sources.keys())})


def ask(wheel: str, configured: Sequence[tuple[str, Mapping[Any, Any]]]) -> Answers:
    """Return the answers of a wheel, which exists, to pairs (job, configuration).

    Values that cannot be written as JSON, such as dates, are passed as text.
    """
    asked = json.dumps(configured, default=str, skipkeys=True)
    answers = _answers(wheel, Path(wheel).stat().st_mtime_ns, asked)
    return answers if not answers.error else Answers(uses=[UNKNOWN] * len(configured), error=answers.error)


@cache
def _answers(wheel: str, modified: int, asked: str) -> Answers:
    """Run the wheel; `modified` is the time of its last change in ns: a changed wheel is run again."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", QUESTION], input=asked, capture_output=True, text=True, timeout=PATIENCE,
            env={"PYTHONPATH": wheel, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Answers(error=f"it did not answer within {PATIENCE} s")
    if done.returncode != 0:
        return Answers(error=(done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    try:
        jobs, answers, broken = json.loads(done.stdout)
        used = [Uses(**{key: uses[key] for key in uses.keys() & KEYS}) if uses else UNKNOWN for _, uses in answers]
        failures = {job: Broken(**failure) for job, failure in broken.items()}
        return Answers(jobs, [lines for lines, _ in answers], used, failures)
    except (ValueError, TypeError, AttributeError):
        return Answers(error=f"it printed {done.stdout[:80]!r}")
