"""Runs the module kafka_broker_config, in a fork of this process if it runs on the control node."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka


class ActionModule(AsksKafka):
    """Takes the options of the module of the same name, and returns its result."""
