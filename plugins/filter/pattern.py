"""Filters that select the hosts of a play by the results of earlier tasks, and entries of the functions of a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils import run_lock
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import devices_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.identity import without_functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input

NO_HOSTS = "all:!all"


def function_pattern(groups: Mapping[str, Sequence[str]]) -> str:
    """Return the Ansible pattern of all hosts that have a function, as `zookeeper:kafka`; `groups` as Ansible's.

    Without any host it returns `localhost`, where preflight and check.yml report the empty inventory. Raises
    AnsibleFilterError if there are hosts and none has a function: the run would do nothing and succeed. Ansible
    evaluates it in the main process of a run, so it also prepares the locks of the run.
    """
    run_lock.prepare()
    pattern = ":".join(name for name in functions() if groups.get(name))
    if groups.get("all") and not pattern:
        raise AnsibleFilterError(line(without_functions(groups), groups))
    return pattern or "localhost"


def function_items(by_function: Mapping[str, Sequence[Any]], group_names: Sequence[str]) -> list[Any]:
    """Return the entries of `by_function` ({function: entries}) that belong to the functions of a host.

    Entries of other functions are not evaluated. An entry that is a mapping also gets the key `function`.
    """
    items = [(name, item) for name in by_function if name in group_names for item in by_function[name]]
    return [{**item, "function": name} if isinstance(item, Mapping) else item for name, item in items]


def lacking_java(hosts: Sequence[str], hostvars: Mapping[str, Any]) -> str:
    """Return the Ansible pattern of the hosts on which this run's probe did not find the java of the role java."""
    probes = {host: (hostvars.get(host, {}).get("preflight_probe") or {}).get("probe") for host in hosts}
    lacking = [
        host
        for host, probe in probes.items()
        if probe and role_input(hostvars[host], "java_executable") not in probe["java"]
    ]
    return ",".join(lacking) or NO_HOSTS


