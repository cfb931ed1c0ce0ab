"""Runs the module zookeeper_gate, and reports every 10 s why servers may not stop yet."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import RunsHere
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_in_parts


class ActionModule(RunsHere):
    """Takes the options of the module of the same name, and returns its result."""

    run = run_in_parts
