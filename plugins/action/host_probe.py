"""Run the module host_probe, and note when the control node asked: the host's clock is judged by it."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Adds `asked` to the probe: the control node's time (seconds since 1970) before and after."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        before = time.time()
        result |= self._execute_module(task_vars=task_vars)
        if "probe" in result:
            result["probe"]["asked"] = [before, time.time()]
        return result
