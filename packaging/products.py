"""What there is to make, what it is made from, and whether it is there already."""

from __future__ import annotations

import hashlib
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tarballs import BuildError, Tree, read

TREES = {
    "kafka": Tree("kafka_2.13-{}", ".tgz", "libs", "kafka-run-class.sh"),
    "zookeeper": Tree("apache-zookeeper-{}-bin", ".tar.gz", "lib", "zk-run-class.sh"),
    "spark-jars": Tree("spark-jars-{}", ".tgz", ""),
    "jmx-exporter": Tree("jmx-exporter-{}", ".tgz", ""),
}
# By target, the lock file of a wheelhouse below the repository, the wheel whose version names it, and its name.
WHEELHOUSES = {
    "wheelhouse": ("spark_jobs/requirements.lock", "pyspark", "spark-wheelhouse-{}.tar"),
    "exporter": ("packaging/exporter/requirements.lock", "confluent-kafka", "exporter-wheelhouse-{}.tar"),
}
TARGETS = (*TREES, *WHEELHOUSES, "jobs")
# Of hosts: Ubuntu 22.04, Debian 12, Ubuntu 24.04, Debian 13, and the next. One wheelhouse fits them all: PySpark is
# no binary.
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
# What builds them: a change of any builds all anew.
PROGRAMS = ("build.py", "jars.py", "products.py", "steps.py", "tarballs.py", "wheels.py")


@dataclass(frozen=True)
class Product:
    """One file to make. Its key changes with any input and with `extra`."""

    target: str
    file: Path
    inputs: tuple[Path, ...]
    extra: str = ""


def version_in_pom(pom: Path, prop: str) -> str:
    """Return the property that names the archive."""
    found = re.search(rf"<{re.escape(prop)}>([^<]+)</", read(pom))
    if not found:
        raise BuildError(f"{pom}: no <{prop}> in <properties>, and it names the archive")
    return found[1].strip()


def requirements(lock: Path) -> dict[str, str]:
    """Return {name: its whole logical line, hashes and all} of a pip lock file."""
    found = {}
    for line in read(lock).replace("\\\n", " ").splitlines():
        name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line)
        if name:
            found[re.sub(r"[-_.]+", "-", name[0]).lower()] = " ".join(line.split(" #")[0].split())
    return found


def job_sources(folder: Path) -> tuple[Path, ...]:
    """Return the files that the jobs' wheel is built from: no tests, caches or leftovers of other builds."""
    skip = re.compile(r"(tests|build|dist|__pycache__|.*\.egg-info|\..*|requirements\..*)")
    files = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return tuple(folder / path for path in files if not any(skip.fullmatch(part) for part in path.parts))


def product(target: str, root: Path, output: Path, pythons: Sequence[str] = PYTHONS) -> Product:
    """Describe one target's file from the texts in the repository alone; `pythons` are those that hosts may have."""
    packaging, jobs = root / "packaging", root / "spark_jobs"
    if target in TREES:
        tree, folder = TREES[target], packaging / target
        version = version_in_pom(folder / "pom.xml", target.removesuffix("-jars") + ".version")
        inputs = (packaging / "pom.xml", *(path for path in sorted(folder.rglob("*")) if path.is_file()))
        return Product(target, output / (tree.top.format(version) + tree.suffix), inputs)
    constraints = packaging / "build-constraints.txt"
    if target in WHEELHOUSES:
        path, wheel, name = WHEELHOUSES[target]
        lock = root / path
        found = re.match(rf"{wheel}==([^\s;]+)", requirements(lock).get(wheel, ""))
        if not found:
            raise BuildError(f"{lock}: no {wheel}==VERSION, and it names the wheelhouse")
        return Product(target, output / name.format(found[1]), (lock, constraints), " ".join(pythons))
    version = tomllib.loads(read(jobs / "pyproject.toml")).get("project", {}).get("version")
    if not version:
        raise BuildError(f"{jobs / 'pyproject.toml'}: no version in [project], and it names the wheel")
    return Product(target, output / f"millrace_jobs-{version}-py3-none-any.whl", (*job_sources(jobs), constraints))


def key(item: Product, root: Path) -> str:
    """Return a digest of everything that the product depends on, the programs that build it included."""
    digest = hashlib.sha256(item.extra.encode())
    for path in (
        *(Path(__file__).with_name(name) for name in PROGRAMS),
        *item.inputs,
    ):
        name = path.relative_to(root) if path.is_relative_to(root) else path.name
        digest.update(f"\0{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}".encode())
    return digest.hexdigest()


def beside(file: Path, kind: str) -> Path:
    """Return the path of `kind` (sha512, key) beside a product."""
    return file.with_name(f"{file.name}.{kind}")


def stamp(item: Product, made_from: str) -> str:
    """Return the text of the key file; the size finds a product cut short."""
    return f"{made_from} {item.file.stat().st_size}\n"


def is_current(item: Product, root: Path) -> bool:
    """Whether the product, its checksum and the key of the present inputs are all there."""
    there = all(path.is_file() for path in (item.file, beside(item.file, "sha512"), beside(item.file, "key")))
    return there and read(beside(item.file, "key")) == stamp(item, key(item, root))


@contextmanager
def staging(output: Path) -> Iterator[Path]:
    """Give a folder beside the products, so that moving out of it is a rename; it is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=output, prefix=".stage-") as folder:
        yield Path(folder)


def publish(item: Product, made_from: str, write: Callable[[Path], object]) -> None:
    """Let `write` make the file elsewhere, then put it in place whole: file, checksum and, last, key.

    `made_from` is the key from before the inputs were read, so that an edit during the build is not lost.
    """
    with staging(item.file.parent) as stage:
        made, note = stage / item.file.name, stage / "note"
        write(made)
        made.chmod(0o644)
        with made.open("rb") as content:
            digest = hashlib.file_digest(content, "sha512").hexdigest()
        beside(item.file, "key").unlink(missing_ok=True)
        made.replace(item.file)
        for kind, text in (("sha512", f"{digest}  {item.file.name}\n"), ("key", stamp(item, made_from))):
            note.write_text(text, encoding="utf-8")
            note.replace(beside(item.file, kind))
