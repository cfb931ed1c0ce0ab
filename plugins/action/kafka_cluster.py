"""Runs the module kafka_cluster, and reports every 10 s what the cluster is still missing."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_in_parts


class ActionModule(AsksKafka):
    """Takes the options of the module of the same name, and returns its result."""

    run = run_in_parts
