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
        variables, printed = task_vars or {}, dict[str, Any]()

        def module(more: Mapping[str, Any]) -> dict[str, Any]:
            answer = self.module({**self._task.args, **more}, variables)
            if "waited" not in more and "plan" in answer:  # it is written down, and nothing moves before the next call
                Display().display("\n".join(answer["plan"]))
                printed["plan"] = answer["plan"]
            return answer

        answer = in_parts(module, say(self._task, task_vars))
        for note in answer.get("notes", []):
            Display().warning(note)
        return {**answer, **printed}
