"""The real action certificates, which also in check mode makes what it would: in a temporary folder, so that files can be looked at."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parents[3] / "plugins" / "action" / "certificates.py"


def real() -> Any:
    """Return the class of the action."""
    spec = importlib.util.spec_from_file_location("render_certificates", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ActionModule


def run(self: Any, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run it as a real run does."""
    self._task.check_mode = False
    answer: dict[str, Any] = REAL.run(self, tmp, task_vars)
    return answer


REAL = real()
ActionModule = type("ActionModule", (REAL,), {"run": run})
