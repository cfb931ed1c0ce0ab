"""Runs the module kafka_gate, and reports every 10 s why brokers may not stop yet."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import InParts


class ActionModule(InParts):
    """Action plugin of the module kafka_gate: takes the module's options, and returns the module's result."""
