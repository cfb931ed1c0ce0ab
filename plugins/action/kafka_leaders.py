"""Runs the module kafka_leaders, and reports every 10 s what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import Reporting


class ActionModule(Reporting):
    """Action plugin of the module kafka_leaders: takes the module's options, and returns the module's result."""

    def waited_for(self, arguments: Mapping[str, Any]) -> str:
        """Return what the module waits for."""
        return "waiting until the preferred leaders lead"
