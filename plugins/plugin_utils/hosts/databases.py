"""Checks database hosts: enough memory for PostgreSQL, and no data of another PostgreSQL version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_memory import too_much
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import VERSION, version_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

DATABASE_DATA_VERSION = ProblemKind(
    "DATABASE_DATA_VERSION",
    "{path} contains the data of version {versions}, and version {wanted} would start beside it, without data",
    'set postgresql_version: "{latest}", or migrate the data to {path}/{wanted} (pg_upgrade, or a dump and its '
    "restore). To start without data, move the old folder to another disk",
)


def data(model: Model, machine: Machine, probe: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if PostgreSQL would start with an empty directory beside the data of another version.

    This can happen after an upgrade of the operating system. `probe` is the result of host_probe.
    """
    if not model.is_in("database", machine):
        return
    path = str(machine.inputs.get("postgresql_data_dir"))
    wanted = version_of(machine.inputs.get("postgresql_version"), probe["postgresql"]["release"])
    names = probe["mounts"].get(path, {}).get("names", [])
    versions = sorted((name for name in names if VERSION.fullmatch(name)), key=int)
    if wanted and versions and wanted not in versions:
        yield machine.report(
            DATABASE_DATA_VERSION,
            "postgresql_version",
            wanted,
            path=path,
            versions=versions,
            wanted=wanted,
            latest=versions[-1],
        )


def memory(model: Model, machine: Machine, probe: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if PostgreSQL and its connections may use more memory than the host has.

    `probe` is the result of host_probe.
    """
    total = probe["memory"]
    if model.is_in("database", machine) and total and (fault := too_much(machine, total, f"{total / 2**30:.1f} GiB")):
        kind, place, value, details = fault
        yield machine.report(replace(kind, code="DATABASE_RAM"), place, value, **details)
