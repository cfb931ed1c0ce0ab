"""In place of the module host_support: what its function reads on this machine, and what a test adds to it."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.millrace.kafka.plugins.module_utils.host.support import configuration


def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Answer with the configuration files of the folder `noted_files`, and the texts `noted_texts` {name: text}."""
    ActionBase.run(self, tmp, task_vars)
    variables = task_vars or {}
    host = variables["inventory_hostname"]
    if host in variables.get("noted_unreachable", []):
        return {"unreachable": True, "msg": "no route to host"}
    found = [vars(one) for one in configuration([variables["noted_files"]], "/nowhere")]
    texts = [
        {"name": name, "source": name, "content": text, "removed": 0, "cut": False}
        for name, text in variables["noted_texts"].items()
    ]
    return {
        "changed": False,
        "support": {
            "files": [*(one for one in found if "content" in one), *texts],
            "left_out": [one for one in found if "reason" in one],
        },
    }


ActionModule = type("ActionModule", (ActionBase,), {"run": run, "_requires_connection": False})
