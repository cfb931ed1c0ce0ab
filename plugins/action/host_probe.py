"""Runs the module host_probe, and adds what only the control node knows: when it asked, and its own address."""

from __future__ import annotations

import socket
import time
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import OnceForEachTask


def source(address: str) -> str:
    """Return the address from which this machine reaches another one, '' without a route; nothing is sent."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as unsent:
        try:
            unsent.connect((address, 9))
        except OSError:
            return ""
        return str(unsent.getsockname()[0])


class ActionModule(OnceForEachTask, ActionBase):
    """Adds `asked`, the time of the control node before and after the call, and `control_node`, its addresses."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        before = time.time()
        result |= self._execute_module(task_vars=task_vars)
        if "probe" in result:
            result["probe"]["asked"] = [before, time.time()]
            result["probe"]["control_node"] = {address: source(address) for address in result["probe"]["addresses"]}
        return result
