"""Run the module kafka_log_dir: print the plan before anything is changed, then progress every 10 s."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_with_plan


class ActionModule(AsksKafka):
    """The module's options and answer are this action's."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's answer, with the plan that was printed."""
        return run_with_plan(self, task_vars)
