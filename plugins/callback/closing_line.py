"""Prints one line at the end of a run: what the run changed."""

from __future__ import annotations

from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.closing import Closing

DOCUMENTATION = """
name: closing_line
type: notification
version_added: "1.0.0"
short_description: Print one line at the end of a run with what it changed
description:
  - >-
    Prints one line at the end of a run with what it changed, as C(millrace: restarted kafka on dc1-kafka1, dc1-kafka2;
    1 user, 4 ACLs, 12 files) or C(millrace: nothing changed). In check mode, the line tells what a run would have
    changed. It also names the hosts on which the run failed.
  - Prints nothing after a run that could not change anything, as that of C(playbooks/check.yml).
requirements: ["enabled by its full name, C(callbacks_enabled = millrace.kafka.closing_line), as in ansible.cfg here"]
author: [Millrace developers]
"""


class CallbackModule(CallbackBase):
    """Collects the results of tasks, and prints one line about the changes after Ansible's recap."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "closing_line"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        """Start without results."""
        super().__init__()
        self.closing = Closing()

    def note(self, result: Any) -> None:
        """Count the changes in the result of a task.

        A task with `check_mode: true` counts only if the whole run is in check mode.
        """
        if result.task.check_mode and not context.CLIARGS.get("check"):
            return
        self.closing.note(result.task.action, result.host.get_name(), result.result)

    v2_runner_on_ok = note

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Count the changes that a failed task made before it failed."""
        self.note(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print the line about the changes of the run, unless no task could have changed anything."""
        if line := self.closing.line(bool(context.CLIARGS.get("check")), {*stats.failures, *stats.dark}):
            self._display.display(line)
