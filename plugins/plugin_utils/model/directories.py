"""Rules on directories as they are written: whole paths, written once and plainly, on disks that keep them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.exposure import EMPTIED
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.sandbox_paths import UNSEEN, hidden, services_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, plain_path
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Files of a JVM: options that name them, as far as the path.
OUTPUT = re.compile(r"-XX:(?:HeapDumpPath|ErrorFile|LogFile)=(/.*)|-Xlog:.*?file=(?P<log>/[^:]*)")
DATA = ("zookeeper_data_dir", "zookeeper_data_log_dir")
# Not for data: the system's own, and homes, which units do not see (hidden.py).
SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/sbin", "/sys", "/usr", "/home", "/root")


def written(model: Model) -> Iterator[Problem]:
    """Paths are absolute, and written in the one way that units, properties and mounts agree on."""
    for machine in model.functional:
        for name in model.input_names(machine, "paths"):
            path = machine.inputs.get(name)
            if isinstance(path, str) and path:
                yield from _written(machine, name, path)
        for path, name in model.executables(machine).items():
            yield from _written(machine, name, path)
        for path, name in class_paths(model, machine):
            yield from _pattern(machine, name, path) or _written(machine, name, path.removesuffix("/*"))
    for broker in model.brokers:
        for path in broker.log_dirs:
            if path.startswith("/") and path.strip("/"):  # else said as LOG_DIRS_PATH
                yield from _written(broker, "kafka_log_dirs", path)


def _written(machine: Machine, name: str, path: str) -> Iterator[Problem]:
    plain = plain_path(path)
    if name in DATA and not path.strip("/"):
        wrong = "the whole system, which would become the service's own"
        yield machine.problem(name, "PATH_ROOT", path, wrong, "name the mount point of a disk, as /data/zookeeper")
    elif not path.startswith("/"):
        wrong = "not a path from / on, and the service runs elsewhere than you write"
        yield machine.problem(name, "PATH_RELATIVE", path, wrong, "write it from / on")
    elif re.search(r"[^\w/.+@=-]", path):
        wrong = "a sign that units and lists of directories take for something else"
        advice = "use letters, figures and - _ . + @ = alone, and one entry for each directory"
        yield machine.problem(name, "PATH_SIGNS", path, wrong, advice)
    elif path.rstrip("/") != plain or {".", ".."} & {*path.split("/")}:
        wrong = "another way to write a path: what is the same directory would not look so"
        advice = "leave .. out" if ".." in path.split("/") else f"write {plain}"
        yield machine.problem(name, "PATH_FORM", path, wrong, advice)


def _pattern(machine: Machine, name: str, path: str) -> list[Problem]:
    """Return what is wrong with a star of a class path that names no file to the JVM."""
    folder, star, rest = path.partition("*")
    if not star or (not rest and folder.endswith("/")) or ":" in path:
        return []
    wrong = "the JVM takes a star for all jars of a folder only where it is the whole last name: this is no file to it"
    advice = f"write {folder.rpartition('/')[0]}/*, which is all its jars, or name each jar"
    return [machine.problem(name, "PATH_SIGNS", path, wrong, advice)]


def class_paths(model: Model, machine: Machine) -> list[tuple[str, str]]:
    """Return what functions of a host have on their class paths besides their own jars, each with its input."""
    inputs = [f"{function.prefix}_class_path" for function in model.functions_of(machine)]
    return [(str(path), name) for name in inputs for path in machine.inputs.sequence(name)]


def of_locks(model: Model) -> Iterator[Problem]:
    """All who change a host look for its lock in one folder, whichever hosts a run has, and wherever it is begun."""
    name, told = "run_lock_directory", dict[str, list[str]]()
    for machine in model.functional:
        told.setdefault(str(machine.inputs.get(name) or ""), []).append(machine.name)
    for path, hosts in told.items():
        if path and not path.startswith("/"):
            wrong = "not a path from / on, so that runs from other folders would not find the lock"
            yield Problem(tuple(hosts), name, "LOCK_DIRECTORY", path, wrong, "write it from / on")
    if len(told) > 1:
        path, few = min(told.items(), key=lambda item: len(item[1]))
        others = ", ".join(sorted(other or "the usual one" for other in told if other != path))
        wrong = f"other hosts have {others}, and runs on some hosts would not find the lock of runs on others"
        yield Problem(tuple(few), name, "LOCK_DIRECTORY", path or None, wrong, "say it once, for all hosts")


def kept(model: Model) -> Iterator[Problem]:
    """Data is where it stays, and where no system is."""
    for server in model.servers:
        for name in DATA:
            yield from _kept(server, name, str(server.inputs.get(name) or ""))
    for broker in model.brokers:
        for path in broker.log_dirs:
            yield from _kept(broker, "kafka_log_dirs", path)
    for name in model.groups.get("database", ()):
        database = model.machines[name]
        yield from _kept(database, "postgresql_data_dir", str(database.inputs.get("postgresql_data_dir") or ""))
    for machine in model.functional:
        for path, name in [*model.executables(machine).items(), *class_paths(model, machine)]:
            if (folder := below(path, *UNSEEN)) and hidden(path, _services(model, machine)):
                wrong = f"below {folder}, which units do not see (ProtectHome, PrivateTmp)"
                yield machine.problem(name, "PATH_SYSTEM", path, wrong, "install it for all, as below /usr/lib/jvm")
        for path, name in _stores(model, machine):
            if (folder := below(path, *UNSEEN)) and hidden(path, _services(model, machine)):
                wrong = f"below {folder}, which units do not see (ProtectHome, PrivateTmp)"
                yield machine.problem(name, "PATH_SYSTEM", path, wrong, "put it elsewhere, as below /etc/kafka/tls")


def _services(model: Model, machine: Machine) -> list[Mapping[Any, Any]]:
    """Return the sections Service that a site lays over units of a host."""
    return services_of(machine, *(f"{function.prefix}_unit_overrides" for function in model.functions_of(machine)))


def _stores(model: Model, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield keystores and truststores of a host's services, each with what says it."""
    for name in model.input_names(machine, "paths"):
        if name.endswith(("keystore", "truststore")) and (path := machine.inputs.text(name)):
            yield path, name
    for entry in machine.inputs.entries("kafka_listeners"):
        for key in ("keystore", "truststore"):
            if entry.get(key):
                yield str(entry[key]), f"kafka_listeners[{entry.get('name')}].{key}"


