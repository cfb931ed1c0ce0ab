"""Runs the module host_state, and reports every 10 s which units systemd is stopping or starting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import Reporting

VERBS = {"converged": "restarts", "stopped": "stops", "absent": "stops"}


class ActionModule(Reporting):
    """Action plugin of the module host_state: takes the module's options, and returns the module's result."""

    def waited_for(self, arguments: Mapping[str, Any]) -> str:
        """Return what a call of the module may wait for, such as `systemd restarts a.service, b.service`.

        `arguments` are the module's options; each of its `units` has a name and a state. Returns `writing files` if
        there are no units.
        """
        verbs: dict[str, list[str]] = {}
        for unit in arguments.get("units") or []:
            verbs.setdefault(VERBS.get(str(unit.get("state")), "starts"), []).append(str(unit.get("name")))
        return "; ".join(f"systemd {verb} {', '.join(names)}" for verb, names in verbs.items()) or "writing files"
