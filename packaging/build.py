#!/usr/bin/env python3
"""Assemble the archives that the roles install: Kafka, ZooKeeper and what a Spark job needs.

The jars come from a Maven repository, the wheels from a Python package index; both clients use the machine's
own configuration. Needs Python 3.11 with pip, Maven and a JDK, nothing of the project's own environment.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from archives import EPOCH, SHOWN, BuildError, Entry, check_jars, sha256_of, tree_entries, write_tar
from products import (
    PYTHONS,
    TARGETS,
    TREES,
    Product,
    is_current,
    job_sources,
    key,
    product,
    publish,
    requirements,
    staging,
)

ROOT = Path(__file__).resolve().parent.parent
BUILT_FROM_SOURCE = {"pyspark"}  # no wheel is published
# A jar is compressed already; not trying again takes 12 s of 28 off pyspark.
STORED = ' --config-settings="--build-option=--compression=stored"'
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


# Java: Maven resolves, the pinned checksums decide


def maven_problems(log: str) -> dict[str, str]:
    """Return {module: message} from Maven's log, naming the coordinates that it could not get."""
    found: dict[str, str] = {}
    for module, text in re.findall(r"on project ([\w-]+): (.*)", log):
        names = set(re.findall(r"[\w.-]+:[\w.-]+:(?:jar|pom):[\w.-]+", text))
        named = sorted(name for name in names if not name.startswith("millrace:"))
        found[module] = (
            f"Maven cannot get {', '.join(named) or excerpt(text)}\n  Does your repository (settings.xml)"
            f" serve the version that packaging/{module}/pom.xml asks for? Ask it alone:\n"
            "  mvn dependency:get -Dtransitive=false -Dartifact=GROUP:ARTIFACT:VERSION"
        )
    return found


def resolve(targets: Sequence[str], root: Path, stage: Path) -> dict[str, str]:
    """Copy the jars of the targets to stage/<target>/dependency; return {target: what is wrong with it}.

    One Maven for all: it starts once and resolves the lists side by side (10 s cold, 1.5 s warm).
    """
    if not shutil.which("mvn"):
        return dict.fromkeys(targets, "mvn was not found: apt-get install maven openjdk-17-jdk-headless")
    command = ["mvn", "-B", "-q", "-ntp", "-U", "-fae", "-T", "3", "-Dmaven.artifact.threads=16"]
    command += ["-f", str(root / "packaging" / "pom.xml"), "-pl", ",".join(targets), f"-Dstage={stage}"]
    command += ["dependency:copy-dependencies"]
    status, log = run(command)
    if status == 0:
        return {}
    return maven_problems(log) or dict.fromkeys(targets, f"Maven failed:{excerpt(log)}")


def build_tree(item: Product, root: Path, jars: Sequence[Path], made_from: str) -> None:
    """Check the jars and write one Java archive."""
    tree, folder = TREES[item.target], root / "packaging" / item.target
    check_jars(jars, folder / "libs.sha256")
    entries = tree_entries(tree, item.file.name.removesuffix(tree.suffix), folder, jars)
    publish(item, made_from, lambda path: write_tar(path, entries, compress=True))


def pin_jars(item: Product, root: Path, jars: Sequence[Path]) -> str:
    """Write the checksums of the jars as the pinned ones; return the product's new key."""
    sums = "".join(f"{sha}  {jar}\n" for jar, sha in sha256_of(jars).items())
    (root / "packaging" / item.target / "libs.sha256").write_text(sums, encoding="utf-8")
    return key(item, root)


def build_trees(items: Sequence[Product], root: Path, update: bool) -> list[str]:
    """Build the Java archives; return what went wrong with any of them."""
    keys = {item.target: key(item, root) for item in items}
    with staging(items[0].file.parent) as stage:
        names = [item.target for item in items]
        with step("maven", f"resolved {', '.join(names)}"):
            problems = resolve(names, root, stage)
        for item in items:
            jars = sorted((stage / item.target / "dependency").glob("*.jar"))
            if item.target in problems:
                continue
            try:
                with step(item.target, f"checked {len(jars)} jars, wrote {item.file.name}"):
                    made_from = pin_jars(item, root, jars) if update else keys[item.target]
                    build_tree(item, root, jars, made_from)
            except BuildError as error:
                problems[item.target] = str(error)
    return [f"{target}: {text}" for target, text in problems.items()]


# Python: pip downloads and builds, the hashes of the lock file decide


def pip_command() -> tuple[list[str], tuple[int, int]]:
    """Return how to call pip, and its version: this Python's, or MILLRACE_PYTHON's if this one has none."""
    for python in filter(None, (sys.executable, os.environ.get("MILLRACE_PYTHON"))):
        status, text = run([python, "-m", "pip", "--version"])
        version = re.match(r"pip (\d+)\.(\d+)", text)
        if status == 0 and version:
            return [python, "-m", "pip"], (int(version[1]), int(version[2]))
    raise BuildError(f"{sys.executable} has no pip: apt-get install python3-pip, or name one with pip in MILLRACE_PYTHON")


def pip(command: Sequence[str], *arguments: str, build: Path | None = None) -> None:
    """Run pip; `build` is the list of pinned build tools, where it builds.

    Raises BuildError with pip's own errors.
    """
    environment = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    if build:
        environment |= dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"), build.as_uri())
        environment["SOURCE_DATE_EPOCH"] = str(EPOCH)
    status, log = run([*command, *arguments], environment)
    if status:
        raise BuildError(f"pip {arguments[0]} failed:{excerpt(log)}")


