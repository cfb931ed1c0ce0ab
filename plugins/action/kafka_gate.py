"""Runs the module kafka_gate, and reports every 10 s why brokers may not stop yet."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_in_parts


class ActionModule(AsksKafka):
    """Action plugin of the module kafka_gate: takes the module's options, and returns the module's result."""

    run = run_in_parts
