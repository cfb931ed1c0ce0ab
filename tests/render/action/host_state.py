"""In place of the module host_state: notes what a role wants of a host, checked as the module would, and touches nothing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import ansible.module_utils
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"


def module_spec() -> dict[str, Any]:
    """Return the argument spec of the real module."""
    if str(PLUGINS / "module_utils") not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(str(PLUGINS / "module_utils"))
    spec = importlib.util.spec_from_file_location("render_host_state", PLUGINS / "modules" / "host_state.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    options: dict[str, Any] = module.SPEC
    return options


def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Write render_directory/<host>/<role>.json; fail on arguments that the module would refuse."""
    ActionBase.run(self, tmp, task_vars)
    variables = task_vars or {}
    result = ArgumentSpecValidator(module_spec()).validate(self._task.args)
    if result.error_messages:
        return {"failed": True, "msg": f"host_state: {'; '.join(result.error_messages)}"}
    folder = Path(variables["render_directory"]) / variables["inventory_hostname"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{self._task._role.get_name()}.json").write_text(json.dumps(result.validated_parameters))
    units = {unit["name"]: {"active": False, "restart_owed": False} for unit in result.validated_parameters["units"]}
    return {"changed": False, "changes": [], "units": units}


# Made by hand: Ansible's classes have no types, and a class statement on one is refused by mypy.
ActionModule = type("ActionModule", (ActionBase,), {"run": run, "_requires_connection": False})
