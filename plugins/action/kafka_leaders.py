"""Run the module kafka_leaders, and say each 10 s that it waits."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import said, say


class ActionModule(ActionBase):
    """The module's options and answer are this action's."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's answer."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        with said("until the preferred replicas lead", say(self._task, task_vars)):
            return result | self._execute_module(task_vars=task_vars)
