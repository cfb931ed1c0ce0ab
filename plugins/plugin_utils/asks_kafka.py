"""Base class of actions whose module queries a Kafka cluster; imports the Kafka libraries once for a run."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import RunsHere

LIBRARIES = ("confluent_kafka.admin", "kafka.admin", "kafka.errors", "kafka.protocol.admin", "kafka.protocol.metadata")

# Ansible imports an action before it forks a process for each task, which would import them itself.
for _name in LIBRARIES:
    with suppress(Exception):  # the module reports a missing or broken library
        import_module(_name)


class AsksKafka(RunsHere):
    """Base class of an action plugin whose module queries a Kafka cluster.

    With a local connection the module runs in a fork of Ansible's process, which has the Kafka libraries loaded.
    """
