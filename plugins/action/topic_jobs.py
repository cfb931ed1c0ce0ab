"""Prints the declared Spark jobs that read a topic."""

from __future__ import annotations

import json
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.topic_jobs import readers, report


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin `topic_jobs`; runs once, on the control node, and contacts no host."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Print the jobs of the inventory that read the topic of the option `topic`, and return them.

        The option `form` is text, or json for one line of JSON.
        """
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        topic = str(self._task.args["topic"])
        model = Reader(task_vars["hostvars"], task_vars["groups"], self._loader).read()
        jobs, unknown = readers(model, topic)
        if self._task.args.get("form") == "json":
            Display().display(json.dumps({"topic": topic, "do": "readers", "jobs": jobs, "unknown": unknown}))
        else:
            Display().display("\n".join(report(topic, jobs, unknown)))
        return {"changed": False, "jobs": jobs, "unknown": unknown}
