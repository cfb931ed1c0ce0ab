"""What a host of a database has: memory for its server, data of the version that is to run, or of none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.database_memory import too_much
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.postgresql import VERSION, version_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem


def data(model: Model, machine: Machine, probe: Mapping[str, Any]) -> Iterator[Problem]:
    """No empty server begins beside the data of another version, as a new release of the system would let it."""
    if not model.is_in("database", machine):
        return
    path = str(machine.inputs.get("postgresql_data_dir"))
    wanted = version_of(machine.inputs.get("postgresql_version"), probe["postgresql"]["release"])
    names = probe["mounts"].get(path, {}).get("names", [])
    found = sorted((name for name in names if VERSION.fullmatch(name)), key=int)
    if wanted and found and wanted not in found:
        held = " and ".join(found)
        wrong = f"{path} holds the data of {held}, and {wanted} would begin beside it with nothing"
        advice = (
            f'say postgresql_version: "{found[-1]}", or bring the data to {path}/{wanted} (pg_upgrade, or a dump and '
            "its restore); to begin with nothing, move the old folder to another disk"
        )
        yield machine.problem("postgresql_version", "DATABASE_DATA_VERSION", wanted, wrong, advice)


def memory(model: Model, machine: Machine, probe: Mapping[str, Any]) -> Iterator[Problem]:
    """What the server keeps, and what all its connections may take, is there."""
    total = probe["memory"]
    if model.is_in("database", machine) and total and (found := too_much(machine, total, f"{total / 2**30:.1f} GiB")):
        place, value, wrong, advice, warning = found
        yield machine.problem(place, "DATABASE_RAM", value, wrong, advice, warning=warning)
