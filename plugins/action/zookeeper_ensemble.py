"""Runs the module zookeeper_ensemble, and reports every 10 s what the ensemble is still missing."""

from __future__ import annotations

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import InParts


class ActionModule(InParts):
    """Action plugin of the module zookeeper_ensemble: takes the module's options, and returns the module's result."""
