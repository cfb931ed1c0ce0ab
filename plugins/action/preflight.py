"""Say everything that is wrong with the inventory, then with the hosts, before anything is changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))
from millrace.hosts import check_hosts
from millrace.inventory import Reader, certificate_problems, job_problems
from millrace.model import check_model
from millrace.model.layout import layout_of
from millrace.model.peers import peers
from millrace.problems import as_json, count, merged, report
from millrace.survival import survival, text_table


class ActionModule(ActionBase):
    """Runs once, on the control node, for all hosts of the inventory, also under --limit."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with every mistake at once; option `register` (where each host's answer of host_probe is) selects the second phase."""
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        register = self._task.args.get("register")
        reader = Reader(task_vars["hostvars"], task_vars["groups"], self._loader)
        model = reader.read()
        rows = []
        if register is None:
            what = count(model.function_hosts, "host")
            problems = [*reader.said_of(check_model(model)), *job_problems(model), *certificate_problems(reader, model)]
            if not any(not problem.warning for problem in problems) and model.cluster_hosts:
                rows = survival(layout_of(model))
        else:
            raw = task_vars["hostvars"].raw_get
            probes = {host: raw(host)[register]["probe"] for host in task_vars["ansible_play_hosts"]}
            what = count(list(probes), "host")
            problems = check_hosts(model, probes)
        errors = [problem for problem in problems if not problem.warning]
        said = report(problems, {**model.groups, **model.all_groups})
        if task_vars.get("preflight_output") == "json":
            table = [
                {"failure": row.failure, "quorum": row.quorum, "writable": row.writable, "zero_loss": row.zero_loss, "who": row.who} for row in rows
            ]
            said = as_json(problems, phase="hosts" if register else "model", survival=table)
        elif rows:
            said = "\n".join(filter(None, [said, text_table(f"What this layout ({model.layout}) survives:", rows)]))
        if said:
            Display().display(said)  # once: what a task fails with, Ansible prints twice
        if errors:
            return {"failed": True, "msg": f"{count(merged(errors), 'mistake')}, listed above; no host was changed"}
        more = {} if register else {"peers": {host: peers(model, host) for host in task_vars["ansible_play_hosts"]}}
        return {"changed": False, "msg": f"{what}, no mistake found", **more}
