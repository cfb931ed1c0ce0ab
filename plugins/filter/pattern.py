"""Filters that select the hosts of a play by the results of earlier tasks, and entries of the functions of a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import devices_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.identity import without_functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input

NO_HOSTS = "all:!all"


def function_pattern(groups: Mapping[str, Sequence[str]]) -> str:
    """Return the Ansible pattern of all hosts that have a function, such as `zookeeper:kafka`.

    `groups` is Ansible's {group: hosts}. For an empty inventory returns `localhost`, so that preflight and check.yml
    run there and report the empty inventory. Raises AnsibleFilterError if there are hosts but none has a function: the
    run would do nothing and succeed.
    """
    pattern = ":".join(name for name in functions() if groups.get(name))
    if groups.get("all") and not pattern:
        raise AnsibleFilterError(line(without_functions(groups), groups))
    return pattern or "localhost"


def function_items(by_function: Mapping[str, Sequence[Any]], group_names: Sequence[str]) -> list[Any]:
    """Return the entries of those functions that a host has, as one list.

    `by_function` is {function: entries}, `group_names` are the groups of the host. An entry that is a mapping gets the
    key `function` added. Entries of other functions are not evaluated.
    """
    items = [(name, item) for name in by_function if name in group_names for item in by_function[name]]
    return [{**item, "function": name} if isinstance(item, Mapping) else item for name, item in items]


def lacking_java(hosts: Sequence[str], hostvars: Mapping[str, Any]) -> str:
    """Return the Ansible pattern of the hosts on which host_probe did not find the command java_executable.

    java_executable is an input of the role java. If all hosts have the command, the pattern matches no host. `hostvars`
    is {host: variables}; the variable preflight_probe has the result of host_probe.
    """
    probes = {host: (hostvars.get(host, {}).get("preflight_probe") or {}).get("probe") for host in hosts}
    lacking = [
        host
        for host, probe in probes.items()
        if probe and role_input(hostvars[host], "java_executable") not in probe["java"]
    ]
    return ",".join(lacking) or NO_HOSTS


def owed_restart(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> str:
    """Return the Ansible pattern of the hosts on which the systemd unit `unit` has a pending restart.

    Without such a host, the pattern matches no host. `register` is the variable that has each host's result of
    host_state, `hostvars` is {host: variables}.
    """
    states = {host: (hostvars.get(host, {}).get(register) or {}).get("units") or {} for host in hosts}
    return ",".join(host for host, units in states.items() if units.get(unit, {}).get("restart_owed")) or NO_HOSTS


def _live(host: str, hostvars: Mapping[str, Any], register: str, unit: str) -> Mapping[str, Any]:
    units = (hostvars.get(host, {}).get(register) or {}).get("units") or {}
    live: Mapping[str, Any] = units.get(unit, {}).get("live") or {}
    return live


def owed_settings(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> str:
    """Return the Ansible pattern of the hosts whose running `unit` has not received all its live settings.

    Live settings are settings that a broker can apply without a restart. Without such a host, the pattern matches no
    host. `register` is the variable that has each host's result of host_state, `hostvars` is {host: variables}.
    """
    return ",".join(host for host in hosts if _live(host, hostvars, register, unit).get("owed")) or NO_HOSTS


def settings_owed(
    hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str
) -> list[Mapping[str, Any]]:
    """Return dicts for the option `brokers` of kafka_live_config: brokers that have not received all live settings.

    The documentation of kafka_live_config describes the keys `id`, `settings`, `told` and `anew`. `unit` is the systemd
    unit of the broker. `register` is the variable that has each host's result of host_state, `hostvars` is {host:
    variables}.
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
    """Return the hosts on which `unit` was started or restarted by this run, or by an earlier run that was interrupted.

    Hosts on which a restart of the unit is pending are returned too. `register` is the variable that has each host's
    result of host_state, `hostvars` is {host: variables}.
    """
    units = {host: ((hostvars.get(host, {}).get(register) or {}).get("units") or {}).get(unit, {}) for host in hosts}
    keys = ("started", "restart_owed", "marked")
    return [host for host, state in units.items() if any(state.get(key) for key in keys)]


