"""Runs the module host_state, and reports every 10 s which units systemd is stopping or starting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.plugin_utils.wait_lines import run_reporting

VERBS = {"converged": "restarts", "stopped": "stops", "absent": "stops"}


def waited_for(options: Mapping[str, Any]) -> str:
    """Return what a call of the module may wait for, such as `systemd restarts a.service, b.service`.

    `options` are the module's options; each of its `units` has a name and a state. Returns `writing files` if there are
    no units.
    """
    verbs: dict[str, list[str]] = {}
    for unit in options.get("units") or []:
        verbs.setdefault(VERBS.get(str(unit.get("state")), "starts"), []).append(str(unit.get("name")))
    return "; ".join(f"systemd {verb} {', '.join(names)}" for verb, names in verbs.items()) or "writing files"


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin of the module host_state: takes the module's options, and returns the module's result."""

    run = run_reporting(waited_for)
