"""Run the module kafka_gate, and say each 10 s what keeps the gate closed."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka
from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import run_in_parts


class ActionModule(AsksKafka):
    """The module's options and answer are this action's."""

    run = run_in_parts
