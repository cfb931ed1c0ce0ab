"""Runs the module zookeeper_gate, and reports every 10 s why servers may not stop yet."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import InParts


class ActionModule(InParts):
    """Action plugin of the module zookeeper_gate: takes the module's options, and returns the module's result."""
