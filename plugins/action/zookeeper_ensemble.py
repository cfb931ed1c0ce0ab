"""Runs the module zookeeper_ensemble, and reports every 10 s what the ensemble is still missing."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_in_parts


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin of the module zookeeper_ensemble: takes the module's options, and returns the module's result."""

    _supports_async = True
    run = run_in_parts
