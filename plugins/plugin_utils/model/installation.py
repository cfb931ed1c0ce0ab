"""Rules on log directories, heaps, versions and archives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function, functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import plain_path
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# From this size on the JVM cannot use compressed pointers, so a larger heap holds less.
COMPRESSED = 32 * 2**30
LEAST_MEMORY = 2**28
FIRST_KAFKA = (3, 9, 2)
# Directories of the system whose paths have two parts.
SYSTEM = ("/var/log", "/var/lib", "/var/cache", "/var/tmp", "/usr/bin", "/usr/lib", "/usr/local", "/run/systemd")
# The name of ZooKeeper's source archive; that of the release ends in -bin.
OF_SOURCES = re.compile(r"apache-zookeeper-[\d.]+\.tar\.gz")


def overrides(machine: Machine) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield (variable, {section of a unit file: settings}) for each drop-in that a host declares.

    The variables are *_unit_overrides of the host's functions, and unit_overrides of its jobs.
    """
    for function in functions().values():
        name = f"{function.prefix}_unit_overrides"
        yield name, machine.inputs.mapping(name)
    for entry in machine.inputs.entries("spark_job_jobs"):
        sections = entry.get("unit_overrides")
        if isinstance(sections, Mapping):
            yield f"spark_job_jobs[{entry.get('name')}].unit_overrides", sections


def size(value: Any) -> int | None:
    """Return a size such as 512m, 6g or "64 GB" in bytes; None if the value is not a size."""
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)(?:i?b)?", str(value).strip().lower())
    return int(match.group(1)) * UNITS[match.group(2)] if match else None


LOG_DIRS_EMPTY = ProblemKind(
    "LOG_DIRS_EMPTY", "no log directory", "list at least one mount point, such as /data/kafka1"
)
LOG_DIRS_DUPLICATE = ProblemKind("LOG_DIRS_DUPLICATE", "listed twice", "list each file system once")
LOG_DIRS_PATH = ProblemKind(
    "LOG_DIRS_PATH", "not an absolute path, or the root directory", "use a mount point such as /data/kafka1"
)
LOG_DIRS_NESTED = ProblemKind(
    "LOG_DIRS_NESTED",
    "inside {other}: Kafka would read this directory as a partition of {other}",
    "mount the two file systems beside each other, such as at /data/kafka1 and /data/kafka2",
)
LOG_DIRS_ZOOKEEPER = ProblemKind(
    "LOG_DIRS_ZOOKEEPER",
    "also a data directory of ZooKeeper",
    "use one file system for Kafka and another for ZooKeeper",
)
DIRECTORIES_NESTED = ProblemKind(
    "DIRECTORIES_NESTED",
    "inside {other}: a file system mounted on one of the two directories hides or fills the other",
    "use two directories of which neither contains the other",
)
DIRECTORIES_NESTED_BROKER = DIRECTORIES_NESTED.variant(
    message="inside {other} of kafka_log_dirs, or contains it: ZooKeeper and Kafka would read each other's files"
)
ZOOKEEPER_DIRS_SAME = ProblemKind(
    "ZOOKEEPER_DIRS_SAME",
    "snapshots and the write-ahead log are in the same directory, where they delay each other",
    "set zookeeper_data_log_dir to a directory on a separate device",
)


