"""Rules on the memory of databases: what a server keeps, and what all its connections may take, are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import LEAST_MEMORY, size
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import definitions, text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql_values import amount, in_bytes, wrong_value
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

SHARED, SORTS, VACUUMS = "shared_buffers", "work_mem", "maintenance_work_mem"
# What a server takes where nothing is said: bytes, or how many.
USUAL = {
    SHARED: 128 * 2**20,
    SORTS: 4 * 2**20,
    VACUUMS: 64 * 2**20,
    "max_connections": 100,
    "autovacuum_max_workers": 3,
}
# How often each may be taken at once: by every connection, and by every worker of autovacuum.
TIMES = {SORTS: "max_connections", VACUUMS: "autovacuum_max_workers"}
# What is wrong, advice, and whether it is a warning.
Fault = tuple[str, Any, str, str, bool]


def memory(model: Model) -> Iterator[Problem]:
    """What a server and its connections take leaves the rest of the host its memory."""
    for name in model.groups.get("database", ()):
        machine = model.machines[name]
        said = machine.inputs.get("memory")
        total = size(said)
        if total is not None and total >= LEAST_MEMORY and (found := too_much(machine, total, str(said))):
            place, value, wrong, advice, warning = found
            yield machine.problem(place, "DATABASE_MEMORY", value, wrong, advice, warning=warning)


def too_much(machine: Machine, total: int, shown: str) -> Fault | None:
    """Return place, value, what is wrong, advice and whether it is a warning; None where the memory is enough.

    `total` are the bytes of the host, `shown` how they are written.
    """
    said = _said(machine)
    shared = shared_buffers(machine) or 0
    for name in (SORTS, VACUUMS) if shared < total else ():
        if name in said and _number(machine, name) > total:
            wrong = f"more than the host's memory of {shown}, and one statement may take all of it"
            return _place(name), said[name], wrong, "a few MB are usual, as 16MB; 1GB for maintenance_work_mem", False
    if 2 * shared > total:
        wrong = f"{'all and more' if shared >= total else 'more than half'} of the host's memory of {shown}"
        wrong += ", which the system's cache and each connection need"
        return _place(SHARED), said[SHARED], wrong, "a quarter of it is usual", shared < total
    parts = {SHARED: _number(machine, SHARED)}
    parts |= {name: _number(machine, name) * _number(machine, times) for name, times in TIMES.items()}
    # Nobody is blamed for what is usual: a small host has less than all connections may take of that.
    told = [name for name in (*TIMES, *TIMES.values()) if name in said and _number(machine, name) > USUAL[name]]
    if not told or sum(parts.values()) <= total:
        return None
    most = max(parts, key=lambda name: parts[name])
    place = next((name for name in (most, TIMES.get(most, most)) if name in told), told[0])
    share = f"{SHARED} and {' and '.join(f'{name} for each of {times}' for name, times in TIMES.items())}"
    wrong = f"{share} come to {sum(parts.values()) / 2**30:.1f} GiB, and the host has {shown}"
    return _place(place), said[place], wrong, f"lower it, or {TIMES.get(most, 'the others')}", True


def shared_buffers(machine: Machine) -> int | None:
    """Return the bytes that a server of the host keeps for all connections, None where that is not said rightly."""
    said, spec = _said(machine).get(SHARED), _specs(machine)[SHARED]
    return None if said is None or wrong_value(spec, text_of(said)) else in_bytes(spec, text_of(said))


def _place(name: str) -> str:
    return f"postgresql_config[{name}]"


def _said(machine: Machine) -> dict[str, Any]:
    """Return the settings that are said, by their names in lower case."""
    told = machine.inputs.mapping("postgresql_config")
    return {str(name).lower(): value for name, value in told.items() if value is not None}


def _specs(machine: Machine) -> Mapping[str, Mapping[str, Any]]:
    return definitions(str(machine.inputs.get("postgresql_version") or ""))


def _number(machine: Machine, name: str) -> int:
    """Return the bytes of a setting, or how many it is; what is usual where it is not said, or said wrongly."""
    said, spec = _said(machine).get(name), _specs(machine)[name]
    if said is None or wrong_value(spec, text_of(said)):
        return USUAL[name]
    found = in_bytes(spec, text_of(said)) if spec.get("unit") else amount(spec, text_of(said))
    return USUAL[name] if found is None else int(found)
