"""The folders in which JVMs unpack native libraries, from which they then load them.

Kafka's archive and Spark contain zstd and snappy as such libraries; java.io.tmpdir names the folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jvm import options
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.sandbox_paths import mounted, services_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import below

OPTION, DEFAULT = "-Djava.io.tmpdir=", "/tmp"
# By function: the directory to which its units may write (roles/kafka, roles/spark_job).
HOMES = {"kafka": "/var/lib/kafka", "spark": "/var/lib/spark-job", "mirror_maker": "/var/lib/mirror-maker"}
# Settings of units with which a folder of the service is not that of the host.
OTHERWISE = ("ExecPaths", "TemporaryFileSystem", "BindPaths")


@dataclass(frozen=True)
class LibraryFolder:
    """A folder from which the JVMs of a function load libraries."""

    function: str
    path: str
    home: str
    """A directory to which the units may write."""
    variable: str
    """The variable that sets the folder, or could set it."""
    is_set: bool


def library_folders(model: Model, machine: Machine) -> list[LibraryFolder]:
    """Return the folders from which the JVMs of a host's functions load libraries; those that units change left out."""
    given = options(machine)
    found = []
    for name, home in HOMES.items():
        function = functions()[name]
        if model.is_in(name, machine):
            drop_in = f"{function.prefix}_unit_overrides"
            usual = (f"{drop_in}[Service][Environment]", *function.jvm)
            for variables, drop_ins in _processes(machine, name, usual, drop_in):
                pairs = [(key, word.removeprefix(OPTION)) for key in variables for word in given.get(key, ())
                         if word.startswith(OPTION)]  # fmt: skip
                variable, path = pairs[-1] if pairs else (function.jvm[-1] if function.jvm else drop_in, DEFAULT)
                if path.startswith("/") and not _otherwise(path, services_of(machine, *drop_ins)):
                    found.append(LibraryFolder(name, path, home, variable, bool(pairs)))
    return list(dict.fromkeys(found))


def _processes(
    machine: Machine, function: str, usual: Sequence[str], drop_in: str
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield (variables with Java options, the last one overrides; variables of drop-ins) for each JVM of a function."""
    if function != "spark":
        yield usual, (drop_in,)
        return
    for entry in machine.inputs.entries("spark_job_jobs"):
        job = f"spark_job_jobs[{entry.get('name')}]"
        of_job = [f"{job}.config.spark[spark.driver.{key}JavaOptions]" for key in ("default", "extra")]
        own = f"{job}.unit_overrides"
        if entry.get("state") not in ("stopped", "absent"):
            yield (*usual, f"{own}[Service][Environment]", *of_job), (drop_in, own)


def _otherwise(path: str, services: Sequence[Mapping[Any, Any]]) -> bool:
    """Tell whether a setting of the unit mounts something else at this folder, or allows to load programs from it."""
    return any(below(path, place) for service in services for key in OTHERWISE for place in mounted(service.get(key)))
