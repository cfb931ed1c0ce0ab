"""In place of the action install_archives: notes which archives a host would get, and sends nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase


def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Write render_directory/<host>/archive.json."""
    ActionBase.run(self, tmp, task_vars)
    variables = task_vars or {}
    folder = Path(variables["render_directory"]) / variables["inventory_hostname"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "archive.json").write_text(json.dumps({"archives": self._task.args["archives"]}))
    return {"changed": False, "missing": []}


ActionModule = type("ActionModule", (ActionBase,), {"run": run, "_requires_connection": False})
