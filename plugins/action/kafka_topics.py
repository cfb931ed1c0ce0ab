"""Runs the module kafka_topics.

On the control node, the module runs in a fork of Ansible's process, which has loaded the Kafka libraries already.
"""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka


class ActionModule(AsksKafka):
    """Action plugin of the module kafka_topics: takes the module's options, and returns the module's result."""
