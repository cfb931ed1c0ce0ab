"""Runs the module zookeeper_ensemble, and reports every 10 s what the ensemble is still missing."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import RunsHere
from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_in_parts


class ActionModule(RunsHere):
    """Takes the options of the module of the same name, and returns its result."""

    run = run_in_parts
