"""Make, keep and check the certificates of hosts, on the control node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.pki import Pki
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.rotation import Before
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, count, line, merged
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

# Inputs of the role that concern the host alone.
OF_THE_HOST = ("users",)


class ActionModule(ActionBase):
    """Runs in the process of Ansible itself, so no secret leaves it.

    No module is sent, nothing is on a command line.
    """

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with every mistake at once.

        Options are the role's inputs without their prefix (roles/pki/README.md), for this host. Or there is one,
        `hosts`: then the inputs of each of these are read from the inventory, and the answer has `hosts`, by their
        names. `ports` are what tls_served answered.
        """
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        asked = self._task.args.get("hosts")
        more = {name: value for name, value in self._task.args.items() if name not in ("hosts", "fail", "ports")}
        if asked is None:
            inputs = {task_vars["inventory_hostname"]: more}
        else:
            inputs = self._inputs(task_vars["hostvars"], asked, more)
        spec = {name.removeprefix("pki_"): option for name, option in argument_spec("pki").items()}
        spec = {name: option for name, option in spec.items() if name not in OF_THE_HOST}
        settings = {}
        for host, options in inputs.items():
            valid = ArgumentSpecValidator(spec).validate(options)
            if valid.error_messages:
                return {"failed": True, "msg": f"certificates of {host}: {'; '.join(valid.error_messages)}"}
            settings[host] = valid.validated_parameters
        try:
            found, errors = self._judge_and_make(settings)
        except OSError as error:
            return {"failed": True, "msg": f"{error}; this folder of the control node is what pki_directory names"}
        return self._answer(found, errors)

    def _judge_and_make(self, settings: Mapping[str, Mapping[str, Any]]) -> tuple[list[Pki], list[Problem]]:
        """Write files only once it is known that nothing is wrong anywhere. Raises OSError."""
        found = self._converge(settings, check_mode=True)
        errors = _errors(found)
        if not errors and not self._task.check_mode and any(pki.changes for pki in found):
            found = self._converge(settings, check_mode=False)
            errors = _errors(found)
        # A request to an outside CA has to be written before its answer can be there; nothing else is, for this run
        # ends here.
        elif {problem.code for problem in errors} == {"CERTIFICATE_UNSIGNED"} and not self._task.check_mode:
            found = self._converge(settings, check_mode=False, requests=True)
        return found, errors

    def _answer(self, found: list[Pki], errors: list[Problem]) -> dict[str, Any]:
        """Return the task's result; of one host without the level of its name."""
        fail = bool(self._task.args.get("fail", True))
        changes = [change for pki in found for change in pki.changes]
        diffs = [diff for pki in found for diff in pki.diffs]
        if errors and fail:
            # Once: what a task fails with, Ansible prints twice.
            Display().display("\n".join(line(problem, {}) for problem in errors))
            message = f"{count(errors, 'mistake')}, listed above"
            return {"failed": True, "msg": message, "changes": changes, "diff": diffs}
        warnings = [line(problem, {}) for problem in merged(problem for pki in found for problem in pki.problems)]
        answers = {
            pki.host: {
                "changes": pki.changes,
                "held": pki.held,
                "trusted": pki.trusted,
                "directories": pki.directories,
                "files": pki.files,
            }
            for pki in found
        }
        answer = {"hosts": answers} if self._task.args.get("hosts") is not None else next(iter(answers.values()))
        more_to_say = {"warnings": warnings} if fail else {"problems": warnings}
        return {"changed": bool(changes), "diff": diffs, **more_to_say, **answer, "changes": changes}

    def _converge(
        self, settings: Mapping[str, Mapping[str, Any]], check_mode: bool, requests: bool = False
    ) -> list[Pki]:
        """Take all hosts in turn. Raises OSError."""
        before = None
        ports = self._task.args.get("ports") or []
        found = []
        for host, options in settings.items():
            before = before or Before(Path(options["directory"]), ports)
            found.append(Pki(host, options, check_mode, before=before, requests=requests))
            found[-1].converge()
        return found

    @staticmethod
    def _inputs(hostvars: Mapping[str, Any], hosts: list[str], more: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what the inventory says of each host, the role's inputs without their prefix.

        The task's own options go before.
        """
        names = [name for name in argument_spec("pki") if name.removeprefix("pki_") not in OF_THE_HOST]
        found: dict[str, dict[str, Any]] = {}
        for host in hosts:
            values = hostvars[host]
            found[host] = {name.removeprefix("pki_"): values[name] for name in names if name in values} | more
        return found


def _errors(found: list[Pki]) -> list[Problem]:
    return merged(problem for pki in found for problem in pki.problems if not problem.warning)
