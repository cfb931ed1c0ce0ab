"""In place of the module kafka_topic: notes what it is asked. No host is reached."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ansible.plugins.action import ActionBase

NOTED = import_module("ansible_collections.millrace.kafka.plugins.action.noted")


def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Answer as the test says."""
    ActionBase.run(self, tmp, task_vars)
    answer: dict[str, Any] = NOTED.noted("kafka_topic", self._task, task_vars or {})
    return answer


ActionModule = type("ActionModule", (ActionBase,), {"run": run, "_requires_connection": False})
