"""Rules on what stands on a host: directories, heaps, versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from ..problems import Problem
from .base import Model

UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# Above this the JVM has no compressed pointers, and a larger heap holds less.
COMPRESSED = 32 * 2**30
FIRST_KAFKA = (3, 9, 2)
KAFKA_REASON = "a client of it can put a record into another topic and report success (CVE-2026-35554)"
ZOOKEEPER_REASON = "it can lose acknowledged transactions (ZOOKEEPER-4785 before 3.8.5, ZOOKEEPER-4925 in 3.9.3) or has open CVEs (before 3.8.6)"


def size(value: Any) -> int | None:
    """Return bytes of a size as Java and people write it (512m, 6g, 64G); None for what is none."""
    found = re.fullmatch(r"(\d+)\s*([kmgt]?)(?:i?b)?", str(value).strip().lower())
    return int(found.group(1)) * UNITS[found.group(2)] if found else None


def log_dirs(model: Model) -> Iterator[Problem]:
    """Log directories are file systems of their own: absolute, named once, not inside one another, not ZooKeeper's."""
    for host in model.kafka:
        paths = [str(path) for path in model.sequence(host, "kafka_log_dirs")]
        if not paths and isinstance(model.hosts[host].get("kafka_log_dirs"), list):
            yield Problem((host,), "kafka_log_dirs", "LOG_DIRS_EMPTY", None, "no log directory", "name at least one mount point")
        for path in sorted({p for p in paths if paths.count(p) > 1}):
            yield Problem((host,), "kafka_log_dirs", "LOG_DIRS_DUPLICATE", path, "named twice", "name each file system once")
        for path in sorted(set(paths)):
            if not path.startswith("/") or path.rstrip("/") == "":
                wrong = "not a directory of its own below /"
                yield Problem((host,), "kafka_log_dirs", "LOG_DIRS_PATH", path, wrong, "name the mount point, as /data/kafka1")
            for other in sorted(set(paths)):
                if PurePosixPath(other) in PurePosixPath(path).parents and other.rstrip("/"):
                    wrong = f"inside {other}: Kafka would take the one's folder for a partition of the other"
                    yield Problem((host,), "kafka_log_dirs", "LOG_DIRS_NESTED", path, wrong, "mount the two beside each other")
            if host in model.zookeeper and path in (model.get(host, "zookeeper_data_dir"), model.get(host, "zookeeper_data_log_dir")):
                yield Problem((host,), "kafka_log_dirs", "LOG_DIRS_ZOOKEEPER", path, "ZooKeeper's directory as well", "give each its own file system")
    for host in model.zookeeper:
        data, log = model.get(host, "zookeeper_data_dir"), model.get(host, "zookeeper_data_log_dir")
        if data == log:
            yield Problem(
                (host,),
                "zookeeper_data_log_dir",
                "ZOOKEEPER_DIRS_SAME",
                log,
                "snapshots and the write-ahead log in one directory wait for each other",
                "mount a device of its own for the write-ahead log",
                warning=not model.production(host),
            )


def heaps(model: Model) -> Iterator[Problem]:
    """Heaps are sizes, small enough for compressed pointers and for the host."""
    for host in model.cluster_hosts:
        heaps: dict[str, int | None] = {}
        for function, name in (("zookeeper", "zookeeper_heap"), ("kafka", "kafka_heap")):
            if host in model.groups[function]:
                heap = heaps[name] = size(model.get(host, name))
                if heap is None:
                    yield Problem((host,), name, "HEAP_INVALID", model.get(host, name), "no size as the JVM takes it", "write it as 512m or 6g")
                elif heap >= COMPRESSED:
                    wrong = "from 32 GiB on the JVM has no compressed pointers, and holds less"
                    yield Problem(
                        (host,), name, "HEAP_LARGE", model.get(host, name), wrong, "use 31g at most, the page cache serves reads", warning=True
                    )
        memory = model.get(host, "memory")
        if memory is None:
            continue
        total = size(memory)
        if total is None:
            yield Problem((host,), "memory", "MEMORY_INVALID", memory, "no size", "write it as 64g")
            continue
        for name, heap in heaps.items():
            if heap is not None and heap > total:
                yield Problem(
                    (host,), name, "HEAP_MEMORY", model.get(host, name), f"more than the host's memory of {memory}", "use half of it at most"
                )
            elif heap is not None and 2 * heap > total:
                wrong = f"more than half of the host's memory of {memory}: the page cache is what makes Kafka fast"
                yield Problem((host,), name, "HEAP_HALF", model.get(host, name), wrong, "use half of it at most", warning=True)


def version(value: Any) -> tuple[int, ...] | None:
    """Return the numbers of a version; None for what is none."""
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:[-.].*)?", str(value))
    return tuple(int(part) for part in found.groups()) if found else None


def versions(model: Model) -> Iterator[Problem]:
    """No version that is known to lose data; the archive is of the version that is declared."""
    for host in model.kafka:
        number = version(model.get(host, "kafka_version"))
        if number is None or number[0] > 3:
            wrong = "no version of Kafka that runs with ZooKeeper"
            yield Problem((host,), "kafka_version", "KAFKA_VERSION", model.get(host, "kafka_version"), wrong, "use 3.9.2 or a later 3.9")
        elif number < FIRST_KAFKA:
            yield Problem((host,), "kafka_version", "KAFKA_VERSION", model.get(host, "kafka_version"), KAFKA_REASON, "use 3.9.2 or a later 3.9")
    for host in model.zookeeper:
        number = version(model.get(host, "zookeeper_version"))
        if number is None or number < (3, 8, 6) or (3, 9, 0) <= number < (3, 9, 5):
            shown, wrong = model.get(host, "zookeeper_version"), ZOOKEEPER_REASON if number else "no version number"
            yield Problem((host,), "zookeeper_version", "ZOOKEEPER_VERSION", shown, wrong, "use 3.8.6, 3.9.5 or later")
    for function in ("kafka", "zookeeper"):
        for host in model.groups[function]:
            archive, declared = str(model.hosts[host].get(f"{function}_archive") or ""), str(model.get(host, f"{function}_version"))
            name = archive.rpartition("/")[2]
            found = re.findall(r"\d+\.\d+\.\d+", name)
            if found and declared not in found:
                wrong = f"the archive is of {found[-1]}, and {function}_version is {declared}"
                yield Problem((host,), f"{function}_archive", "VERSION_DIFFERS", name, wrong, "correct one of the two")
