"""Runs the module kafka_reassign: prints the plan before anything moves, then the progress every 10 s."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_with_plan


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin of the module kafka_reassign: takes the module's options, and returns the module's result."""

    run = run_with_plan
