"""Rules on what stands on a host: directories, heaps, versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function, functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import plain_path
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# Above this the JVM has no compressed pointers, and a larger heap holds less.
COMPRESSED = 32 * 2**30
LEAST_MEMORY = 2**28
FIRST_KAFKA = (3, 9, 2)
KAFKA_REASON = "a client of it can put a record into another topic and report success (CVE-2026-35554)"
ZOOKEEPER_REASON = (
    "it can lose acknowledged transactions (ZOOKEEPER-4785 before 3.8.5, ZOOKEEPER-4925 in 3.9.3) "
    "or has open CVEs (before 3.8.6)"
)
# Directories of the system with two parts.
SYSTEM = ("/var/log", "/var/lib", "/var/cache", "/var/tmp", "/usr/bin", "/usr/lib", "/usr/local", "/run/systemd")
# How the archive of ZooKeeper's sources is called: that of the release ends in -bin.
OF_SOURCES = re.compile(r"apache-zookeeper-[\d.]+\.tar\.gz")
HALF = "use half of it at most"


def overrides(machine: Machine) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield the drop-ins of units by where they are said: one of each function, and those of single jobs."""
    for function in functions().values():
        name = f"{function.prefix}_unit_overrides"
        yield name, machine.inputs.mapping(name)
    for entry in machine.inputs.entries("spark_job_jobs"):
        sections = entry.get("unit_overrides")
        if isinstance(sections, Mapping):
            yield f"spark_job_jobs[{entry.get('name')}].unit_overrides", sections


def size(value: Any) -> int | None:
    """Return bytes of a size as Java and people write it (512m, 6g, 64G); None for what is none."""
    found = re.fullmatch(r"(\d+)\s*([kmgt]?)(?:i?b)?", str(value).strip().lower())
    return int(found.group(1)) * UNITS[found.group(2)] if found else None


def log_dirs(model: Model) -> Iterator[Problem]:
    """Log directories are file systems of their own: absolute, named once, not inside one another, not ZooKeeper's."""
    for broker in model.brokers:
        paths, name = broker.log_dirs, "kafka_log_dirs"
        if not paths and isinstance(broker.inputs.values.get(name), list):
            yield broker.problem(name, "LOG_DIRS_EMPTY", None, "no log directory", "name at least one mount point")
        plain = [plain_path(path) for path in paths]
        for path in sorted({path for path in plain if plain.count(path) > 1}):
            yield broker.problem(name, "LOG_DIRS_DUPLICATE", path, "named twice", "name each file system once")
        for path in sorted(set(paths)):
            yield from _log_dir(broker, path)
    for server in model.servers:
        for path in broker_dirs(model, server.name):
            for name, own in zip(("zookeeper_data_dir", "zookeeper_data_log_dir"), server.data_dirs, strict=True):
                one, two = PurePosixPath(plain_path(str(own))), PurePosixPath(plain_path(path))
                if one in two.parents or two in one.parents:
                    wrong = f"inside {path} of kafka_log_dirs, or around it: each takes the other's files for its own"
                    yield server.problem(name, "DIRECTORIES_NESTED", own, wrong, "put the two beside each other")
            if plain_path(path) in server.data_dirs:
                wrong, advice = "ZooKeeper's directory as well", "give each its own file system"
                yield server.problem("kafka_log_dirs", "LOG_DIRS_ZOOKEEPER", path, wrong, advice)
        data, log = server.data_dirs
        one, two = PurePosixPath(plain_path(str(data))), PurePosixPath(plain_path(str(log)))
        if (one in two.parents or two in one.parents) and len(one.parts) > 1 < len(two.parts):
            name, value = ("zookeeper_data_log_dir", log) if one in two.parents else ("zookeeper_data_dir", data)
            wrong = (
                f"inside {data if one in two.parents else log}: what is mounted on the one hides, or fills, the other"
            )
            yield server.problem(name, "DIRECTORIES_NESTED", value, wrong, "put the two beside each other")
        if plain_path(str(data)) == plain_path(str(log)):
            wrong = "snapshots and the write-ahead log in one directory wait for each other"
            advice, warning = "mount a device of its own for the write-ahead log", not server.production
            yield server.problem("zookeeper_data_log_dir", "ZOOKEEPER_DIRS_SAME", log, wrong, advice, warning=warning)


def broker_dirs(model: Model, host: str) -> list[str]:
    """Return the log directories of the broker on a host, [] without one."""
    return sorted({path for broker in model.brokers if broker.name == host for path in broker.log_dirs})


def other_mounts(model: Model, machine: Machine) -> list[tuple[Function, str]]:
    """Return the file systems of a host that are neither a broker's nor a server's, each with its function.

    Those two have rules of their own.
    """
    own = {*broker_dirs(model, machine.name), *map(str, _server_dirs(model, machine.name))}
    return [(function, str(path)) for function, path in model.items(machine, "mounts") if str(path) not in own]


def _log_dir(broker: Broker, path: str) -> Iterator[Problem]:
    if not path.startswith("/") or path.rstrip("/") == "":
        wrong, advice = "not a directory of its own below /", "name the mount point, as /data/kafka1"
        yield broker.problem("kafka_log_dirs", "LOG_DIRS_PATH", path, wrong, advice)
    for other in sorted(set(broker.log_dirs)):
        if PurePosixPath(other) in PurePosixPath(path).parents and other.rstrip("/"):
            wrong = f"inside {other}: Kafka would take the one's folder for a partition of the other"
            yield broker.problem("kafka_log_dirs", "LOG_DIRS_NESTED", path, wrong, "mount the two beside each other")


