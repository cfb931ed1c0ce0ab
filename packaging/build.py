#!/usr/bin/env python3
"""Assemble the archives that the roles install: Kafka, ZooKeeper and what a Spark job needs.

The jars come from a Maven repository, the wheels from a Python package index; both clients use the machine's
own configuration. Needs Python 3.11 with pip, Maven and a JDK, nothing of the project's own environment.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from jars import build_trees, missing_maven
from products import PYTHONS, TARGETS, TREES, WHEELHOUSES, Product, is_current, product
from steps import only_build
from tarballs import BuildError
from wheels import build_jobs, build_wheelhouse

ROOT = Path(__file__).resolve().parent.parent


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Assemble the archives that the roles install.")
    option = parser.add_argument
    option("targets", nargs="*", metavar="TARGET", help=f"what to build: {', '.join(TARGETS)} (all)")
    option("--output", type=Path, metavar="DIR", help="where to (.build/archives of the repository)")
    option(
        "--python-version",
        action="append",
        metavar="3.X",
        help=f"a Python of the hosts, may be repeated ({', '.join(PYTHONS)})",
    )
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
    missing = missing_maven([item.target for item in trees])
    if missing:  # reported before the minutes that the wheelhouse takes
        trees, stale = [], [item for item in stale if item.target == "jobs"]
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(build_trees, trees, root, update)] if trees else []
        calls: dict[str, Callable[[Product, Path], None]]
        calls = {**dict.fromkeys(WHEELHOUSES, partial(build_wheelhouse, pythons=pythons)), "jobs": build_jobs}
        for item in stale:
            if item.target in calls:
                futures.append(pool.submit(attempt, item.target, partial(calls[item.target], item, root)))
        found = [problem for future in futures for problem in future.result()]
    return [*(f"{target}: {problem}" for target, problem in missing.items()), *found]


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
