"""Run the module zookeeper_ensemble, and say each 10 s what an ensemble lacks while it waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import in_parts, say


class ActionModule(ActionBase):
    """The module's options and answer are this action's."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's last answer."""
        result: dict[str, Any] = super().run(tmp, task_vars)

        def ask(more: Mapping[str, Any]) -> dict[str, Any]:
            answer: dict[str, Any] = self._execute_module(module_args={**self._task.args, **more}, task_vars=task_vars)
            return answer

        return result | in_parts(ask, say(self._task, task_vars))
