"""Run the module kafka_live_config, in a fork of this process where the control node itself runs it."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import RunsHere


class ActionModule(RunsHere):
    """The module's options and answer are this action's."""
