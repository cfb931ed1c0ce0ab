"""Prints the health page of a datacenter; the task fails if the page lists a problem."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.millrace.kafka.plugins.plugin_utils.drawing.site import draw
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.html import (
    down,
    html,
    refusal,
    replace,
    unknown,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import (
    NOTHING,
    Certificates,
    as_json,
    page,
    with_timer,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model, check_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import other_mounts
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.preflight.inventory_files import (
    missing_plugin,
    several_inventories,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import survival_now


class ActionModule(ActionBase):  # type: ignore[misc]
    """Action plugin `health_page`; runs once, on the control node.

    The page shows what earlier tasks of the play registered: the results of host_probe, kafka_cluster and other
    modules.
    """

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Print the health page; return a failed result if the page lists a problem.

        The option `registers` is {kind of result: variable in which hosts have registered it}, such as {probe:
        check_probe}.
        """
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        names, hostvars = self._task.args["registers"], task_vars["hostvars"]
        reader = Reader(hostvars, task_vars["groups"], self._loader)
        model = reader.read()
        raw = {host: reader.raw(host) for host in model.all_groups["all"]}
        if whole := several_inventories(raw, model.function_hosts) or missing_plugin(raw, model.function_hosts):
            return {"failed": True, "msg": line(whole, {**model.groups, **model.all_groups})}
        file = self._task.args.get("file")
        if file is not None and (why := refusal(str(file))):
            return {"failed": True, "msg": why}
        if not names:
            return {"changed": False}
        values = [host for host in model.function_hosts if host in task_vars["ansible_play_hosts_all"]]
        answers = _answers(names, values, hostvars)

        def first(name: str, key: str) -> Any:
            return next((answer for answer in answers.get(name, ()) if key in answer), {})

        asked, held = first("ensemble", "modes"), first("certificates", "hosts")
        probed = zip(values, answers["probe"], strict=True)
        unasked = [] if asked.get("modes") else list(asked.get("problems", []))
        hosts = {host: declared(model, host) for host in values}
        probes = {host: with_mode(answer["probe"], host, asked) for host, answer in probed if "probe" in answer}
        admin = next(iter(model.all_groups.get("admin", ())), "localhost")
        asking = str(self._task.args.get("admin_host") or admin)
        if silent(asking, hosts.keys() - probes.keys(), answers):
            unasked.append(f"the admin host {asking}, which queries the brokers, does not answer")
        if timer := first("timer", "probe"):
            hosts, probes = with_timer(hosts, probes, admin, timer["probe"]["units"])
        answers_of_all = (
            hosts,
            probes,
            first("cluster", "brokers"),
            Certificates(
                {**held, "problems": [*held.get("problems", []), *unasked]},
                first("served", "served").get("served", []),
                int(self._task.args.get("certificate_days", 14)),
            ),
            {name: len(set(members) - set(values)) for name, members in model.groups.items()},
            first("mirrors", "flows") or first("mirrors", "msg"),
        )
        if not boolean(self._task.args.get("display", True), strict=False):
            return {"changed": False, "page": page(*answers_of_all)[0], "json": as_json(*answers_of_all)}
        text, problems = rendered(task_vars, answers_of_all)
        Display().display(text)
        if file is not None:
            problems = [*problems, *write_page(str(file), model, task_vars, as_json(*answers_of_all))]
        if problems:
            return {"failed": True, "msg": f"the site is not healthy: {'; '.join(problems)}"}
        return {"changed": False, "msg": "no problem found"}


def _answers(names: Mapping[str, str], hosts: Sequence[str], hostvars: Any) -> dict[str, list[Mapping[str, Any]]]:
    """Return {kind of result: what each host has registered}; `names` is the option `registers`."""
    return {name: [hostvars.raw_get(host).get(register) or {} for host in hosts] for name, register in names.items()}


def silent(admin: str, named: Collection[str], answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Tell whether the admin host could not be reached, and the health page does not report that yet.

    `named` are the hosts that the page already reports as unreachable. `answers` is {kind of result: results}; all
    results except those of the kind `probe` come from the admin host.
    """
    asked = (answer for name, found in answers.items() if name != "probe" for answer in found)
    return admin not in named and any(answer.get("unreachable") for answer in asked)


def with_mode(probe: Mapping[str, Any], host: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return `probe`, the host's result of host_probe, with the mode of its ZooKeeper server added, such as `leader`.

    `asked` is the result of zookeeper_ensemble. The leader also gets the number of connected servers that the inventory
    does not declare; for other servers that number is 0.
    """
    mode = asked.get("modes", {}).get(host, "not queried")
    return {
        **probe,
        "zookeeper_mode": mode,
        "zookeeper_undeclared": asked.get("undeclared", 0) if mode == "leader" else 0,
    }


def rendered(task_vars: Mapping[str, Any], answers: tuple[Any, ...]) -> tuple[str, list[str]]:
    """Return (health page, its problems); with the variable `check_output: json` the page is JSON, else text.

    `answers` are the arguments of the functions `page` and `as_json`.
    """
    text, problems = page(*answers)
    return (as_json(*answers) if task_vars.get("check_output") == "json" else text), problems


def write_page(file: str, model: Model, task_vars: Mapping[str, Any], facts_text: str) -> list[str]:
    """Write the page as HTML, with a drawing of the site and what it survives now, and display its path.

    `facts_text` is the page as JSON. An inventory with errors is not drawn. Returns why the page was not written, as
    an error text in a list.
    """
    facts, site, rows, drawing = json.loads(facts_text), Path(task_vars.get("inventory_dir") or "").name, [], ""
    if all(problem.warning for problem in check_model(model)):
        known = not unknown(facts)
        lost = down(facts) if known else frozenset()
        rows = survival_now(layout_of(model), lost) if model.cluster and known else []
        drawing = draw(model, [], site, lost)
    try:
        written = replace(file, lambda earlier: html(facts, site, drawing, rows, datetime.now(UTC), earlier))
    except OSError as error:
        return [f"page = {file} cannot be written: {error.strerror}"]
    if task_vars.get("check_output") != "json":
        Display().display(f"page written: {written}")
    return []


def declared(model: Model, host: str) -> dict[str, Any]:
    """Return what the inventory declares about a host: {functions, disks, listeners, broker_id, rack}."""
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
