"""Run the module host_state, and say each 10 s which units systemd is stopping or starting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import said, say

VERBS = {"converged": "restarts", "stopped": "stops", "absent": "stops"}


def waited_for(units: Iterable[Mapping[str, Any]]) -> str:
    """Return what a call may wait for, `{name, state}` of each unit given; '' where nothing."""
    verbs: dict[str, list[str]] = {}
    for unit in units:
        verbs.setdefault(VERBS.get(str(unit.get("state")), "starts"), []).append(str(unit.get("name")))
    return "; ".join(f"systemd {verb} {', '.join(names)}" for verb, names in verbs.items())


class ActionModule(ActionBase):
    """The module's options and answer are this action's."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's answer."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        what = waited_for(self._task.args.get("units") or []) or "files"
        with said(what, say(self._task, task_vars)):
            return result | self._execute_module(task_vars=task_vars)
