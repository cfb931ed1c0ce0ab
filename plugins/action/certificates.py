"""Make, keep and check the certificates of hosts, on the control node."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))
from millrace.inventory import argument_spec
from millrace.pki import Pki
from millrace.problems import Problem, count, line, merged

# Inputs of the role that concern the host alone.
OF_THE_HOST = ("users",)


class ActionModule(ActionBase):
    """Runs in the process of Ansible itself, so no secret leaves it: no module is sent, nothing is on a command line."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with every mistake at once.

        Options are the role's inputs without their prefix (roles/pki/README.md), for this host. Or there is one, `hosts`: then the inputs
        of each of these are read from the inventory, and the answer has `hosts`, by their names.
        """
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        asked = self._task.args.get("hosts")
        inputs = self._inputs(task_vars["hostvars"], asked) if asked is not None else {task_vars["inventory_hostname"]: self._task.args}
        spec = {name.removeprefix("pki_"): option for name, option in argument_spec("pki").items()}
        spec = {name: option for name, option in spec.items() if name not in OF_THE_HOST}
        answers: dict[str, dict[str, Any]] = {}
        problems: list[Problem] = []
        diffs: list[dict[str, str]] = []
        valid = {host: ArgumentSpecValidator(spec).validate(options) for host, options in inputs.items()}
        for host, result in valid.items():
            if result.error_messages:
                return {"failed": True, "msg": f"certificates of {host}: {'; '.join(result.error_messages)}"}
        for host, result in valid.items():
            pki = Pki(host, result.validated_parameters, self._task.check_mode)
            try:
                pki.converge()
            except OSError as error:
                return {"failed": True, "msg": f"{error}; this folder of the control node is what pki_directory names"}
            problems += pki.problems
            diffs += pki.diffs
            answers[host] = {"changes": pki.changes, "held": pki.held, "directories": pki.directories, "files": pki.files}
        changes = [change for answer in answers.values() for change in answer["changes"]]
        errors = merged(problem for problem in problems if not problem.warning)
        if errors:
            Display().display("\n".join(line(problem, {}) for problem in errors))  # once: what a task fails with, Ansible prints twice
            return {"failed": True, "msg": f"{count(errors, 'mistake')}, listed above", "changes": changes, "diff": diffs}
        warnings = [line(problem, {}) for problem in merged(problems)]
        answer = {"hosts": answers} if asked is not None else next(iter(answers.values()))
        return {"changed": bool(changes), "diff": diffs, "warnings": warnings, **answer, "changes": changes}

    @staticmethod
    def _inputs(hostvars: Mapping[str, Any], hosts: list[str]) -> dict[str, dict[str, Any]]:
        """Return what the inventory says of each host, the role's inputs without their prefix."""
        names = [name for name in argument_spec("pki") if name.removeprefix("pki_") not in OF_THE_HOST]
        found: dict[str, dict[str, Any]] = {}
        for host in hosts:
            values = hostvars[host]
            found[host] = {name.removeprefix("pki_"): values[name] for name in names if name in values}
        return found
