"""Run the module kafka_cluster, and say each 10 s what a Kafka cluster lacks while it waits."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka
from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import run_in_parts


class ActionModule(AsksKafka):
    """The module's options and answer are this action's."""

    run = run_in_parts
