"""Ends a run with one line on what it changed."""

from __future__ import annotations

from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.closing import Closing

DOCUMENTATION = """
name: closing_line
type: notification
short_description: End a run with one line on what it changed
description:
  - As C(millrace; restarted kafka on dc1-kafka1, dc1-kafka2; 1 user, 4 ACLs, 12 files), with a colon for the first
    semicolon, or C(nothing changed). In check mode it says what a run would have done, and it names the hosts on which
    a run failed.
  - A run that could not have changed anything, as that of C(playbooks/check.yml), has none.
requirements: ["enabled by its full name, C(callbacks_enabled = millrace.kafka.closing_line), as in ansible.cfg here"]
author: [Millrace developers]
"""


class CallbackModule(CallbackBase):
    """Note what tasks answer, and say it after Ansible's own recapitulation."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "closing_line"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        """Nothing was seen."""
        super().__init__()
        self.closing = Closing()

    def note(self, result: Any) -> None:
        """Note one answer, but for what a run only looks at."""
        if result._task.check_mode and not context.CLIARGS.get("check"):
            return
        self.closing.note(result._task.action, result._host.get_name(), result._result)

    v2_runner_on_ok = note

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Note what was changed before it failed."""
        self.note(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Say it."""
        if line := self.closing.line(bool(context.CLIARGS.get("check")), {*stats.failures, *stats.dark}):
            self._display.display(line)