def log_dirs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each log dir that is not absolute, a duplicate, nested, or also a ZooKeeper directory.

    Also yield a problem if the two directories of a ZooKeeper server are the same, or one contains the other.
    """
    for broker in model.brokers:
        paths, name = broker.log_dirs, "kafka_log_dirs"
        if not paths and isinstance(broker.inputs.values.get(name), list):
            yield broker.report(LOG_DIRS_EMPTY, name)
        plain = [plain_path(path) for path in paths]
        for path in sorted({path for path in plain if plain.count(path) > 1}):
            yield broker.report(LOG_DIRS_DUPLICATE, name, path)
        for path in sorted({plain_path(path): path for path in reversed(paths)}.values()):
            yield from _log_dir(broker, path)
    for server in model.servers:
        for path in broker_dirs(model, server.name):
            for name, value in zip(("zookeeper_data_dir", "zookeeper_data_log_dir"), server.data_dirs, strict=True):
                if _nested(PurePosixPath(plain_path(str(value))), PurePosixPath(plain_path(path))):
                    yield server.report(DIRECTORIES_NESTED_BROKER, name, value, other=path)
            if plain_path(path) in server.data_dirs:
                yield server.report(LOG_DIRS_ZOOKEEPER, "kafka_log_dirs", path)
        data, log = server.data_dirs
        data_path, log_path = PurePosixPath(plain_path(str(data))), PurePosixPath(plain_path(str(log)))
        if _nested(data_path, log_path) and len(data_path.parts) > 1 < len(log_path.parts):
            inner = data_path in log_path.parents
            name, value = ("zookeeper_data_log_dir", log) if inner else ("zookeeper_data_dir", data)
            yield server.report(DIRECTORIES_NESTED, name, value, other=data if inner else log)
        if plain_path(str(data)) == plain_path(str(log)):
            yield server.report(ZOOKEEPER_DIRS_SAME, "zookeeper_data_log_dir", log, warning=not server.production)


def _nested(first: PurePosixPath, second: PurePosixPath) -> bool:
    """Tell whether one of the two paths is inside the other; equal paths are not."""
    return first in second.parents or second in first.parents


def broker_dirs(model: Model, host: str) -> list[str]:
    """Return kafka_log_dirs of the broker on a host, sorted; [] if the host has no broker."""
    return sorted({path for broker in model.brokers if broker.name == host for path in broker.log_dirs})


def other_mounts(model: Model, machine: Machine) -> list[tuple[Function, str]]:
    """Return [(function, path)] of the declared mount points of a host.

    Directories of brokers and ZooKeeper servers are left out, because other rules check them.
    """
    known = {*broker_dirs(model, machine.name), *map(str, _server_dirs(model, machine.name))}
    return [(function, str(path)) for function, path in model.items(machine, "mounts") if str(path) not in known]


def _log_dir(broker: Broker, path: str) -> Iterator[Problem]:
    """Yield a problem if a log directory is not absolute, or is inside another log directory of the broker."""
    if not path.startswith("/") or path.rstrip("/") == "":
        yield broker.report(LOG_DIRS_PATH, "kafka_log_dirs", path)
    parents = {str(parent) for parent in PurePosixPath(plain_path(path)).parents}
    around = [other for other in broker.log_dirs if other.rstrip("/") and plain_path(other) in parents]
    if around:
        yield broker.report(LOG_DIRS_NESTED, "kafka_log_dirs", path, other=max(around, key=lambda one: plain_path(one)))


GC_LOG_DIR = ProblemKind(
    "GC_LOG_DIR",
    "the service would own this directory, but the path is relative, has only one part, or belongs to the system",
    "use a directory of its own, such as /var/log/{function}",
)
GC_LOG_DIR_DATA = GC_LOG_DIR.variant(
    message="inside a data directory: the service would mistake the log files for data"
)


def gc_logs(model: Model) -> Iterator[Problem]:
    """Yield a problem for each *_gc_log_dir that is relative, or a directory of the system or of data.

    The service becomes the owner of this directory, so nothing else may use it.
    """
    for machine in model.functional:
        for function in model.functions_of(machine):
            name = f"{function.prefix}_gc_log_dir"
            declared = str(machine.inputs.get(name) or "")
            path = PurePosixPath(declared)
            data = [*broker_dirs(model, machine.name), *(str(item) for item in _server_dirs(model, machine.name))]
            data += [str(item) for _, item in model.items(machine, "mounts")]
            data = [item for item in data if item.strip("/")]  # the root is reported as LOG_DIRS_PATH or PATH_ROOT
            if declared and (not path.is_absolute() or len(path.parts) < 3 or declared.rstrip("/") in SYSTEM):
                yield machine.report(GC_LOG_DIR, name, declared, function=function.name)
            elif any(PurePosixPath(item) in (path, *path.parents) for item in data):
                yield machine.report(GC_LOG_DIR_DATA, name, declared, function=function.name)


def _server_dirs(model: Model, host: str) -> list[Any]:
    return [path for server in model.servers if server.name == host for path in server.data_dirs if path]


MEMORY_INVALID = ProblemKind("MEMORY_INVALID", "not a size", "write it like {example}")
MEMORY_INVALID_BYTES = MEMORY_INVALID.variant(message="{total} bytes, because a number without a unit is in bytes")
MEMORY_INVALID_SMALL = MEMORY_INVALID.variant(message="too little memory for any function")


EXECUTORS = "spark_cluster_memory"
"""The role input with the memory of all executors of a worker."""


def heaps(model: Model) -> Iterator[Problem]:
    """Yield a problem for each heap size, and each variable `memory`, that is invalid, too large or too small."""
    for machine in model.functional:
        memory = machine.inputs.get("memory")
        total = size(memory)
        if memory is not None and total is None:
            yield machine.report(MEMORY_INVALID, "memory", memory, example="64g")
        elif total is not None and total < LEAST_MEMORY:
            kind = MEMORY_INVALID_BYTES if total < 2**20 else MEMORY_INVALID_SMALL
            example = f"{memory}{_unit_meant(int(memory))}" if re.fullmatch(r"\d+", str(memory)) else "64g"
            yield machine.report(kind, "memory", memory, total=total, example=example)
            total = None
        for name in model.input_names(machine, "heaps"):
            yield from _heap(machine, name, total)


def _unit_meant(number: int) -> str:
    """Return the unit that a number of memory without a unit probably has: 64 is in GiB, 65536 in MiB."""
    return "g" if number < 2**10 else "m" if number < 2**20 else "k"


HEAP_INVALID = ProblemKind("HEAP_INVALID", "not a size that the JVM accepts", "write it like 512m or 6g")
HEAP_LARGE = ProblemKind(
    "HEAP_LARGE",
    "from 32 GiB on, the JVM cannot compress pointers, so the heap holds fewer objects",
    "use at most 31g, and leave the other memory to the page cache",
    warning=True,
)
HEAP_MEMORY = ProblemKind("HEAP_MEMORY", "more than the host's memory ({memory})", "use at most half of the memory")
HEAP_MEMORY_ALL = HEAP_MEMORY.variant(message="all of the host's memory ({memory})")
HEAP_HALF = ProblemKind(
    "HEAP_HALF",
    "more than half of the host's memory ({memory}): Kafka needs the other half as page cache",
    "use at most half of the memory",
    warning=True,
)


def _heap(machine: Machine, name: str, total: int | None) -> Iterator[Problem]:
    """Yield problems of the heap in role input `name`; `total` is the memory of the host in bytes, None if unknown."""
    declared, memory = machine.inputs.get(name), machine.inputs.get("memory")
    heap = size(declared)
    if heap is None:
        yield machine.report(HEAP_INVALID, name, declared)
        return
    if name == EXECUTORS:  # the sum of several heaps, on a host without a page cache to protect
        if total is not None and heap > total:
            yield machine.report(HEAP_MEMORY, name, declared, memory=memory)
        return
    if heap >= COMPRESSED:
        yield machine.report(HEAP_LARGE, name, declared)
    if total is not None and heap >= total:
        yield machine.report(HEAP_MEMORY if heap > total else HEAP_MEMORY_ALL, name, declared, memory=memory)
    elif total is not None and 2 * heap > total:
        yield machine.report(HEAP_HALF, name, declared, memory=memory)


def version(value: Any) -> tuple[int, ...] | None:
    """Return the numbers of a version as (3, 9, 2); None if the value does not start with three numbers."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:[-.].*)?", str(value))
    return tuple(int(part) for part in match.groups()) if match else None


