"""Runs the module host_probe, and adds facts of the control node: the time of the call, and its addresses."""

from __future__ import annotations

import socket
import time
from typing import Any

from ansible.plugins.action import ActionBase


def source(address: str) -> str:
    """Return the address of this machine from which it would connect to `address`; '' if there is no route.

    Nothing is sent.
    """
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as unsent:
        try:
            unsent.connect((address, 9))
        except OSError:
            return ""
        return str(unsent.getsockname()[0])


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin of the module host_probe; adds two keys to `probe` in the module's result:

    - `asked`: [time before the call, time after it] on the control node, in seconds since 1970;
    - `control_node`: {address of the host: address of the control node from which it connects there}.
    """

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module, and return its result with the keys `asked` and `control_node` added to `probe`."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        before = time.time()
        result |= self._execute_module(task_vars=task_vars)
        if "probe" in result:
            result["probe"]["asked"] = [before, time.time()]
            result["probe"]["control_node"] = {address: source(address) for address in result["probe"]["addresses"]}
        return result
