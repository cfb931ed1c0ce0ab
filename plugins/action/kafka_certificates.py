"""Run the module kafka_certificates, and say each 10 s that it waits."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.waits import run_reporting


class ActionModule(ActionBase):
    """The module's options and answer are this action's."""

    run = run_reporting(lambda _: "until every listener serves what is on its disk")
