"""Rules on the files and folders that JVMs write: absolute paths, to which the sandbox of the unit allows writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import broker_dirs
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.library_folders import HOMES
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.sandbox_paths import (
    PRIVATE,
    is_strict,
    more_writable,
    services_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below, plain_path
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Options that name a file or folder which the JVM writes.
WRITTEN = re.compile(
    r"-Djava\.io\.tmpdir=(?P<tmpdir>.*)|-XX:(?:HeapDumpPath|ErrorFile|LogFile|ReplayDataFile)=(?P<file>.+)"
    r"|-Xlog:[^:]*:(?!std(?:out|err)\b)(?:file=)?(?P<log>[^:]+).*|-Xloggc:(?P<gc>.+)"
    r"|-XX:StartFlightRecording[:=](?:.*,)?filename=(?P<recording>[^,]+).*",
    re.DOTALL,
)
# Folders of the kernel, which the sandbox does not make read-only.
KERNEL = ("/dev", "/proc")
DATA = ("zookeeper_data_dir", "zookeeper_data_log_dir")

JVM_PATH = ProblemKind(
    "JVM_PATH",
    "the unit may write only below {writable}",
    "use a folder below {home}, or add the folder to ReadWritePaths of Service in {drop_in}",
)
JVM_PATH_RELATIVE = JVM_PATH.variant(
    message="not an absolute path: the service runs in /, where it may not write (Java replaces no ~)",
    advice="write an absolute path, for example below {home}",
)


def written(model: Model) -> Iterator[Problem]:
    """Yield a problem for each Java option with a file or folder to which the JVM's unit may not write."""
    for machine in model.functional:
        given = options(machine)
        for function in (item for item in model.functions_of(machine) if item.jvm or item.name == "spark"):
            for drop_ins, variables in _processes(machine, function, given):
                services = services_of(machine, *drop_ins)
                folders = [*_writable(model, machine, function), *more_writable(services), *PRIVATE]
                for variable in variables:
                    for option in given[variable]:
                        kind = _fault(option, folders, services)
                        if kind:
                            details: dict[str, Any] = {"writable": folders, "home": folders[0], "drop_in": drop_ins[-1]}
                            yield machine.report(kind, variable, option, **details)


def _processes(
    machine: Machine, function: Function, given: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield (variables of the unit's drop-ins, those variables of `given` whose options its JVM reads) of a function.

    `given` is {variable: Java options} of the host.
    """
    drop_in = f"{function.prefix}_unit_overrides"
    usual = (*function.jvm, f"{drop_in}[Service][Environment]")
    yield (drop_in,), [name for name in usual if name in given]
    for entry in machine.inputs.entries("spark_job_jobs") if function.name == "spark" else ():
        job = f"spark_job_jobs[{entry.get('name')}]"
        own = (f"{job}.unit_overrides[", f"{job}.config.spark[spark.driver.")
        yield (drop_in, f"{job}.unit_overrides"), [name for name in given if name.startswith(own)]


def _writable(model: Model, machine: Machine, function: Function) -> list[str]:
    """Return the folders to which the role lets the units of a function write (`__writable` in its templates)."""
    logs, data = machine.inputs.text(f"{function.prefix}_gc_log_dir"), list[str]()
    if function.name == "kafka":  # units may write to the parents of the disks (filter above_disks)
        parents = {path: str(PurePosixPath(path).parent) for path in broker_dirs(model, machine.name)}
        data = [path if parent == "/" else parent for path, parent in parents.items()]
    elif function.name == "zookeeper":
        data = [machine.inputs.text(name) or "" for name in DATA]
    folders = [HOMES.get(function.name), logs, *data]
    return list(dict.fromkeys(plain_path(path) for path in folders if path))


def _fault(option: str, folders: Sequence[str], services: Sequence[Mapping[Any, Any]]) -> ProblemKind | None:
    """Return the kind of problem of an option with a path, or None; `services` are the [Service] of the drop-ins."""
    match = WRITTEN.fullmatch(option)
    path = match and match[str(match.lastgroup)]
    if path is None or not is_strict(services):
        return None
    if not path.startswith("/"):
        return None if any(section.get("WorkingDirectory") for section in services) else JVM_PATH_RELATIVE
    return None if below(path, *folders, *KERNEL) else JVM_PATH
