"""Print one page on the health of a datacenter; fail only when something is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))
from millrace.health import Certificates, page
from millrace.inventory import Reader
from millrace.model import Model


class ActionModule(ActionBase):
    """Runs once, on the control node, from what host_probe and kafka_cluster answered."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Option `registers` names the variables in which each host's probe and the cluster's answer are."""
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        names, hostvars = self._task.args["registers"], task_vars["hostvars"]
        reader = Reader(hostvars, task_vars["groups"], self._loader)
        model = reader.read()
        values = [host for host in model.function_hosts if host in task_vars["ansible_play_hosts_all"]]
        answers = {host: {name: hostvars.raw_get(host).get(register) or {} for name, register in names.items()} for host in values}
        text, problems = page(
            {host: declared(model, host) for host in values},
            {host: answer["probe"]["probe"] for host, answer in answers.items() if "probe" in answer["probe"]},
            next((answer["cluster"] for answer in answers.values() if "brokers" in answer["cluster"]), {}),
            Certificates(
                next((answer["certificates"] for answer in answers.values() if "hosts" in answer.get("certificates", {})), {}),
                next((answer["served"]["served"] for answer in answers.values() if "served" in answer.get("served", {})), []),
                int(self._task.args.get("certificate_days", 14)),
            ),
        )
        Display().display(text)
        if problems:
            return {"failed": True, "msg": f"not healthy: {'; '.join(problems)}"}
        return {"changed": False, "msg": "healthy"}


def declared(model: Model, host: str) -> dict[str, Any]:
    """Return what the page compares the answers with."""
    listeners = {
        item["name"]: f"{item.get('advertised_address') or item['address']}:{item.get('advertised_port') or item['port']}"
        for item in model.sequence(host, "kafka_listeners")
    }
    function = next(name for name, members in model.groups.items() if host in members)
    return {"function": function, "broker_id": model.get(host, "kafka_broker_id"), "rack": model.get(host, "kafka_rack"), "listeners": listeners}
