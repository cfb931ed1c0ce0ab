"""Make, keep and check the certificates of a host, on the control node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))
from millrace.inventory import argument_spec
from millrace.pki import Pki
from millrace.problems import count, line, merged

# Inputs of the role that concern the host alone.
OF_THE_HOST = ("users",)


class ActionModule(ActionBase):
    """Runs in the process of Ansible itself, so no secret leaves it: no module is sent, nothing is on a command line."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Options are the role's inputs without their prefix (roles/pki/README.md); fail with every mistake of this host at once."""
        super().run(tmp, task_vars)
        host = (task_vars or {})["inventory_hostname"]
        spec = {name.removeprefix("pki_"): option for name, option in argument_spec("pki").items()}
        valid = ArgumentSpecValidator({name: option for name, option in spec.items() if name not in OF_THE_HOST}).validate(self._task.args)
        if valid.error_messages:
            return {"failed": True, "msg": f"certificates: {'; '.join(valid.error_messages)}"}
        pki = Pki(host, valid.validated_parameters, self._task.check_mode)
        try:
            pki.converge()
        except OSError as error:
            return {"failed": True, "msg": f"{error}; this folder of the control node is what pki_directory names"}
        errors = merged(problem for problem in pki.problems if not problem.warning)
        if errors:
            Display().display("\n".join(line(problem, {}) for problem in errors))  # once: what a task fails with, Ansible prints twice
            return {"failed": True, "msg": f"{count(errors, 'mistake')}, listed above", "changes": pki.changes, "diff": pki.diffs}
        return {
            "changed": bool(pki.changes),
            "changes": pki.changes,
            "diff": pki.diffs,
            "warnings": [line(problem, {}) for problem in merged(pki.problems)],
            "held": pki.held,
            "directories": pki.directories,
            "files": pki.files,
        }
