"""Run the module zookeeper_ensemble, and say each 10 s what an ensemble lacks while it waits."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import RunsHere
from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import run_in_parts


class ActionModule(RunsHere):
    """The module's options and answer are this action's."""

    run = run_in_parts
