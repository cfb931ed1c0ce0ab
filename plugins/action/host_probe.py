"""Run the module host_probe, and note what only the control node knows.

When it asked, and from which address it reaches the host.
"""

from __future__ import annotations

import socket
import time
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import OnceForEachTask


def source(address: str) -> str:
    """Return the address from which this machine reaches another, '' where no way leads there; nothing is sent."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as unsent:
        try:
            unsent.connect((address, 9))
        except OSError:
            return ""
        return str(unsent.getsockname()[0])


class ActionModule(OnceForEachTask, ActionBase):
    """Adds to the probe: `asked`, the control node's time (seconds since 1970) before and after.

    `control_node`, its address towards each.
    """

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        before = time.time()
        result |= self._execute_module(task_vars=task_vars)
        if "probe" in result:
            result["probe"]["asked"] = [before, time.time()]
            result["probe"]["control_node"] = {address: source(address) for address in result["probe"]["addresses"]}
        return result