def build_wheelhouse(item: Product, root: Path, pythons: Sequence[str]) -> None:
    """Build or download a wheel for each line of the jobs' lock file, and one for each of the hosts' Pythons where they differ."""
    made_from, (command, version) = key(item, root), pip_command()
    lock = requirements(root / "spark_jobs" / "requirements.lock")
    built = sorted(BUILT_FROM_SOURCE & lock.keys())
    extra = STORED if version >= (23, 1) else ""  # the first pip that takes it here
    with staging(item.file.parent) as stage, ThreadPoolExecutor() as pool:
        sources = "".join(f"{lock[name]}{extra}\n" for name in built)
        (stage / "built.txt").write_text(sources, encoding="utf-8")
        others = "".join(f"{line}\n" for name, line in lock.items() if name not in built)
        (stage / "others.txt").write_text(others, encoding="utf-8")
        common = ["--quiet", "--no-deps", "--require-hashes"]

        def build() -> None:
            with step(item.target, f"built a wheel of {', '.join(built)}"):
                source = ["--wheel-dir", str(stage / "wheels"), "--requirement", str(stage / "built.txt")]
                pip(command, "wheel", *common, *source, build=root / "packaging" / "build-constraints.txt")

        def download() -> None:
            with step(item.target, f"downloaded wheels of {len(lock) - len(built)} packages for Python {', '.join(pythons)}"):
                for python in pythons:
                    binary = ["--only-binary=:all:", "--python-version", python, "--dest", str(stage / "others")]
                    pip(command, "download", *common, *binary, "--requirement", str(stage / "others.txt"))

        for future in [pool.submit(build), pool.submit(download)]:
            future.result()
        wheels = sorted(path for name in ("wheels", "others") for path in (stage / name).glob("*.whl"))
        entries = [Entry(f"{item.file.stem}/{path.name}", path) for path in wheels]
        with step(item.target, f"wrote {item.file.name} with {len(wheels)} wheels"):
            publish(item, made_from, lambda path: write_tar(path, entries, compress=False))


def build_jobs(item: Product, root: Path) -> None:
    """Build the wheel of spark_jobs/ from a copy outside the repository.

    Builders leave files in the source folder and heed .gitignore, which leaves .build/ out.
    """
    made_from, (command, _) = key(item, root), pip_command()
    folder = root / "spark_jobs"
    with tempfile.TemporaryDirectory() as name, step(item.target, f"wrote {item.file.name}"):
        stage = Path(name)
        for path in job_sources(folder):
            copy = stage / "source" / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copy.chmod(0o644)
        source = ["--quiet", "--no-deps", "--no-cache-dir", "--wheel-dir", str(stage), str(stage / "source")]
        pip(command, "wheel", *source, build=root / "packaging" / "build-constraints.txt")
        made = sorted(path.name for path in stage.glob("*.whl"))
        if made != [item.file.name]:
            raise BuildError(f"{folder}/pyproject.toml makes {made}, not {item.file.name}: mend its name")
        publish(item, made_from, lambda path: shutil.move(stage / made[0], path))


# The command line


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Assemble the archives that the roles install.")
    option = parser.add_argument
    option("targets", nargs="*", metavar="TARGET", help=f"what to build: {', '.join(TARGETS)} (all)")
    option("--output", type=Path, metavar="DIR", help="where to (.build/archives of the repository)")
    option("--python-version", action="append", metavar="3.X", help=f"a Python of the hosts, may be repeated ({', '.join(PYTHONS)})")
    option("--update-checksums", action="store_true", help="pin the jars that Maven gives now")
    option("--list", action="store_true", help="print the paths and build nothing")
    options = parser.parse_args(argv)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no such target: {', '.join(unknown)} (there are {', '.join(TARGETS)})")
    for version in options.python_version or ():
        if not re.fullmatch(r"3\.\d+", version):
            parser.error(f"--python-version {version}: wants the form 3.11")
    return options


def attempt(target: str, build: Callable[[], None]) -> list[str]:
    """Run a build; return what went wrong."""
    try:
        build()
    except BuildError as error:
        return [f"{target}: {error}"]
    return []


def build_all(items: Sequence[Product], root: Path, pythons: Sequence[str], update: bool) -> list[str]:
    """Build what is not up to date, side by side; return what went wrong."""
    stale = [item for item in items if (update and item.target in TREES) or not is_current(item, root)]
    for item in items:
        if item not in stale:
            print(f"{item.target:<12} up to date: {item.file}")
    trees = [item for item in stale if item.target in TREES]
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(build_trees, trees, root, update)] if trees else []
        calls: dict[str, Callable[[Product, Path], None]]
        calls = {"wheelhouse": partial(build_wheelhouse, pythons=pythons), "jobs": build_jobs}
        for item in stale:
            if item.target in calls:
                futures.append(pool.submit(attempt, item.target, partial(calls[item.target], item, root)))
        return [problem for future in futures for problem in future.result()]


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Build what the command line asks for; return the exit status."""
    options = arguments(argv)
    output = (options.output or root / ".build" / "archives").resolve()
    pythons = options.python_version or PYTHONS
    items: list[Product] = []
    problems: list[str] = []
    for target in options.targets or TARGETS:
        try:
            items.append(product(target, root, output, pythons))
        except BuildError as error:
            problems.append(f"{target}: {error}")
    if options.list:
        print("".join(f"{item.file}\n" for item in items), end="")
    elif items:
        with only_build(output):
            problems += build_all(items, root, pythons, options.update_checksums)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