def restart_marking(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> str:
    """Return how restart.yml marks units for a restart (the option `restart` of host_state): mark, keep or again.

    - mark: an earlier run for exactly `hosts` has not restarted all marked units, or no such run left marks;
    - keep: an earlier run for exactly `hosts` restarted the units of all hosts, but did not finish;
    - again: an earlier run for exactly `hosts` marked and restarted the units of only some hosts.

    `register` is the variable that has each host's result of host_probe, `hostvars` is {host: variables}.
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
    """Return the hosts of earlier, unfinished runs of restart.yml that are missing in `hosts`, sorted.

    Only runs that marked at least one of `hosts` for a restart count. `register` is the variable that has each host's
    result of host_probe, `hostvars` is {host: variables}.
    """
    probes = [(hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts]
    runs = [run for probe in probes for run in (probe.get("restart_hosts") or {}).values()]
    return sorted({host for run in runs for host in run} - set(hosts))


def sick_brokers(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> list[int]:
    """Return the ids of the brokers that have taken a log dir offline.

    `register` is the variable that has each host's result of host_probe, `hostvars` is {host: variables}.
    """
    probes = {host: (hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts}
    return [int(hostvars[host]["kafka_broker_id"]) for host, probe in probes.items() if probe.get("given_up")]


def log_dir_devices(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> dict[str, dict[str, int]]:
    """Return {broker id as text: {log dir: device number (st_dev) of the file system that holds it}}.

    `register` is the variable that has each host's result of host_probe, `hostvars` is {host: variables}.
    """
    probes = {host: (hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts}
    names = {str(hostvars[host]["kafka_broker_id"]): host for host, probe in probes.items() if probe}
    devices: dict[str, dict[str, int]] = {number: {} for number in names}
    for (number, path), device in devices_of(names, probes).items():
        devices[number][path] = device
    return devices


def lacked_before(hosts: Sequence[str], hostvars: Mapping[str, Any], *registers: str) -> dict[str, Any]:
    """Return the key `lacking` of the earliest result that has it: what kept the cluster from being healthy.

    Returns {} if no result has this key. `registers` are variables that have results of kafka_cluster or kafka_gate on
    the hosts; `hostvars` is {host: variables}.
    """
    results = [result for result in _results(hosts, hostvars, registers) if "lacking" in result]
    return dict(results[0]["lacking"]) if results else {}


def latest_answer(hosts: Sequence[str], hostvars: Mapping[str, Any], *registers: str) -> dict[str, Any]:
    """Return the latest of several results of a gate, which has the greatest time `at`; {} if there is no result.

    `registers` are variables that have results of kafka_gate or zookeeper_gate on the hosts; `hostvars` is {host:
    variables}.
    """
    results = _results(hosts, hostvars, registers)
    return dict(results[-1]) if results else {}


def following_batch(batches: Sequence[Sequence[Any]], ids: Sequence[Any]) -> list[int]:
    """Return the batch of broker ids that follows the batch `ids` in `batches`.

    Returns [] if `ids` is the last batch, or is not in `batches`.
    """
    given, at = [sorted(map(int, batch)) for batch in batches], sorted(map(int, ids))
    return next(iter(given[given.index(at) + 1 :]), []) if at in given else []


def restart_batches(
    hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str, order: str
) -> list[list[str]]:
    """Return the hosts whose `unit` has a pending restart, in batches and in the order that a gate computed.

    `register` and `order` are variables that have, for each host, the result of host_state and of the gate (kafka_gate
    or zookeeper_gate). Hosts that the gate did not name, for example because the cluster does not exist yet, come last,
    each as a batch of its own.
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
    """Return the host whose broker has the id `broker`.

    `hostvars` is {host: variables}; if it is empty, as in a syntax check, returns a pattern that matches no host.
    Raises AnsibleFilterError if none of `hosts` has this broker id.
    """
    if not hostvars:
        return NO_HOSTS
    numbers = ((whole(hostvars[host].get("kafka_broker_id")), host) for host in hosts)
    ids = {number: host for number, host in numbers if number is not None}
    chosen = whole(broker)
    if chosen not in ids:
        wrong = f"the inventory has no broker {broker}" if str(broker).strip() else "no broker is set"
        valid = sorted(ids)
        listed = ", ".join(map(str, valid))
        raise AnsibleFilterError(f"{wrong}; use one of {listed}, for example -e broker={next(iter(valid), 3)}")
    return ids[chosen]


def controller_last(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> list[str]:
    """Return `hosts`, the hosts of brokers, with the host of the controller moved to the end.

    `register` is the variable in which one of the hosts has the result of kafka_cluster; `hostvars` is {host:
    variables}.
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
    """Return the hosts that could not be reached, sorted; silent_hosts.yml next to this file documents the options.

    - `present`: hosts that are still in the run; `admin`: the host to which tasks are delegated;
    - `own`, `asked`: variables with results of tasks on the hosts, and of tasks delegated to `admin`;
    - `complete`: also return hosts that have no result in `own`.
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
