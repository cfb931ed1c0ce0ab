"""Runs the module kafka_disaster, and reports every 10 s what it has seen so far."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import InParts


class ActionModule(InParts):
    """Action plugin of the module kafka_disaster: takes the module's options, and returns the module's result."""
