"""Runs the module kafka_log_dir: prints the plan before anything is changed, then the progress every 10 s."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import WithPlan


class ActionModule(WithPlan):
    """Action plugin of the module kafka_log_dir: takes the module's options, and returns the module's result."""
