"""Counts host-tasks (results of a task on a host, also skipped ones) by role, for a test that limits their number."""

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
version_added: "1.0.0"
short_description: Write the number of host-tasks by role and host to a file
description:
  - Writes the number of host-tasks by role and host, as JSON, at the end of the run. The environment variable
    E(MILLRACE_HOST_TASKS) names the file. Without the variable, there is a warning and no file.
  - A host-task is one result of one task on one host, skipped ones included. Tasks of a role that another role imports
    count for the importing role. Tasks outside of roles count as C((playbook)), or as C((once)) if they run once for
    all hosts, since more hosts do not add to them.
requirements: ["enabled by its full name, C(ANSIBLE_CALLBACKS_ENABLED=millrace.kafka.host_tasks)"]
author: [Millrace developers]
"""


class CallbackModule(CallbackBase):
    """Counts results of tasks by role and host; a role that another role imports counts as the importing role."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "host_tasks"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        """Start with no counts."""
        super().__init__()
        self.counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def count(self, result: Any) -> None:
        """Count one result of a task on a host, for the role that the playbook applied."""
        role = result.task._role  # Ansible has no public way to the role of a task
        while role is not None and (parents := role.get_parents()):
            role = parents[0]
        alone = "(once)" if result.task.run_once else "(playbook)"
        self.counts[role.get_name(include_role_fqcn=False) if role is not None else alone][result.host.get_name()] += 1

    v2_runner_on_ok = count
    v2_runner_on_skipped = count
    v2_runner_on_unreachable = count

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Count the result of a task that failed."""
        self.count(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Write {role: {host: number of results}} as JSON to the file that $MILLRACE_HOST_TASKS names."""
        Path(os.environ["MILLRACE_HOST_TASKS"]).write_text(json.dumps(self.counts))
