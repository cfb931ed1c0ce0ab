"""Prints the result of the module kafka_topic as tables, or as one line of JSON."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.millrace.kafka.plugins.plugin_utils.topic_tables import as_json, as_text

FORMS = ("text", "json")


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin `topic_tables`; it runs on the control node and contacts no host."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Print the option `answer`, the result of kafka_topic; without it, only check the option `form`."""
        super().run(tmp, task_vars)
        form = str(self._task.args.get("form", "text"))
        if form not in FORMS:
            return {"failed": True, "msg": f"output = {form}: not a form of output; use {' or '.join(FORMS)}"}
        topic, answer = str(self._task.args["topic"]), self._task.args.get("answer")
        if not answer:
            return {"changed": False, "msg": "nothing to print"}
        command = str(self._task.args.get("do", "describe"))
        printed = (
            as_json(topic, command, answer)
            if form == "json"
            else as_text(topic, answer, predicted=self._task.check_mode)
        )
        Display().display(printed)
        return {"changed": False, "msg": f"printed as {form}"}
