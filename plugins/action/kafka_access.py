"""Runs the module kafka_access.

On the control node, the module runs in a fork of Ansible's process, which has loaded the Kafka libraries already.
"""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.asks_kafka import AsksKafka


class ActionModule(AsksKafka):
    """Takes the options of the module of the same name, and returns its result."""
