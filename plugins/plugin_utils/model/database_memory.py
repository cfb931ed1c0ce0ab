"""Rules on the memory of PostgreSQL servers.

The server's buffers and the memory of all its connections must fit into the memory of the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import LEAST_MEMORY, size
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import definitions, text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import amount, expected_value, in_bytes
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

SHARED, SORTS, VACUUMS = "shared_buffers", "work_mem", "maintenance_work_mem"
# PostgreSQL's defaults: bytes, or a number.
DEFAULTS = {
    SHARED: 128 * 2**20,
    SORTS: 4 * 2**20,
    VACUUMS: 64 * 2**20,
    "max_connections": 100,
    "autovacuum_max_workers": 3,
}
# How often each may be allocated at once: by every connection, and by every worker of autovacuum.
TIMES = {SORTS: "max_connections", VACUUMS: "autovacuum_max_workers"}
Finding = tuple[ProblemKind, str, Any, dict[str, Any]]
"""(kind of problem, variable, its value, message details)."""

DATABASE_MEMORY = ProblemKind(
    "DATABASE_MEMORY",
    "one statement may allocate this much, but the host's memory is {memory}",
    "use a few MB, such as 16MB, or 1GB for maintenance_work_mem",
)
DATABASE_MEMORY_ALL = DATABASE_MEMORY.variant(
    message="not less than the host's memory ({memory}): the file system cache and each connection need a part of it",
    advice="use a quarter of the memory",
)
DATABASE_MEMORY_HALF = replace(
    DATABASE_MEMORY_ALL.variant(
        message="more than half of the host's memory ({memory}): the file system cache and each connection need the "
        "rest"
    ),
    warning=True,
)
DATABASE_MEMORY_SUM = replace(
    DATABASE_MEMORY.variant(
        message="shared_buffers, work_mem for each of max_connections and maintenance_work_mem for each of "
        "autovacuum_max_workers add up to {sum} GiB, but the host has {memory}",
        advice="lower it, or {other}",
    ),
    warning=True,
)


def memory(model: Model) -> Iterator[Problem]:
    """Yield a problem for each database host whose variable `memory` is less than PostgreSQL may need."""
    for name in model.groups.get("database", ()):
        machine = model.machines[name]
        declared = machine.inputs.get("memory")
        total = size(declared)
        if total is not None and total >= LEAST_MEMORY and (finding := too_much(machine, total, str(declared))):
            kind, place, value, details = finding
            yield machine.report(kind, place, value, **details)


def too_much(machine: Machine, total: int, memory: str) -> Finding | None:
    """Return the PostgreSQL setting that needs more memory than the host has, or None.

    The result is (kind of problem, variable, its value, message details). `total` is the host's memory in bytes,
    `memory` the same size as a text for the message.
    """
    settings = _settings(machine)
    shared = shared_buffers(machine) or 0
    for name in (SORTS, VACUUMS) if shared < total else ():
        if name in settings and _number(machine, name) > total:
            return DATABASE_MEMORY, _place(name), settings[name], {"memory": memory}
    if 2 * shared > total:
        kind = DATABASE_MEMORY_ALL if shared >= total else DATABASE_MEMORY_HALF
        return kind, _place(SHARED), settings[SHARED], {"memory": memory}
    parts = {SHARED: _number(machine, SHARED)}
    parts |= {name: _number(machine, name) * _number(machine, times) for name, times in TIMES.items()}
    # Defaults are not reported: a small host has less memory than all connections may allocate with them.
    raised = [
        name for name in (*TIMES, *TIMES.values()) if name in settings and _number(machine, name) > DEFAULTS[name]
    ]
    if not raised or sum(parts.values()) <= total:
        return None
    most = max(parts, key=lambda name: parts[name])
    place = next((name for name in (most, TIMES.get(most, most)) if name in raised), raised[0])
    details = {"sum": f"{sum(parts.values()) / 2**30:.1f}", "memory": memory, "other": TIMES.get(most, "the others")}
    return DATABASE_MEMORY_SUM, _place(place), settings[place], details


def shared_buffers(machine: Machine) -> int | None:
    """Return PostgreSQL's setting shared_buffers of a host in bytes; None if it is not set or not a valid size."""
    value, spec = _settings(machine).get(SHARED), _specs(machine)[SHARED]
    return None if value is None or expected_value(spec, text_of(value)) else in_bytes(spec, text_of(value))


def _place(name: str) -> str:
    return f"postgresql_config[{name}]"


def _settings(machine: Machine) -> dict[str, Any]:
    """Return {setting in lower case: value} of postgresql_config, without those that are null."""
    config = machine.inputs.mapping("postgresql_config")
    return {str(name).lower(): value for name, value in config.items() if value is not None}


def _specs(machine: Machine) -> Mapping[str, Mapping[str, Any]]:
    return definitions(str(machine.inputs.get("postgresql_version") or ""))


def _number(machine: Machine, name: str) -> int:
    """Return one setting as a number, in bytes if the setting is a size.

    Return its default if it is not set, or if PostgreSQL does not accept its value.
    """
    value, spec = _settings(machine).get(name), _specs(machine)[name]
    if value is None or expected_value(spec, text_of(value)):
        return DEFAULTS[name]
    number = in_bytes(spec, text_of(value)) if spec.get("unit") else amount(spec, text_of(value))
    return DEFAULTS[name] if number is None else int(number)
