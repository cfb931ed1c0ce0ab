"""Runs the module kafka_log_dir: prints the plan before anything is changed, then the progress every 10 s."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_with_plan


class ActionModule(AsksKafka):
    """Action plugin of the module kafka_log_dir: takes the module's options, and returns the module's result."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module, print its plan and progress, and return its result with the plan that was printed."""
        return run_with_plan(self, task_vars)
