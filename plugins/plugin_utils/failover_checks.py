"""Decides whether a failover to one datacenter of a stretched cluster may begin, or continue.

Brokers of the lost datacenter can return at any time. They register through ZooKeeper servers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disaster import (
    DOWN,
    ENSEMBLE,
    FORBIDDEN,
    LEADS,
    POSSIBLE,
)
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import SERVES
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover import ENSEMBLE_LINE, enough_servers
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover_record import SEPARATED, state_of

ENSEMBLE_KINDS = ("server", "group", "weight")


def ensemble_errors(text: str, plan_of: Mapping[str, Any]) -> list[str]:
    """Return why the ensemble in a zoo.cfg is not one that failover.yml supports; [] if it is.

    It needs the servers of the inventory, in groups of the voters of one datacenter each, whose votes weigh the same.
    Then a quorum is a majority of the servers in a majority of the datacenters.
    """
    lines = [match.groups() for match in map(ENSEMBLE_LINE.match, text.splitlines()) if match]
    found = {kind: {number: value for key, number, value in lines if key == kind} for kind in ENSEMBLE_KINDS}
    voters, servers = plan_of["voters"], {*plan_of["ids"], *plan_of["lost_ids"]}
    if not {*plan_of["lost_ids"]} & {*found["server"]}:
        return ["it contains no server of the lost datacenter: a failover has changed the ensemble"]
    if differ := sorted(servers ^ {*found["server"]}, key=int):
        return [f"zoo.cfg and the inventory differ: ids {', '.join(differ)}. Use the inventory of these files"]
    errors = []
    groups = [value.split(":") for value in found["group"].values()]
    places = [{voters.get(number, "") for number in group} for group in groups]
    listed = [number for group in groups for number in group]
    once = {name for place in places for name in place}
    if sorted(listed) != sorted(voters) or not all(len(place) == 1 for place in places) or len(once) != len(places):
        text_of = "; ".join(f"{number}: {value}" for number, value in found["group"].items()) or "none"
        wanted = "; ".join(
            f"{name}: {', '.join(number for number in voters if voters[number] == name)}"
            for name in sorted({*voters.values()})
        )
        errors.append(
            f"zookeeper_groups = {text_of}: the groups must be the voters of one datacenter each (inventory: {wanted})"
        )
    weights = {found["weight"].get(number, "1") for number in voters}
    if len(weights) > 1:
        errors.append(
            f"zookeeper_weights = {', '.join(sorted(weights))}: not the same for all servers. A few servers could have "
            "a quorum without the survivor"
        )
    return errors


def refusal(plan_of: Mapping[str, Any], seen: Mapping[str, Any], lock: Mapping[str, Any], continues: bool) -> str:
    """Return why a failover may not begin or continue; '' if it may. `seen` is the result of kafka_disaster.

    `lock` is the record of the failover, {} without one. A run that `continues` needs no verdict, since the failover
    itself has changed it. With a witness, it needs proof that the lost datacenter has not returned. Without a witness,
    no server of the survivor may belong to an ensemble that the lost datacenter leads.
    """
    survivor, serving = plan_of["survivor"], [name for name, mode in seen["modes"].items() if mode in SERVES]
    other = f", but not to {survivor}" if seen["survivors"] and survivor not in seen["survivors"] else ""
    why = f"{seen['verdict']}{other}: {seen['reason']}; {seen['advice']}"
    allowed = continues or (seen["verdict"] == POSSIBLE and survivor in seen["survivors"])
    if seen["verdict"] != FORBIDDEN and not {*serving} & {*plan_of["lost_zookeeper"]} and allowed:
        if not continues:
            return ""
        if not plan_of["keeps_ensemble"]:
            why = _hidden(plan_of, seen)
        elif enough_servers(plan_of, serving):
            why = _returned(plan_of, seen)
    return f"{why}. {_state(lock)}" if why else ""


def _hidden(plan_of: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """Return why servers of the survivor may follow a leader of the lost datacenter; '' if they do not."""
    here = {name: mode for name, mode in seen["modes"].items() if name in plan_of["zookeeper"]}
    following = [name for name, mode in here.items() if mode in SERVES]
    if not following or any(mode in LEADS for mode in here.values()):
        return ""
    return (
        f"{', '.join(following)} follows a leader that does not answer here: {', '.join(plan_of['lost'])} may have "
        "returned. Repair the network, or ask from another host (-e admin_host=HOST)"
    )


def _returned(plan_of: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """Return why brokers of the lost datacenter may have returned; '' if none has. `seen` is of kafka_disaster."""
    here = {*seen["answering"], *(seen["registered"] or ())}
    if brokers := [name for name in plan_of["lost_kafka"] if name in here]:
        return f"{', '.join(brokers)} answers or is registered: {', '.join(plan_of['lost'])} has returned"
    return "no broker reports the registered brokers; start a broker" if seen["registered"] is None else ""


def unseparated(
    plan_of: Mapping[str, Any],
    seen: Mapping[str, Any],
    hosts: Collection[str],
    named: Collection[str],
    known: Collection[str],
) -> list[str]:
    """Return why ZooKeeper servers that Ansible does not reach forbid a failover with a witness; [] if they do not.

    Brokers of the lost datacenter register through ZooKeeper servers, so each server that runs needs a fence, or the
    decision of the operator: `named` are those of -e unfenced, `known` those of earlier runs. `hosts` are those of the
    run, `seen` is the result of kafka_disaster. Brokers need no fence for that.
    """
    if not plan_of["keeps_ensemble"]:
        why = "without a witness, hosts that cannot be reached are left out"
        return [f"unfenced = {', '.join(named)}: {why}"] if named else []
    modes, lost = seen["modes"], ", ".join(plan_of["lost"])
    running = [name for name in plan_of["zookeeper"] if modes[name] != DOWN and name not in hosts]
    serving = [name for name in running if modes[name] in SERVES]
    errors = []
    if wrong := [name for name in named if name not in serving]:
        errors.append(
            f"unfenced = {', '.join(wrong)}: name only ZooKeeper servers that serve and that Ansible cannot reach "
            f"({', '.join(serving) or 'there are none'})"
        )
    if named and (registered := _returned(plan_of, seen)):
        errors.append(f"unfenced = {', '.join(named)}: {registered}")
    if left := [name for name in running if name not in {*named, *known}]:
        ways = ["make SSH work there"]
        if can_stop(plan_of, modes, left):
            ways.append("switch these hosts off")
        if {*left} <= {*serving}:
            option = f"-e unfenced={','.join([*named, *left])}"
            ways.append(f"if {lost} stays switched off or cut off until failback.yml, add {option}")
        errors.append(
            f"{', '.join(left)} runs, but Ansible cannot reach it: brokers of {lost} could register through it. Do one "
            f"of these: {'; '.join(ways)}"
        )
    return errors


def can_stop(plan_of: Mapping[str, Any], modes: Mapping[str, str], hosts: Collection[str]) -> bool:
    """Tell whether these hosts are ZooKeeper servers without which the servers that serve still have a quorum."""
    left = [name for name, mode in modes.items() if mode in SERVES and name not in hosts]
    return {*hosts} <= {*plan_of["zookeeper"]} - {*plan_of["kafka"]} and enough_servers(plan_of, left)


def _state(lock: Mapping[str, Any]) -> str:
    """Return what the failover of a record has changed, and how to undo it, for messages."""
    if not lock:
        return "Nothing was changed."
    if state_of(lock) == SEPARATED:
        return "An interrupted failover has only separated the datacenters: playbooks/failback.yml ends that."
    done = "begun to change the ensemble" if state_of(lock) == ENSEMBLE else "lowered min.insync.replicas"
    return f"The failover of {lock.get('started')} has {done}: playbooks/failback.yml undoes it."


def not_alone(plan_of: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """Return why the survivor does not serve alone, so that no returning host may be stopped; '' if it does.

    `seen` is the result of kafka_disaster. Without a leader, brokers report what was registered before the outage.
    With a witness, each host that returns is judged for itself.
    """
    if plan_of["keeps_ensemble"]:
        return ""
    lost = ", ".join(plan_of["lost"])
    leaders = [name for name, mode in seen["modes"].items() if mode in LEADS]
    serving = [name for name, mode in seen["modes"].items() if mode in SERVES]
    # With one leader, a server of the survivor that serves follows it.
    if len(leaders) != 1 or not {*serving} & {*plan_of["zookeeper"]}:
        lead = f"{', '.join(leaders)} leads" if leaders else "No ZooKeeper server leads"
        return (
            f"{lead}, where one of {', '.join(plan_of['zookeeper'])} should. Start servers of {plan_of['survivor']} "
            "that are down; if a run was interrupted, first run failover.yml again. If failover.yml refuses because "
            f"{lost} answers, switch {lost} off, run failover.yml again, and then failback.yml"
        )
    back = [name for name in plan_of["lost_kafka"] if name in (seen["registered"] or ())]
    if not back or {*serving} & {*plan_of["lost_zookeeper"]}:
        return ""
    return (
        f"{', '.join(back)} is registered with ZooKeeper, but {', '.join(plan_of['lost_zookeeper'])} do not answer "
        f"{plan_of['admin']}: {lost} may serve already. Repair the network, or ask from another "
        "host (-e admin_host=HOST)"
    )


def too_few(plan_of: Mapping[str, Any], hosts: Collection[str]) -> str:
    """Return why `hosts`, which Ansible reaches, are too few for a failback; '' if they are enough."""
    if not plan_of["lost_kafka"]:
        return (
            f"The inventory has no broker in {', '.join(plan_of['lost'])}, the datacenter that the record names as "
            "lost. Use the names from the time of the failover until failback.yml has ended it"
        )
    servers = [name for name in plan_of["lost_zookeeper"] if name in hosts]
    brokers = [name for name in plan_of["lost_kafka"] if name in hosts]
    missing = [name for name in [*plan_of["kafka"], *plan_of["lost_kafka"]] if name not in hosts]
    most = 2 * len(servers) > len(plan_of["lost_zookeeper"])
    enough = enough_servers(plan_of, hosts) if plan_of["keeps_ensemble"] else most
    if enough and brokers and len(missing) <= plan_of["spare"]:
        return ""
    needed = "most of them have to be there"
    if plan_of["keeps_ensemble"]:
        needed = "all reachable ZooKeeper servers together must have a quorum"
    return (
        f"Too few hosts can be reached. ZooKeeper servers that return: {', '.join(servers) or 'none'} of "
        f"{', '.join(plan_of['lost_zookeeper'])}; {needed}. Brokers that cannot be reached: "
        f"{', '.join(missing) or 'none'}; {plan_of['spare']} may be missing in both datacenters together, so that "
        "partitions accept writes when min.insync.replicas is restored"
    )


def fenced(plan_of: Mapping[str, Any], seen: Mapping[str, Any], separated: Collection[str]) -> str:
    """Return why hosts that are `separated` and that Ansible does not reach forbid a failback; '' if they do not.

    `seen` is the result of kafka_disaster. Without a quorum, brokers report what was registered before the outage.
    """
    up = {name for name, mode in seen["modes"].items() if mode != DOWN} | {*seen["answering"]}
    if any(mode in LEADS for mode in seen["modes"].values()):
        up |= {*(seen["registered"] or ())}
    if not (running := [name for name in separated if name in up]):
        return ""
    way = ", or switch the host off" if can_stop(plan_of, seen["modes"], running) else ""
    return (
        f"{', '.join(running)} runs, but Ansible cannot reach it: it would stay separated from "
        f"{', '.join(plan_of['lost'])}. Make SSH work there{way}"
    )
