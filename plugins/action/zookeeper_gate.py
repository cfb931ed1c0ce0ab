"""Runs the module zookeeper_gate, and reports every 10 s why servers may not stop yet."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_in_parts


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin of the module zookeeper_gate: takes the module's options, and returns the module's result."""

    _supports_async = True
    run = run_in_parts
