"""Runs the module zookeeper_gate, and reports every 10 s what keeps the gate closed."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import RunsHere
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_in_parts


class ActionModule(RunsHere):
    """Has the options and the result of the module."""

    run = run_in_parts