def gc_logs(model: Model) -> Iterator[Problem]:
    """The garbage collector's log has a directory of its own, which is given to the service: no system's, no data's."""
    for machine in model.functional:
        for function in model.functions_of(machine):
            name = f"{function.prefix}_gc_log_dir"
            declared = str(machine.inputs.get(name) or "")
            path, advice = PurePosixPath(declared), f"name a directory of its own, as /var/log/{function.name}"
            data = [*broker_dirs(model, machine.name), *(str(item) for item in _server_dirs(model, machine.name))]
            data += [str(item) for _, item in model.items(machine, "mounts")]
            if declared and (not path.is_absolute() or len(path.parts) < 3 or declared.rstrip("/") in SYSTEM):
                wrong = "the directory becomes the service's own, and this is no place for that"
                yield machine.problem(name, "GC_LOG_DIR", declared, wrong, advice)
            elif any(PurePosixPath(item) in (path, *path.parents) for item in data):
                wrong = "inside a data directory, where the service takes it for data of somebody else"
                yield machine.problem(name, "GC_LOG_DIR", declared, wrong, advice)


def _server_dirs(model: Model, host: str) -> list[Any]:
    return [path for server in model.servers if server.name == host for path in server.data_dirs if path]


def heaps(model: Model) -> Iterator[Problem]:
    """Heaps are sizes, small enough for compressed pointers and for the host."""
    for machine in model.functional:
        memory = machine.inputs.get("memory")
        total = size(memory)
        if memory is not None and total is None:
            yield machine.problem("memory", "MEMORY_INVALID", memory, "no size", "write it as 64g")
        elif total is not None and total < LEAST_MEMORY:
            wrong = f"{total} bytes, for a number alone is bytes" if total < 2**20 else "too little for any function"
            advice = f"write it as {memory}g" if re.fullmatch(r"\d+", str(memory)) else "write it as 64g"
            yield machine.problem("memory", "MEMORY_INVALID", memory, wrong, advice)
            total = None
        for name in model.input_names(machine, "heaps"):
            yield from _heap(machine, name, total)


def _heap(machine: Machine, name: str, total: int | None) -> Iterator[Problem]:
    """Judge one heap; `total` is the host's memory in bytes, None where it is not declared."""
    declared, memory = machine.inputs.get(name), machine.inputs.get("memory")
    heap = size(declared)
    if heap is None:
        wrong = "no size as the JVM takes it"
        yield machine.problem(name, "HEAP_INVALID", declared, wrong, "write it as 512m or 6g")
        return
    if heap >= COMPRESSED:
        wrong, advice = "from 32 GiB on the JVM has no compressed pointers, and holds less", "use 31g at most"
        advice += ", the page cache serves reads"
        yield machine.problem(name, "HEAP_LARGE", declared, wrong, advice, warning=True)
    if total is not None and heap >= total:
        wrong = f"{'more than' if heap > total else 'all of'} the host's memory of {memory}"
        yield machine.problem(name, "HEAP_MEMORY", declared, wrong, HALF)
    elif total is not None and 2 * heap > total:
        wrong = f"more than half of the host's memory of {memory}: the page cache is what makes Kafka fast"
        yield machine.problem(name, "HEAP_HALF", declared, wrong, HALF, warning=True)


def version(value: Any) -> tuple[int, ...] | None:
    """Return the numbers of a version; None for what is none."""
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:[-.].*)?", str(value))
    return tuple(int(part) for part in found.groups()) if found else None


def versions(model: Model) -> Iterator[Problem]:
    """No version that is known to lose data, but on the way back to one (accept_risks)."""
    for broker in model.brokers:
        declared, advice = broker.inputs.get("kafka_version"), "use 3.9.2 or a later 3.9"
        number = version(declared)
        if number is None or number[0] > 3:
            wrong = "no version of Kafka that runs with ZooKeeper"
            yield broker.problem("kafka_version", "VERSION_UNFIT", declared, wrong, advice)
        elif number < FIRST_KAFKA:
            yield broker.problem("kafka_version", "KAFKA_VERSION", declared, KAFKA_REASON, advice)
    for server in model.servers:
        declared = server.inputs.get("zookeeper_version")
        number = version(declared)
        advice = "use 3.8.6, 3.9.5 or later"
        if number is None:
            yield server.problem("zookeeper_version", "VERSION_UNFIT", declared, "no version number", advice)
        elif number < (3, 8, 6) or (3, 9, 0) <= number < (3, 9, 5):
            yield server.problem("zookeeper_version", "ZOOKEEPER_VERSION", declared, ZOOKEEPER_REASON, advice)


def archives(model: Model) -> Iterator[Problem]:
    """An archive is of the version that is declared."""
    for machine in model.functional:
        for name in model.input_names(machine, "archives"):
            version_name = f"{name.removesuffix('_archive')}_version"
            archive = str(machine.inputs.values.get(name) or "").rpartition("/")[2]
            declared = machine.inputs.text(version_name)
            found = re.findall(r"\d+\.\d+\.\d+", archive)
            if re.search(r"[-.]src\b", archive) or OF_SOURCES.fullmatch(archive):
                wrong, advice = "an archive of sources, in which no program is", "name the one of the release itself"
                advice += f", as {archive.replace('.tar', '-bin.tar')}" if OF_SOURCES.fullmatch(archive) else ""
                yield machine.problem(name, "VERSION_DIFFERS", archive, wrong, advice)
            if found and declared is not None and declared not in found:
                wrong = f"the archive is of {found[-1]}, and {version_name} is {declared}"
                yield machine.problem(name, "VERSION_DIFFERS", archive, wrong, "correct one of the two")
