"""What stand-ins of modules that ask and restart do where a test says so: they note the call, and answer as it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible._internal._templating import _jinja_bits
from ansible.plugins.action import ActionBase
from ansible.plugins.action.normal import ActionModule as Normal

PLACE = "ansible_collections.millrace.kafka.plugins.action"
CALLS = "noted_calls"
"""Variable with the file to which calls are added, each a line of JSON: action, host, options."""
ANSWERS = "noted_answers"
"""Variable with the answers of actions, by their name and their question or state; `ago`: `at`, seconds before now.

Now is the moment at which render.started stopped the clock of templates.
"""


def noted(name: str, task: Any, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Note a call and return its answer."""
    options = json.loads(json.dumps(task.args, default=str))
    if task.check_mode and not variables["ansible_check_mode"]:
        options["only_looks"] = True
    with Path(str(variables[CALLS])).open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, variables["inventory_hostname"], options]) + "\n")
    answers = variables.get(ANSWERS, {}).get(name, {})
    asked = options.get("question", "may_stop")
    stop = ",".join(map(str, options.get("stop", ())))
    answer = {"changed": False, **answers.get(f"{asked} {stop}", answers.get(asked, {}))}
    return answer | ({"at": _jinja_bits._now().timestamp() - answer.pop("ago")} if "ago" in answer else {})


def action(name: str) -> type:
    """Return an action that notes its calls where a test says so, and else is the real one."""
    try:
        real = import_module(f"{PLACE}.real_{name}").ActionModule
    except ModuleNotFoundError:  # a module without an action of its own
        real = Normal

    def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        variables = task_vars or {}
        if CALLS not in variables:
            answer: dict[str, Any] = real.run(self, tmp, task_vars)
            return answer
        ActionBase.run(self, tmp, task_vars)
        return noted(name, self._task, variables)

    return type("ActionModule", (real,), {"run": run, "_requires_connection": False})
