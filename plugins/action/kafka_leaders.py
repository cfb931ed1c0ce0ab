"""Runs the module kafka_leaders, and reports every 10 s that it waits."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_reporting


class ActionModule(ActionBase):
    """Has the options and the result of the module."""

    run = run_reporting(lambda _: "until the preferred replicas lead")
