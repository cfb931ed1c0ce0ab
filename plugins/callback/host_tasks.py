"""Counts host-tasks (one result of one task on one host, skipped ones included) per role, for the budget test."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: host_tasks
type: aggregate
short_description: Write the number of host-tasks per role and host to a file
description:
  - A host-task is one result of one task on one host, skipped ones included. A role that another role imports counts
    as that one; tasks of no role count as C((playbook)), and as C((once)) where they run once for all hosts, so that
    more hosts have no more of them.
  - At the end of the run, writes numbers by role and host as JSON to the file that the environment variable
    C(MILLRACE_HOST_TASKS) names. Without the variable there is a warning and no file.
requirements: ["enabled by its full name, C(ANSIBLE_CALLBACKS_ENABLED=millrace.kafka.host_tasks)"]
author: [Millrace developers]
"""


class CallbackModule(CallbackBase):
    """Count every result under the role that the playbook applied; one that another imports counts as that one."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "host_tasks"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        """Start at zero."""
        super().__init__()
        self.counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def count(self, result: Any) -> None:
        """Note one result."""
        role = result._task._role
        while role is not None and role._parents:
            role = role._parents[0]
        alone = "(once)" if result._task.run_once else "(playbook)"
        self.counts[role.get_name(include_role_fqcn=False) if role is not None else alone][result._host.get_name()] += 1

    v2_runner_on_ok = count
    v2_runner_on_skipped = count
    v2_runner_on_unreachable = count

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Note a failed result."""
        self.count(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Write the counts."""
        Path(os.environ["MILLRACE_HOST_TASKS"]).write_text(json.dumps(self.counts))
