"""Creates, renews and checks the certificates of hosts, on the control node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.ca_replacement import PreviousState
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.outside import CERTIFICATE_UNSIGNED
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.pki import Pki
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, count, line, merged
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

# Inputs of the role that only the tasks on the host use.
HOST_INPUTS = ("users",)


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin `certificates`; runs on the control node, in Ansible's own process.

    So no secret is passed to a module or a command line.
    """

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check the certificates of all hosts, and write them if no host has an error; else fail with all errors.

        The options of the task are the inputs of the role pki for this host, without their prefix
        (roles/pki/README.md). With the option `hosts`, the inputs of these hosts come from the inventory, and the key
        `hosts` of the result is {host: its result}. The option `ports` are dicts {host, authorities}: which CAs the TLS
        port of a host accepts.
        """
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        hosts = self._task.args.get("hosts")
        own = {name: value for name, value in self._task.args.items() if name not in ("hosts", "fail", "ports")}
        if hosts is None:
            inputs = {task_vars["inventory_hostname"]: own}
        else:
            inputs = self._inputs(task_vars["hostvars"], hosts, own)
        spec = {name.removeprefix("pki_"): option for name, option in argument_spec("pki").items()}
        spec = {name: option for name, option in spec.items() if name not in HOST_INPUTS}
        settings = {}
        for host, options in inputs.items():
            valid = ArgumentSpecValidator(spec).validate(options)
            if valid.error_messages:
                advice = "an argument is the variable of this name with the prefix pki_; correct the variable"
                return {"failed": True, "msg": f"certificates of {host}: {'; '.join(valid.error_messages)}; {advice}"}
            settings[host] = valid.validated_parameters
        try:
            hosts_done, errors = self._check_then_write(settings)
        except OSError as error:
            return {
                "failed": True,
                "msg": f"{error}; correct this path or its permissions, or set pki_directory to another folder",
            }
        return self._result(hosts_done, errors)

    def _check_then_write(self, settings: Mapping[str, Mapping[str, Any]]) -> tuple[list[Pki], list[Problem]]:
        """Check all hosts, then write files if no host has a problem; return the hosts and their problems.

        `settings` is {host: inputs of the role pki}. Raises OSError if a file cannot be read or written.
        """
        hosts = self._converge(settings, check_mode=True)
        errors = _errors(hosts)
        if not errors and not self._task.check_mode and any(pki.changes for pki in hosts):
            hosts = self._converge(settings, check_mode=False)
            errors = _errors(hosts)
        # A request to an outside CA must be written before the CA can sign it. The run ends here, so nothing else is
        # written.
        elif {problem.code for problem in errors} == {CERTIFICATE_UNSIGNED.code} and not self._task.check_mode:
            hosts = self._converge(settings, check_mode=False, requests=True)
        return hosts, errors

    def _result(self, hosts: list[Pki], errors: list[Problem]) -> dict[str, Any]:
        """Return the result of the task, failed if there are `errors` and the option `fail` is on.

        With the option `hosts`, the key `hosts` of the result is {host: its result}. Without this option, the result is
        that of the only host in `hosts`.
        """
        fail = bool(self._task.args.get("fail", True))
        changes = [change for pki in hosts for change in pki.changes]
        diffs = [diff for pki in hosts for diff in pki.diffs]
        if errors and fail:
            # Displayed once: Ansible prints the message of a failed task twice.
            Display().display("\n".join(line(problem, {}) for problem in errors))
            message = f"{count(errors, 'mistake')}, listed above"
            return {"failed": True, "msg": message, "changes": changes, "diff": diffs}
        warnings = [line(problem, {}) for problem in merged(problem for pki in hosts for problem in pki.problems)]
        answers = {
            pki.host: {
                "changes": pki.changes,
                "held": pki.held,
                "trusted": pki.trusted,
                "directories": pki.directories,
                "files": pki.files,
            }
            for pki in hosts
        }
        answer = {"hosts": answers} if self._task.args.get("hosts") is not None else next(iter(answers.values()))
        key = "warnings" if fail else "problems"
        return {"changed": bool(changes), "diff": diffs, key: warnings, **answer, "changes": changes}

    def _converge(
        self, settings: Mapping[str, Mapping[str, Any]], check_mode: bool, requests: bool = False
    ) -> list[Pki]:
        """Create the certificates of all hosts, one after the other, or only check them; return the hosts.

        With `requests`, only private keys and signing requests for an outside CA are written. Raises OSError if a file
        cannot be read or written.
        """
        previous = None
        ports = self._task.args.get("ports") or []
        hosts = []
        for host, options in settings.items():
            previous = previous or PreviousState(Path(options["directory"]), ports)
            hosts.append(Pki(host, options, check_mode, previous=previous, requests=requests))
            hosts[-1].converge()
        return hosts

    @staticmethod
    def _inputs(hostvars: Mapping[str, Any], hosts: list[str], own: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return {host: inputs of the role pki from the inventory, without their prefix}.

        `own` are the options of the task, which override the values of the inventory.
        """
        names = [name for name in argument_spec("pki") if name.removeprefix("pki_") not in HOST_INPUTS]
        inputs: dict[str, dict[str, Any]] = {}
        for host in hosts:
            values = hostvars[host]
            inputs[host] = {name.removeprefix("pki_"): values[name] for name in names if name in values} | own
        return inputs


def _errors(hosts: list[Pki]) -> list[Problem]:
    return merged(problem for pki in hosts for problem in pki.problems if not problem.warning)
