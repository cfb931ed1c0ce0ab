"""Run the module kafka_topics, in a fork of this process where the control node itself runs it."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka


class ActionModule(AsksKafka):
    """The module's options and answer are this action's."""