def owed_restart(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> str:
    """Return the Ansible pattern of the hosts whose unit has a pending restart.

    `register` names the variable with each host's result of host_state.
    """
    states = {host: (hostvars.get(host, {}).get(register) or {}).get("units") or {} for host in hosts}
    return ",".join(host for host, units in states.items() if units.get(unit, {}).get("restart_owed")) or NO_HOSTS


def _live(host: str, hostvars: Mapping[str, Any], register: str, unit: str) -> Mapping[str, Any]:
    units = (hostvars.get(host, {}).get(register) or {}).get("units") or {}
    live: Mapping[str, Any] = units.get(unit, {}).get("live") or {}
    return live


def owed_settings(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> str:
    """Return the Ansible pattern of the hosts whose running unit has to receive dynamic settings.

    `register` names the variable with each host's result of host_state.
    """
    return ",".join(host for host in hosts if _live(host, hostvars, register, unit).get("owed")) or NO_HOSTS


def settings_owed(
    hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str
) -> list[Mapping[str, Any]]:
    """Return the option `brokers` of kafka_live_config: the brokers whose process has to receive dynamic settings.

    `register` names the variable with each host's result of host_state.
    """
    states = [(host, _live(host, hostvars, register, unit)) for host in hosts]
    return [
        {
            "id": int(hostvars[host]["kafka_broker_id"]),
            "settings": live["settings"],
            "told": live["told"],
            "anew": live["anew"],
        }
        for host, live in states
        if live.get("owed")
    ]


def touched(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> list[str]:
    """Return the hosts whose unit was started or restarted by this run, or by an interrupted run before it.

    A pending restart counts as well. `register` names the variable with each host's result of host_state.
    """
    units = {host: ((hostvars.get(host, {}).get(register) or {}).get("units") or {}).get(unit, {}) for host in hosts}
    keys = ("started", "restart_owed", "marked")
    return [host for host, state in units.items() if any(state.get(key) for key in keys)]


def restart_marking(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> str:
    """Return the option `restart` of host_state for a run of restart.yml: mark, keep or again.

    Only marks of an earlier run for exactly `hosts` count. `mark` if that run has left restarts, or if there are no
    marks; `keep` if all hosts were restarted but the run did not finish; otherwise `again`. `register` names the
    variable with each host's result of host_probe, which has read the marks.
    """
    probes = [(hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts]

    def ours(probe: Mapping[str, Any], key: str) -> bool:
        runs = probe.get("restart_hosts") or {}
        return any(runs.get(unit) == sorted(hosts) for unit in probe.get(key) or ())

    due, done = (sum(ours(probe, key) for probe in probes) for key in ("to_restart", "restarted"))
    if due or not done:
        return "mark"
    return "keep" if done == len(hosts) else "again"


def restart_unnamed(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> list[str]:
    """Return the hosts of earlier, unfinished runs of restart.yml that are not in `hosts`.

    Such a run has marked at least one of `hosts`. `register` names the variable with each host's result of host_probe.
    """
    probes = [(hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts]
    runs = [run for probe in probes for run in (probe.get("restart_hosts") or {}).values()]
    return sorted({host for run in runs for host in run} - set(hosts))


def sick_brokers(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> list[int]:
    """Return the ids of the brokers that have taken a log dir offline.

    `register` names the variable with each host's result of host_probe.
    """
    probes = {host: (hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts}
    return [int(hostvars[host]["kafka_broker_id"]) for host, probe in probes.items() if probe.get("given_up")]


def log_dir_devices(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> dict[str, dict[str, int]]:
    """Return {id of a broker: {log dir: device number (st_dev) of its file system}}.

    `register` names the variable with each host's result of host_probe.
    """
    probes = {host: (hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts}
    names = {str(hostvars[host]["kafka_broker_id"]): host for host, probe in probes.items() if probe}
    devices: dict[str, dict[str, int]] = {number: {} for number in names}
    for (number, path), device in devices_of(names, probes).items():
        devices[number][path] = device
    return devices


def lacked_before(hosts: Sequence[str], hostvars: Mapping[str, Any], *registers: str) -> dict[str, Any]:
    """Return what the cluster was missing at the earliest result with the key `lacking`; {} if nothing, or no result.

    `registers` name the variables with results of kafka_cluster or kafka_gate.
    """
    results = [result for result in _results(hosts, hostvars, registers) if "lacking" in result]
    return dict(results[0]["lacking"]) if results else {}


def latest_answer(hosts: Sequence[str], hostvars: Mapping[str, Any], *registers: str) -> dict[str, Any]:
    """Return the latest result that these hosts registered, by its key `at`; {} without a result.

    `registers` name the variables with results of a gate.
    """
    results = _results(hosts, hostvars, registers)
    return dict(results[-1]) if results else {}


def following_batch(batches: Sequence[Sequence[Any]], ids: Sequence[Any]) -> list[int]:
    """Return the batch after the batch `ids` in an order of batches.

    Returns [] if that is the last one, or is not in the order.
    """
    given, at = [sorted(map(int, batch)) for batch in batches], sorted(map(int, ids))
    return next(iter(given[given.index(at) + 1 :]), []) if at in given else []


def restart_batches(
    hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str, order: str
) -> list[list[str]]:
    """Return the hosts whose unit has a pending restart, in the order and batches of a gate.

    `register` and `order` name the variables with results of host_state and of the gate. Hosts that the gate did not
    name, as in a check of a cluster that does not exist yet, are last, one by one.
    """
    pending = [host for host in owed_restart(hosts, hostvars, register, unit).split(",") if host != NO_HOSTS]
    results = (hostvars[host].get(order) or {} for host in pending)
    answer = next((result for result in results if "batches" in result or "order" in result), {})
    ids = {str(hostvars[host].get("kafka_broker_id")): host for host in pending} if "batches" in answer else {}
    batches = [[ids.get(str(number), "") for number in batch] for batch in answer.get("batches") or []]
    batches += [[name] for name in answer.get("order") or []]
    batches = [[host for host in batch if host in pending] for batch in batches]
    named = {host for batch in batches for host in batch}
    return [batch for batch in batches if batch] + [[host] for host in pending if host not in named]


def broker_host(hosts: Sequence[str], hostvars: Mapping[str, Any], broker: Any) -> str:
    """Return the host of the broker with this id.

    Raises AnsibleFilterError if the inventory has no such broker. Without hostvars, as in a syntax check, returns the
    pattern of no hosts.
    """
    if not hostvars:
        return NO_HOSTS
    ids = {str(hostvars[host].get("kafka_broker_id")): host for host in hosts}
    if str(broker).strip() not in ids:
        wrong = f"the inventory has no broker {broker}" if str(broker).strip() else "no broker is set"
        raise AnsibleFilterError(f"{wrong}; use one of {', '.join(sorted(ids))}, as -e broker={next(iter(ids), 3)}")
    return ids[str(broker).strip()]


def controller_last(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> list[str]:
    """Return the brokers' hosts with the controller's host last.

    `register` names the variable with the result of kafka_cluster, which one of the hosts has.
    """
    answers = [(hostvars.get(host) or {}).get(register) or {} for host in hosts]
    controller = next((answer["controller"] for answer in answers if "controller" in answer), -1)
    return sorted(hosts, key=lambda host: int((hostvars.get(host) or {}).get("kafka_broker_id", -1)) == controller >= 0)


def silent_hosts(
    hosts: Sequence[str],
    present: Sequence[str],
    hostvars: Mapping[str, Any] | None = None,
    own: Sequence[str] | None = None,
    asked: Sequence[str] | None = None,
    admin: str = "",
    complete: bool = False,
) -> list[str]:
    """Return the hosts that could not be reached, sorted; the options are described in silent_hosts.yml.

    `own` and `asked` name variables with results of tasks on the hosts, and of tasks delegated to the host `admin`.
    """
    silent = set()
    for host in hosts:
        variables = (hostvars or {}).get(host) or {}
        answers = [variables.get(name) or {} for name in own or ()]
        if any(answer.get("unreachable") for answer in answers):
            silent.add(host)
        elif any((variables.get(name) or {}).get("unreachable") for name in asked or ()):
            silent.add(admin)
        elif host not in present:
            silent.add(admin or host)
        elif complete and all(answer.get("skipped", not answer) for answer in answers):
            silent.add(host)
    return sorted(silent)


def _results(hosts: Sequence[str], hostvars: Mapping[str, Any], registers: Sequence[str]) -> list[Mapping[str, Any]]:
    results = [hostvars.get(host, {}).get(name) or {} for name in registers for host in hosts]
    return sorted((result for result in results if "at" in result), key=lambda result: float(result["at"]))


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "broker_host": broker_host,
            "controller_last": controller_last,
            "following_batch": following_batch,
            "function_items": function_items,
            "function_pattern": function_pattern,
            "lacked_before": lacked_before,
            "lacking_java": lacking_java,
            "latest_answer": latest_answer,
            "log_dir_devices": log_dir_devices,
            "owed_restart": owed_restart,
            "owed_settings": owed_settings,
            "restart_batches": restart_batches,
            "restart_marking": restart_marking,
            "restart_unnamed": restart_unnamed,
            "settings_owed": settings_owed,
            "silent_hosts": silent_hosts,
            "sick_brokers": sick_brokers,
            "touched": touched,
        }
