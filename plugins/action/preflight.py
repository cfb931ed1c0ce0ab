"""Reports all problems of the inventory, or of the hosts, before a run changes anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.file import problems as drawing_problems
from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.file import write
from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.site import draw as drawing_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover_record import (
    FAILOVER_ACTIVE,
    FAILOVER_UNREADABLE,
    HOST_LOCK,
    VARIABLE,
    lock_problem,
    text_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts import check_hosts
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import datacenters
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.library_folders import library_folders
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.required_connections import peers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.encrypted_values import without_encrypted
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.inventory_problems import problems_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, as_json, count, merged, report
from ansible_collections.millrace.kafka.plugins.plugin_utils.run_lock import problems as lock_problems
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.tables import text_table
from ansible_collections.millrace.kafka.plugins.plugin_utils.tags import only_preflight, unknown_tags
from ansible_collections.millrace.kafka.plugins.plugin_utils.upgrades import Upgrade, lines, upgrades
from ansible_collections.millrace.kafka.plugins.plugin_utils.upgrades import rows as upgrade_rows

SURVIVAL = ("failure", "quorum", "writable", "zero_loss", "who")


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin `preflight`; runs once, on the control node.

    It checks all hosts of the inventory, even if --limit selects only some hosts.
    """

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check the inventory, or with the option `register` the hosts; report all problems at once, fail on errors.

        `register` is the variable that has each host's result of host_probe. If the inventory has no error and the
        option `changes` is on, the hosts are locked until the run ends.
        """
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        register = self._task.args.get("register")
        reader = Reader(task_vars["hostvars"], task_vars["groups"], self._loader)
        model = reader.read()
        rows, versions, drawn = [], list[Upgrade](), ""
        corrected = self._task.args.get("mends") or ()
        changes = boolean(self._task.args.get("changes", False))
        if register is None:
            what = count(model.function_hosts, "host")
            drawing, problems = task_vars.get("drawing"), problems_of(reader, model)
            if drawing is not None:
                problems += drawing_problems(str(drawing), boolean(task_vars.get("drawing_overwrite"), strict=False))
            if FAILOVER_ACTIVE.code not in corrected:
                problems += failover_of_control_node(model, changes)
            if self._will_change(task_vars) and all(problem.warning for problem in problems):
                problems += lock_problems(addresses(model), str(self._task.args.get("lock_directory") or ""))
            for text in unknown_tags(task_vars.get("ansible_run_tags", ()), task_vars.get("ansible_skip_tags", ())):
                Display().warning(text)
            is_correct = all(problem.warning for problem in problems)
            if self._task.args.get("survival", True) and is_correct and model.cluster:
                rows = survival(layout_of(model))
            if drawing is not None and is_correct:
                try:
                    drawn = draw(model, task_vars, str(drawing))
                except OSError as error:
                    return {"failed": True, "msg": f"drawing = {drawing}: cannot be written: {error.strerror}"}
        else:
            raw = task_vars["hostvars"].raw_get
            results = {host: raw(host)[register] for host in task_vars["ansible_play_hosts"]}
            probes = {host: result["probe"] for host, result in results.items() if not result.get("unreachable")}
            what = count(list(probes), "host")
            problems = without_encrypted(self._of_hosts(model, probes, corrected, changes), reader)
            versions = upgrades(model, probes)
        errors = [problem for problem in problems if not problem.warning]
        text = report(problems, {**model.groups, **model.all_groups})
        if task_vars.get("preflight_output") == "json":
            table = [{name: getattr(row, name) for name in SURVIVAL} for row in rows]
            of_phase = {"upgrades": upgrade_rows(versions)} if register else {"drawing": drawn} if drawn else {}
            text = as_json(problems, phase="hosts" if register else "model", survival=table, **of_phase)
        elif rows or drawn:
            table_text = text_table(f"What this layout ({model.layout}) survives:", rows) if rows else ""
            text = "\n".join(filter(None, [text, table_text, drawn and f"drawing written: {drawn}"]))
        elif versions:
            changed = lines(versions, {**model.groups, **model.all_groups})
            text = "\n".join(filter(None, ["What the declared versions change:", *changed, text]))
        if text:
            Display().display(text)  # once: Ansible prints the message of a failed task twice
        if errors:
            return {"failed": True, "msg": f"{count(merged(errors), 'mistake')}, listed above; no host was changed"}
        questions = {} if register else probe_questions(model, task_vars["ansible_play_hosts"])
        return {"changed": False, "msg": f"{what} checked, no mistake found", **questions}

    def _of_hosts(
        self, model: Model, probes: Mapping[str, Mapping[str, Any]], corrected: Collection[str], changes: bool
    ) -> list[Problem]:
        """Return the problems of the probed hosts; those whose code is in `corrected` are warnings."""
        undeclared, offline = self._task.args.get("undeclared"), self._task.args.get("offline")
        alone, lost = self._task.args.get("alone"), self._task.args.get("lost")
        registered = self._task.args.get("registered") or ()
        found = check_hosts(model, probes, undeclared or {}, offline or (), alone or {}, lost or (), registered)
        problems = [replace(problem, warning=True) if problem.code in corrected else problem for problem in found]
        return problems + ([] if FAILOVER_ACTIVE.code in corrected else failover_of_hosts(model, probes, changes))

    def _will_change(self, task_vars: Mapping[str, Any]) -> bool:
        """Tell whether the following plays change hosts: `changes` is on, without --check and --tags preflight."""
        changes = boolean(self._task.args.get("changes", False))
        return changes and not self._task.check_mode and not only_preflight(task_vars.get("ansible_run_tags", ()))


def declared(model: Model) -> list[str]:
    """Return the names of the datacenters and hosts of the inventory that have a function."""
    return [*datacenters(model.functional), *(machine.name for machine in model.functional)]


def failover_of_control_node(model: Model, changes: bool) -> list[Problem]:
    """Return the problem of a failover of which the control node has a record; a warning unless the run `changes`."""
    paths = {str(machine.inputs.get("failover_lock") or "") for machine in model.functional} - {""}
    found = list[Problem]()
    for path in sorted(paths):
        try:
            found += lock_problem(text_of(path), path, HOST_LOCK, (), declared(model))
        except ValueError:
            found.append(FAILOVER_UNREADABLE.problem((), VARIABLE, path, other=HOST_LOCK))
    return [replace(problem, warning=not changes) for problem in found]


def failover_of_hosts(model: Model, probes: Mapping[str, Mapping[str, Any]], changes: bool) -> list[Problem]:
    """Return the problems of a failover of which hosts have a record; warnings unless the run `changes`.

    `probes` is {host: result of the module host_probe}. Hosts with the same record are in one problem.
    """
    by_text: dict[str, list[str]] = {}
    for host, probe in probes.items():
        by_text.setdefault(str(probe.get("failover") or ""), []).append(host)
    paths = {str(machine.inputs.get("failover_lock") or "") for machine in model.functional} - {""}
    other = ", ".join(sorted(paths)) or "the other hosts"
    found = [
        problem
        for text, hosts in by_text.items()
        for problem in lock_problem(text, HOST_LOCK, other, hosts, declared(model))
    ]
    return [replace(problem, warning=not changes) for problem in found]


def probe_questions(model: Model, hosts: Sequence[str]) -> dict[str, Any]:
    """Return the options `peers`, `java` and `exec_paths` for the module host_probe, each as {host: value}.

    `peers` are the addresses that the host must reach; `java` are the paths of the java commands that its functions
    use; `exec_paths` are the folders from which its JVMs load libraries, and those that messages advise instead.
    """
    return {
        "peers": {host: peers(model, host) for host in hosts},
        "java": {host: list(model.executables(model.machines[host])) for host in hosts},
        "exec_paths": {
            host: sorted(
                {path for use in library_folders(model, model.machines[host]) for path in (use.path, use.home)}
            )
            for host in hosts
        },
    }


def draw(model: Model, task_vars: Mapping[str, Any], file: str) -> str:
    """Draw the site into a file, and return the absolute path of the file. Raises OSError."""
    rows = survival(layout_of(model)) if model.cluster else []
    return str(write(file, drawing_of(model, rows, Path(task_vars.get("inventory_dir") or "").name)))


def addresses(model: Model) -> dict[str, str]:
    """Return {host: its client address}; runs lock hosts by these addresses.

    The client address of a host is the same in each checkout and inventory, so all runs lock the same file for a host.
    """
    return {machine.name: str(machine.address("client")) for machine in model.functional}
