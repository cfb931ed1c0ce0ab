"""Runs the module kafka_leaders, and reports every 10 s what it waits for."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_reporting


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin of the module kafka_leaders: takes the module's options, and returns the module's result."""

    run = run_reporting(lambda _: "waiting until the preferred leaders lead")