VERSION_UNFIT = ProblemKind(
    "VERSION_UNFIT", "not a version of Kafka that runs with ZooKeeper", "use 3.9.2 or a later 3.9"
)
VERSION_UNFIT_ZOOKEEPER = VERSION_UNFIT.variant(message="not a version number", advice="use 3.8.6, 3.9.5 or later")
KAFKA_VERSION = ProblemKind(
    "KAFKA_VERSION",
    "the client of this version can write a record to another topic and report success (CVE-2026-35554)",
    "use 3.9.2 or a later 3.9",
)
ZOOKEEPER_VERSION = ProblemKind(
    "ZOOKEEPER_VERSION",
    "this version can lose acknowledged transactions (ZOOKEEPER-4785 before 3.8.5, ZOOKEEPER-4925 in 3.9.3) or has "
    "open CVEs (before 3.8.6)",
    "use 3.8.6, 3.9.5 or later",
)


def versions(model: Model) -> Iterator[Problem]:
    """Yield a problem for each declared version of Kafka or ZooKeeper that is invalid, or known to lose data."""
    for broker in model.brokers:
        declared = broker.inputs.get("kafka_version")
        number = version(declared)
        if number is None or number[0] > 3:
            yield broker.report(VERSION_UNFIT, "kafka_version", declared)
        elif number < FIRST_KAFKA:
            yield broker.report(KAFKA_VERSION, "kafka_version", declared)
    for server in model.servers:
        declared = server.inputs.get("zookeeper_version")
        number = version(declared)
        if number is None:
            yield server.report(VERSION_UNFIT_ZOOKEEPER, "zookeeper_version", declared)
        elif number < (3, 8, 6) or (3, 9, 0) <= number < (3, 9, 5):
            yield server.report(ZOOKEEPER_VERSION, "zookeeper_version", declared)


VERSION_DIFFERS = ProblemKind(
    "VERSION_DIFFERS",
    "the archive has version {archive_version}, but {version_variable} is {declared}",
    "correct the archive or {version_variable}",
)
VERSION_DIFFERS_SOURCES = VERSION_DIFFERS.variant(
    message="an archive of sources, without the compiled program", advice="use the archive of the release"
)
VERSION_DIFFERS_SOURCES_NAMED = VERSION_DIFFERS_SOURCES.variant(
    advice="use the archive of the release, such as {release}"
)


def archives(model: Model) -> Iterator[Problem]:
    """Yield a problem for each archive of source code, and for each archive of another version than declared."""
    for machine in model.functional:
        for name in model.input_names(machine, "archives"):
            version_name = f"{name.removesuffix('_archive')}_version"
            archive = str(machine.inputs.values.get(name) or "").rpartition("/")[2]
            declared = machine.inputs.text(version_name)
            in_name = re.findall(r"\d+\.\d+\.\d+", archive)
            if re.search(r"[-.]src\b", archive) or OF_SOURCES.fullmatch(archive):
                kind = VERSION_DIFFERS_SOURCES_NAMED if OF_SOURCES.fullmatch(archive) else VERSION_DIFFERS_SOURCES
                yield machine.report(kind, name, archive, release=archive.replace(".tar", "-bin.tar"))
            if in_name and declared is not None and declared not in in_name:
                details = {"archive_version": in_name[-1], "version_variable": version_name}
                yield machine.report(VERSION_DIFFERS, name, archive, declared=declared, **details)
