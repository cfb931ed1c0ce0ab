"""Run the module kafka_reassign: print the plan before anything moves, then say each 10 s how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.utils.display import Display

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import RunsHere
from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import in_parts, say


class ActionModule(RunsHere):
    """The module's options and answer are this action's."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's answer, with the plan that was printed."""
        variables = task_vars or {}

        def module(more: Mapping[str, Any]) -> dict[str, Any]:
            return self.module({**self._task.args, **more}, variables)

        plan = module({"only_plan": True})
        if plan.get("failed"):
            return plan
        Display().display("\n".join(plan["plan"]))
        if self._task.check_mode or not plan["changed"]:
            return plan
        answer = in_parts(module, say(self._task, task_vars))
        for note in answer.get("notes", []):
            Display().warning(note)
        return {**answer, "plan": plan["plan"]}
