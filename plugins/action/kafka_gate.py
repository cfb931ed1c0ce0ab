"""Runs the module kafka_gate, and reports every 10 s what keeps the gate closed."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_in_parts


class ActionModule(AsksKafka):
    """Has the options and the result of the module."""

    run = run_in_parts
