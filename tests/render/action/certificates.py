"""The real action certificates, which makes what it would in check mode too: in a temporary folder, to be looked at."""

from __future__ import annotations

from importlib import import_module
from typing import Any

REAL = import_module("ansible_collections.millrace.kafka.plugins.action.real_certificates").ActionModule


def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run it as a real run does."""
    self._task.check_mode = False
    answer: dict[str, Any] = REAL.run(self, tmp, task_vars)
    return answer


ActionModule = type("ActionModule", (REAL,), {"run": run})
