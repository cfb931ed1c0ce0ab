"""The wheels: pip downloads and builds, the hashes of the lock file decide."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from products import Product, job_sources, key, publish, requirements, staging
from steps import excerpt, run, step
from tarballs import EPOCH, BuildError, Entry, write_tar

BUILT_FROM_SOURCE = {"pyspark"}  # no wheel is published
# A jar is compressed already; not trying again takes 12 s of 28 off pyspark.
STORED = ' --config-settings="--build-option=--compression=stored"'


def pip_command() -> tuple[list[str], tuple[int, int]]:
    """Return how to call pip, and its version: this Python's, or MILLRACE_PYTHON's if this one has none."""
    for python in filter(None, (sys.executable, os.environ.get("MILLRACE_PYTHON"))):
        status, text = run([python, "-m", "pip", "--version"])
        version = re.match(r"pip (\d+)\.(\d+)", text)
        if status == 0 and version:
            return [python, "-m", "pip"], (int(version[1]), int(version[2]))
    raise BuildError(
        f"{sys.executable} has no pip: apt-get install python3-pip, or name one with pip in MILLRACE_PYTHON"
    )


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
    """Build or download a wheel for each line of the lock file, and for each Python of hosts if they differ."""
    made_from, (command, version) = key(item, root), pip_command()
    lock = requirements(item.inputs[0])
    built = sorted(BUILT_FROM_SOURCE & lock.keys())
    extra = STORED if version >= (23, 1) else ""  # the first pip that takes it here
    with staging(item.file.parent) as stage, ThreadPoolExecutor() as pool:
        sources = "".join(f"{lock[name]}{extra}\n" for name in built)
        (stage / "built.txt").write_text(sources, encoding="utf-8")
        others = "".join(f"{line}\n" for name, line in lock.items() if name not in built)
        (stage / "others.txt").write_text(others, encoding="utf-8")
        common = ["--quiet", "--no-deps", "--require-hashes"]

        def build() -> None:
            if not built:
                return
            with step(item.target, f"built a wheel of {', '.join(built)}"):
                source = ["--wheel-dir", str(stage / "wheels"), "--requirement", str(stage / "built.txt")]
                pip(command, "wheel", *common, *source, build=root / "packaging" / "build-constraints.txt")

        def download() -> None:
            with step(
                item.target, f"downloaded wheels of {len(lock) - len(built)} packages for Python {', '.join(pythons)}"
            ):
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
