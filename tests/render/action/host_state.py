"""In place of the module host_state: notes what a role wants of a host, checked as by the module; touches nothing."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.modules.host_state import SPEC

NOTED = import_module("ansible_collections.millrace.kafka.plugins.action.noted")


def answered(unit: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """Return a unit that runs, and is marked for a restart where that is asked for.

    What it can be told is said of it in the test's words.
    """
    marked = unit["restart"] in ("mark", "again")
    found = {"active": True, "restart_owed": marked, "started": False, "marked": marked}
    if not unit["live"]:
        return found
    return {**found, "live": {**unit["live"], "owed": False, "anew": False, "told": {}, **said}}


def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Write render_directory/<host>/<role>.json; fail on arguments that the module would refuse."""
    ActionBase.run(self, tmp, task_vars)
    variables = task_vars or {}
    result = ArgumentSpecValidator(SPEC).validate(self._task.args)
    if result.error_messages:
        return {"failed": True, "msg": f"host_state: {'; '.join(result.error_messages)}"}
    if NOTED.CALLS in variables:
        answer: dict[str, Any] = NOTED.noted("host_state", self._task, variables)
        if answer.get("failed"):
            return answer
        host, wanted = variables["inventory_hostname"], result.validated_parameters["units"]
        lost = variables.get("noted_lost", {}).get(host)  # silent from when a unit is to be in this state
        if host in variables.get("noted_unreachable", ()) or lost in [unit["state"] for unit in wanted]:
            return {"unreachable": True, "msg": "Failed to connect to the host via ssh"}
        said = variables.get("noted_live", {}).get(host, {})
        units = {unit["name"]: answered(unit, said) for unit in wanted}
        for unit in units.values():
            unit["restart_owed"] |= variables.get("noted_owed", False)
        return {"changed": False, "changes": [], "units": units}
    folder = Path(variables["render_directory"]) / variables["inventory_hostname"]
    folder.mkdir(parents=True, exist_ok=True)
    role = self._task._role.get_name(include_role_fqcn=False)
    file = folder / f"{role}.json"
    if role == "spark_cluster" and file.exists() and not result.validated_parameters["units"]:
        file = file.with_suffix(".more.json")  # its last tasks, which concern the shared directory alone
    file.write_text(json.dumps(result.validated_parameters))
    units = {unit["name"]: {"active": False, "restart_owed": False} for unit in result.validated_parameters["units"]}
    return {"changed": False, "changes": [], "units": units}


# Made by hand: Ansible's classes have no types, and a class statement on one is refused by mypy.
ActionModule = type("ActionModule", (ActionBase,), {"run": run, "_requires_connection": False})
