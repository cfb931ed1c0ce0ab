"""In place of the module zookeeper_ensemble: an ensemble that is whole, the first of its servers the leader."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase


def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Answer for each server that was asked."""
    ActionBase.run(self, tmp, task_vars)
    leader, *followers = self._task.args["servers"]
    modes = {leader: "leader", **dict.fromkeys(followers, "follower")}
    said = (task_vars or {}).get("noted_answers", {}).get("zookeeper_ensemble", {})
    return {"changed": False, "modes": modes, "problems": [], "changes": [], **said}


ActionModule = type("ActionModule", (ActionBase,), {"run": run, "_requires_connection": False})
