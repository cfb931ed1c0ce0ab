"""Which hosts are what: patterns of plays, and what the functions of a host have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils import run_lock
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import functions
from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import devices_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.identity import nobody
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import line
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import role_input

NOBODY = "all:!all"


def function_pattern(groups: Mapping[str, Sequence[str]]) -> str:
    """Return the pattern of all hosts that have a function.

    Raises AnsibleFilterError where an inventory has hosts and none of them is one: a run that does nothing would end
    well. Without hosts it is the control node, where preflight and check say so: where only the syntax is looked at,
    there are none either. Computed in the run's own process, it is also where locks of the run are made ready.
    """
    run_lock.prepare()
    found = ":".join(name for name in functions() if groups.get(name))
    if groups.get("all") and not found:
        raise AnsibleFilterError(line(nobody(groups), groups))
    return found or "localhost"


def function_items(by_function: Mapping[str, Sequence[Any]], group_names: Sequence[str]) -> list[Any]:
    """Return what the functions of a host have of one kind; what others have is not computed.

    An entry with keys says whose it is.
    """
    found = [(name, item) for name in by_function if name in group_names for item in by_function[name]]
    return [{**item, "function": name} if isinstance(item, Mapping) else item for name, item in found]


def lacking_java(hosts: Sequence[str], hostvars: Mapping[str, Any]) -> str:
    """Return the pattern of those hosts on which the probe of this run found no java where the role java wants one."""
    probes = {host: (hostvars.get(host, {}).get("preflight_probe") or {}).get("probe") for host in hosts}
    lacking = [
        host
        for host, probe in probes.items()
        if probe and role_input(hostvars[host], "java_executable") not in probe["java"]
    ]
    return ",".join(lacking) or NOBODY


def owed_restart(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> str:
    """Return the pattern of those hosts whose unit runs with an older configuration, as host_state answered."""
    states = {host: (hostvars.get(host, {}).get(register) or {}).get("units") or {} for host in hosts}
    return ",".join(host for host, units in states.items() if units.get(unit, {}).get("restart_owed")) or NOBODY


def _live(host: str, hostvars: Mapping[str, Any], register: str, unit: str) -> Mapping[str, Any]:
    units = (hostvars.get(host, {}).get(register) or {}).get("units") or {}
    found: Mapping[str, Any] = units.get(unit, {}).get("live") or {}
    return found


def owed_settings(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> str:
    """Return the pattern of those hosts whose process is to be told settings, as host_state answered."""
    return ",".join(host for host in hosts if _live(host, hostvars, register, unit).get("owed")) or NOBODY


def settings_owed(
    hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str
) -> list[Mapping[str, Any]]:
    """Return the brokers on these hosts as kafka_live_config takes them."""
    found = [(host, _live(host, hostvars, register, unit)) for host in hosts]
    return [
        {
            "id": int(hostvars[host]["kafka_broker_id"]),
            "settings": live["settings"],
            "told": live["told"],
            "anew": live["anew"],
        }
        for host, live in found
        if live.get("owed")
    ]


def touched(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str) -> list[str]:
    """Return those hosts whose unit this run has started or restarted, or an interrupted one before it."""
    units = {host: ((hostvars.get(host, {}).get(register) or {}).get("units") or {}).get(unit, {}) for host in hosts}
    keys = ("started", "restart_owed", "marked")
    return [host for host, state in units.items() if any(state.get(key) for key in keys)]


def restart_marking(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> str:
    """Return what restart.yml has to do with marks (host_state), from what hosts answered (host_probe).

    An earlier run is gone on with only where it was for the very same hosts: C(mark) where something of it is left,
    C(keep) where it has restarted all and was cut off before its end. What is left of others is no reason to spare a
    host that is named now: C(again).
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
    """Return the hosts of earlier runs of restart.yml that marked one of these hosts, and that are not among these."""
    probes = [(hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts]
    runs = [run for probe in probes for run in (probe.get("restart_hosts") or {}).values()]
    return sorted({host for run in runs for host in run} - set(hosts))


def sick_brokers(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> list[int]:
    """Return the ids of those brokers that had given up a disk when this run looked (host_probe)."""
    probes = {host: (hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts}
    return [int(hostvars[host]["kafka_broker_id"]) for host, probe in probes.items() if probe.get("given_up")]


def log_dir_devices(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> dict[str, dict[str, int]]:
    """Return by id of a broker and path on which device of its host that is, where it told (host_probe)."""
    probes = {host: (hostvars.get(host, {}).get(register) or {}).get("probe") or {} for host in hosts}
    names = {str(hostvars[host]["kafka_broker_id"]): host for host, probe in probes.items() if probe}
    found: dict[str, dict[str, int]] = {number: {} for number in names}
    for (number, path), device in devices_of(names, probes).items():
        found[number][path] = device
    return found


def lacked_before(hosts: Sequence[str], hostvars: Mapping[str, Any], *registers: str) -> dict[str, Any]:
    """Return what lacked in the cluster when it was first asked, {} where nothing did, or nobody asked."""
    found = [answer for answer in _answers(hosts, hostvars, registers) if "lacking" in answer]
    return dict(found[0]["lacking"]) if found else {}


def latest_answer(hosts: Sequence[str], hostvars: Mapping[str, Any], *registers: str) -> dict[str, Any]:
    """Return what was answered last of what these hosts registered, {} where nobody asked."""
    found = _answers(hosts, hostvars, registers)
    return dict(found[-1]) if found else {}


def following_batch(batches: Sequence[Sequence[Any]], ids: Sequence[Any]) -> list[int]:
    """Return the batch of an order that comes after one; nobody where that is the last, or is none of it."""
    given, at = [sorted(map(int, batch)) for batch in batches], sorted(map(int, ids))
    return next(iter(given[given.index(at) + 1 :]), []) if at in given else []


def restart_batches(
    hosts: Sequence[str], hostvars: Mapping[str, Any], register: str, unit: str, order: str
) -> list[list[str]]:
    """Return the hosts whose unit is owed a restart, those that are restarted together, in the order of a gate.

    What the gate did not name (a check of a cluster that is not there yet) comes last, one by one.
    """
    owed = [host for host in owed_restart(hosts, hostvars, register, unit).split(",") if host != NOBODY]
    answer = next((found for host in owed if (found := hostvars[host].get(order) or {}) and _ordered(found)), {})
    ids = {str(hostvars[host].get("kafka_broker_id")): host for host in owed} if "batches" in answer else {}
    batches = [[ids.get(str(one), "") for one in batch] for batch in answer.get("batches") or []]
    batches += [[name] for name in answer.get("order") or []]
    found = [[host for host in batch if host in owed] for batch in batches]
    named = {host for batch in found for host in batch}
    return [batch for batch in found if batch] + [[host] for host in owed if host not in named]


def broker_host(hosts: Sequence[str], hostvars: Mapping[str, Any], broker: Any) -> str:
    """Return the host of the broker with this id. Raises AnsibleFilterError where the inventory has none.

    Without hostvars, as where the syntax alone is looked at, it is nobody.
    """
    if not hostvars:
        return NOBODY
    ids = {str(hostvars[host].get("kafka_broker_id")): host for host in hosts}
    if str(broker).strip() not in ids:
        said = f"there is no broker {broker}" if str(broker).strip() else "no broker is named"
        raise AnsibleFilterError(f"{said}: say one of {', '.join(sorted(ids))}, as -e broker={next(iter(ids), 3)}")
    return ids[str(broker).strip()]


def controller_last(hosts: Sequence[str], hostvars: Mapping[str, Any], register: str) -> list[str]:
    """Return brokers' hosts as they are, but the controller's last, as kafka_cluster named it to one of them."""
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
    """Return who could not be reached: of these hosts, and `admin`, which was asked for them (silent_hosts.yml)."""
    silent = set()
    for host in hosts:
        found = (hostvars or {}).get(host) or {}
        answers = [found.get(name) or {} for name in own or ()]
        if any(answer.get("unreachable") for answer in answers):
            silent.add(host)
        elif any((found.get(name) or {}).get("unreachable") for name in asked or ()):
            silent.add(admin)
        elif host not in present:
            silent.add(admin or host)
        elif complete and all(answer.get("skipped", not answer) for answer in answers):
            silent.add(host)
    return sorted(silent)


def _answers(hosts: Sequence[str], hostvars: Mapping[str, Any], registers: Sequence[str]) -> list[Mapping[str, Any]]:
    answers = [hostvars.get(host, {}).get(name) or {} for name in registers for host in hosts]
    return sorted((answer for answer in answers if "at" in answer), key=lambda answer: float(answer["at"]))


def _ordered(answer: Mapping[str, Any]) -> bool:
    return "batches" in answer or "order" in answer


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
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
