"""Every combination of copies of a record, for failover.yml and failback.yml.

The control node and each host have one copy, and each host is reached or not. For another control node, its own copy
takes the place of the first one's: the cases are the same.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from unit.failover_site import AT, FILE, GROUPS, LATER, LOCK, VALUES, WITNESS, in_state, looked, site, with_witness

from ansible_collections.millrace.kafka.plugins.plugin_utils.failover import plan
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover_checks import not_alone, refusal
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover_record import (
    begun,
    conflict,
    known,
    recorded,
    resumes,
    scope,
)

NONE, UNREACHED, OTHER = "none", "not reached", "other"
LAYOUTS = {
    "stretch2": (["dc2-kafka1", "dc2-zk1", "dc2-zk2"], ["separated", "ensemble", "lowered", "returning", "ended"]),
    "stretch2_5": (["dc2-kafka1", "dc2-zk1", "dc2-zk2", "dc3-zk1"], ["separated", "lowered", "returning", "ended"]),
}
PLANS = {
    "stretch2": plan(GROUPS, site(), "dc2", ["dc1"]),
    "stretch2_5": plan(WITNESS, with_witness(), "dc2", ["dc1"]),
}


def copy_of(kind: str, hosts: list[str]) -> dict[str, Any]:
    """Return the copy of a failover to dc2 in a state, that of another one to dc1, or none."""
    if kind in (NONE, UNREACHED):
        return {}
    return LATER if kind == OTHER else {**in_state(kind), "hosts": [] if kind == "ended" else hosts}


def cases(layout: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (the copy of the control node, {host: its copy})."""
    hosts, states = LAYOUTS[layout]
    for own, *there in product([NONE, *states, OTHER], *[[UNREACHED, NONE, *states, OTHER]] * len(hosts)):
        yield own, dict(zip(hosts, there, strict=True))


def probed(layout: str) -> dict[str, dict[str, Any]]:
    """Return {kind of copy: the variables of a host that has it}."""
    hosts, states = LAYOUTS[layout]
    return {
        kind: {
            "datacenter": "dc2",
            "preflight_probe": {"probe": {"failover": json.dumps(copy) if (copy := copy_of(kind, hosts)) else ""}},
            "failover_fence": {"stat": {"exists": kind not in (NONE, "ended")}},
        }
        for kind in (NONE, *states, OTHER)
    }


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_failover_never_begins_beside_one_that_is_under_way(layout: str) -> None:
    """It begins, continues with the saved values, or names what is missing."""
    hosts, states = LAYOUTS[layout]
    variables, number = probed(layout), 0
    texts = {kind: json.dumps(copy_of(kind, hosts)) for kind in (*states, OTHER)} | {NONE: ""}
    for own, there in cases(layout):
        reached = {host: kind for host, kind in there.items() if kind != UNREACHED}
        hostvars = {host: variables[kind] for host, kind in reached.items()}
        found, case = known(texts[own], [*reached], hostvars, "dc2", FILE), (own, there)
        lock, why = found["lock"], found["why"]
        of_hosts = {kind for kind in reached.values() if kind not in (NONE, OTHER)}
        kinds = of_hosts | ({own} - {NONE, OTHER})
        if OTHER in {own, *reached.values()}:
            named = [host for host, kind in reached.items() if kind == OTHER]
            assert (lock, bool(why)) == ({}, True), case
            assert "a failover to dc1 began" in why if own == OTHER else why.startswith(f"{', '.join(named)} has"), case
        elif "ended" in kinds or not kinds:
            assert (why, lock) == ("", {}), case
        elif of_hosts:
            saved = {"lowered", "returning"} & kinds
            latest = max(kinds, key=["separated", "ensemble", "lowered", "returning"].index)
            assert (why, lock["name"], lock["state"]) == ("", LOCK["name"], latest), case
            assert lock.get("min_isr") == (VALUES if saved else None), case
            assert resumes(lock, reached, hostvars) == bool(saved), case
            assert lock["hosts"] == hosts, case
        else:
            missing = [host for host in hosts if host not in reached]
            refuses = own in ("lowered", "returning") or bool(missing and own == "ensemble")
            assert (lock, bool(why)) == ({}, refuses), case
            assert f"Bring {' or '.join(missing)} back" in why or not (missing and refuses), case
        if not why:
            record = begun(found, PLANS[layout], reached, [], "power", AT)
            assert {*reached} <= {*record["hosts"]}, case
            assert (record["name"] == LOCK["name"]) == bool(lock), case
            assert ("min_isr" in record) == ("min_isr" in lock), case
            assert bool(kinds) == (LOCK["name"] in {record["name"], *record.get("earlier", ())}), case
        number += 1
    assert number == {"stretch2": 3584, "stretch2_5": 14406}[layout]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_failback_makes_progress_and_leaves_fences_of_others(layout: str) -> None:
    """dc1 is back, behind the fence. Either a server of dc2 leads, or none does, as after an interruption."""
    hosts, states = LAYOUTS[layout]
    planned, variables = PLANS[layout], probed(layout)
    texts = {kind: json.dumps(copy_of(kind, hosts)) for kind in states}
    idle = looked(verdict="heals by itself", survivors=[], modes=dict.fromkeys(planned["all_servers"], "not serving"))
    for own, there in cases(layout):
        if own in (NONE, OTHER):
            continue
        reached = {host: kind for host, kind in there.items() if kind != UNREACHED}
        hostvars = {host: variables[kind] for host, kind in reached.items()}
        why, case = conflict(texts[own], [*reached], hostvars, FILE), (own, there)
        named = [host for host, kind in reached.items() if kind == OTHER]
        assert why.startswith(f"{', '.join(named)} has the record of another failover") if named else not why, case
        if named:
            continue
        lock = recorded(texts[own], [*reached], hostvars)
        kinds = {own, *reached.values()} - {NONE}
        assert (lock["state"] == "ended") == ("ended" in kinds), case
        assert lock.get("min_isr") == (VALUES if kinds & {"lowered", "returning", "ended"} else None), case
        open_hosts = {host for host, kind in reached.items() if kind not in (NONE, "ended")}
        assert open_hosts <= {*lock["hosts"]}, case
        found = known(texts[own], [*reached], hostvars, "dc2", FILE)
        for changed in ([], ["dc2-zk1"]) if layout == "stretch2" else ([],):
            of_failback = not_alone(planned, idle) if scope(lock, planned, changed) == "all" else ""
            of_failover = found["why"] or refusal(planned, idle, found["lock"], bool(changed and found["lock"]))
            if of_failback and found["why"]:  # only the control node has a copy: those of hosts are missing
                assert f"copy {FILE} to /etc/millrace/failover.json of a host" in found["why"], (case, changed)
            elif of_failback and of_failover:  # somebody has restored each zoo.cfg, or removed the copies of hosts
                by_hand = (lock["state"], changed) == ("lowered", []) or {*reached.values()} <= {NONE}
                assert by_hand, (case, changed)
                assert "switch dc1 off, run failover.yml again, and then failback.yml" in of_failback
                assert refusal(planned, looked(), found["lock"], False) == "", (case, changed)
