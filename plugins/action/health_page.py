"""Print one page on the health of a datacenter; fail only when something is wrong."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import (
    NOTHING,
    Certificates,
    as_json,
    page,
    with_timer,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import other_mounts
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.inventory_files import several, without_wiring
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs once, on the control node, from what host_probe and kafka_cluster answered."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Option `registers` names the variables in which each host's probe and the cluster's answer are."""
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        names, hostvars = self._task.args["registers"], task_vars["hostvars"]
        reader = Reader(hostvars, task_vars["groups"], self._loader)
        model = reader.read()
        raw = {host: reader.raw(host) for host in model.all_groups["all"]}
        if whole := several(raw, model.function_hosts) or without_wiring(raw, model.function_hosts):
            return {"failed": True, "msg": line(whole, {**model.groups, **model.all_groups})}
        values = [host for host in model.function_hosts if host in task_vars["ansible_play_hosts_all"]]
        answers = {
            name: [hostvars.raw_get(host).get(register) or {} for host in values] for name, register in names.items()
        }

        def first(name: str, key: str) -> Any:
            return next((answer for answer in answers.get(name, ()) if key in answer), {})

        asked, held = first("ensemble", "modes"), first("certificates", "hosts")
        probed = zip(values, answers["probe"], strict=True)
        unasked = [] if asked.get("modes") else list(asked.get("problems", []))
        hosts = {host: declared(model, host) for host in values}
        probes = {host: with_mode(answer["probe"], host, asked) for host, answer in probed if "probe" in answer}
        admin = next(iter(model.all_groups.get("admin", ())), "localhost")
        if silent(admin, hosts.keys() - probes.keys(), answers):
            unasked.append(f"{admin}, from where brokers are asked, does not answer")
        if timer := first("timer", "probe"):
            hosts, probes = with_timer(hosts, probes, admin, timer["probe"]["units"])
        found = (
            hosts,
            probes,
            first("cluster", "brokers"),
            Certificates(
                {**held, "problems": [*held.get("problems", []), *unasked]},
                first("served", "served").get("served", []),
                int(self._task.args.get("certificate_days", 14)),
            ),
            {name: len(set(members) - set(values)) for name, members in model.groups.items()},
        )
        text, problems = said(task_vars, found)
        Display().display(text)
        if problems:
            return {"failed": True, "msg": f"not healthy: {'; '.join(problems)}"}
        return {"changed": False, "msg": "healthy"}


def silent(admin: str, named: Collection[str], answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Tell whether the admin host was not reached, and is not `named` for it as a host that does not answer itself."""
    asked = (answer for name, found in answers.items() if name != "probe" for answer in found)
    return admin not in named and any(answer.get("unreachable") for answer in asked)


def with_mode(probe: Mapping[str, Any], host: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a host answered, and in which mode the control node found its ZooKeeper server; of the leader,
    how many follow it besides."""
    mode = asked.get("modes", {}).get(host, "not asked")
    return {
        **probe,
        "zookeeper_mode": mode,
        "zookeeper_strangers": asked.get("strangers", 0) if mode == "leader" else 0,
    }


def said(
    task_vars: Mapping[str, Any],
    found: tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any], Certificates, Mapping[str, int]],
) -> tuple[str, list[str]]:
    """Return what is printed, for people or for programs, and what is wrong."""
    text, problems = page(*found)
    return (as_json(*found) if task_vars.get("check_output") == "json" else text), problems


def declared(model: Model, host: str) -> dict[str, Any]:
    """Return what the page compares the answers with."""
    facts: dict[str, Any] = {**NOTHING, "listeners": {}, "disks": []}
    facts["functions"] = [name for name, members in model.groups.items() if host in members]
    facts["disks"] += [path for _, path in other_mounts(model, model.machines[host])]
    for server in model.servers:
        if server.name == host and server.inputs.on("zookeeper_data_log_dir_is_mount"):
            facts["disks"] += [server.inputs.get("zookeeper_data_log_dir")]
    for broker in model.brokers:
        if broker.name == host:
            facts["listeners"] = {item.name: item.advertised for item in broker.listeners}
            facts["broker_id"], facts["rack"] = broker.inputs.get("kafka_broker_id"), broker.kafka_rack
            facts["disks"] += broker.log_dirs if broker.inputs.on("kafka_log_dirs_are_mounts") else []
    return facts