def dumped(model: Model) -> Iterator[Problem]:
    """What a JVM writes when it ends is not written among data: as large as its heap, it fills that disk."""
    for machine in model.functional:
        data = [str(item) for _, item in model.items(machine, "mounts")]
        for variable, told in options(machine).items():
            for option in told:
                found = OUTPUT.match(option)
                folder = found and below(found[1] or found[2], *(path for path in data if path.startswith("/")))
                if folder:
                    wrong = f"on the disk of {folder}: a dump as large as the heap fills it, and what is there fails"
                    advice = "name a folder on another disk, which the unit may write (ReadWritePaths)"
                    yield machine.problem(variable, "DUMP_AMONG_DATA", option, wrong, advice)


def _kept(machine: Machine, name: str, path: str) -> Iterator[Problem]:
    if not path.startswith("/"):
        return
    if folder := below(path, *EMPTIED):
        wrong = f"{folder} is emptied at every boot, /tmp and /var/tmp at every start of the service: data is lost"
        yield machine.problem(name, "PATH_EMPTIED", path, wrong, "mount a disk, as below /data")
    elif folder := below(path, *SYSTEM):
        wrong = f"below {folder}, which is the system's or closed to services"
        yield machine.problem(name, "PATH_SYSTEM", path, wrong, "mount a disk, as below /data")
