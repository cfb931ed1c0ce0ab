"""The record of a failover: which of its copies count, and what they allow."""

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from unit.failover_site import AT, ENDED, FILE, GROUPS, LATER, LOCK, NEW, SAVED, STATES, VALUES, in_state, site

from ansible_collections.millrace.kafka.plugins.filter.failover import (
    disaster_record,
    failback_conflict,
    failover_known,
    failover_record,
    failover_resumes,
    failover_text,
    surviving_hosts,
)
from ansible_collections.millrace.kafka.plugins.module_utils.host import probe
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover_record import (
    advanced,
    begun,
    conflict,
    known,
    lock_problem,
    read_lock,
    recorded,
    resumes,
    scope,
    state_of,
)

PLAN: dict[str, Any] = {
    "survivor": "dc2",
    "lost": ["dc1"],
    "keeps_ensemble": False,
    "lost_kafka": [],
    "lost_zookeeper": ["dc1-zk1"],
}
WITH_WITNESS = {**PLAN, "keeps_ensemble": True}


def old(lock: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Return a record as it was written before there were states."""
    return {key: value for key, value in lock.items() if key != "state"} | keys


def copies(**of_hosts: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of hosts that were probed, with these copies of the record ({}: none), and fences."""
    return {
        name.replace("_", "-"): {
            "datacenter": name[:3],
            "preflight_probe": {"probe": {"failover": json.dumps(lock) if lock else ""}},
            "failover_fence": {"stat": {"exists": bool(lock)}},
        }
        for name, lock in of_hosts.items()
    }


def merged(own: dict[str, Any], hostvars: dict[str, Any]) -> dict[str, Any]:
    return recorded(json.dumps(own) if own else "", hostvars, hostvars)


def found(own: dict[str, Any], hostvars: dict[str, Any], survivor: str = "dc2") -> dict[str, Any]:
    return known(json.dumps(own) if own else "", [*hostvars], hostvars, survivor, FILE)


def test_a_record_stops_runs_while_the_lost_datacenter_is_declared() -> None:
    text = json.dumps(LOCK)
    assert [one.code for one in lock_problem(text, "/x", "/y", (), ["dc1", "dc2"])] == ["FAILOVER_ACTIVE"]
    assert lock_problem(text, "/x", "/y", (), ["dc2"]) == []
    assert lock_problem("", "/x", "/y", (), ["dc1", "dc2"]) == []


WRONG: tuple[dict[str, Any], ...] = (
    {"survivor": 2},
    {"survivor": ""},
    {"survivor": "dc1"},
    {"lost": [""]},
    {"ended": "false"},
    {"lost": []},
    {"lost": [1]},
    {"lost": "dc1"},
    {"name": None},
    {"name": ""},
    {"name": "../x"},
    {"hosts": None},
    {"hosts": "dc2-zk1"},
    {"hosts": [1]},
    {"unfenced": "dc3-zk1"},
    {"earlier": None},
    {"state": "active"},
    {"min_isr": None},
    {"min_isr": []},
    {"min_isr": {"default": ""}},
    {"min_isr": {"default": None, "topics": {}}},
)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        " ",
        "[" * 100_000,
        "null",
        '{"survivor": "dc2"}',
        *(json.dumps({**SAVED, **wrong}) for wrong in WRONG),
        json.dumps({key: value for key, value in SAVED.items() if key != "min_isr"}),
        json.dumps({key: value for key, value in old(SAVED).items() if key != "name"}),
    ],
)
def test_a_record_that_cannot_be_read_stops_runs(text: str) -> None:
    assert [one.code for one in lock_problem(text, "/x", "/y", (), ["dc2"])] == ["FAILOVER_UNREADABLE"]
    hostvars = copies(dc2_zk1={})
    hostvars["dc2-zk1"]["preflight_probe"]["probe"]["failover"] = text
    for call in (
        lambda: failover_record(text, [], {}),
        lambda: failover_known("", [*hostvars], hostvars, "dc2", FILE),
        lambda: failback_conflict(text, [], {}, FILE),
    ):
        with pytest.raises(AnsibleFilterError, match=r"cannot be read.*Nothing was changed"):
            call()


OLD_STATES = {
    "separated": old(LOCK),
    "ensemble": old(LOCK, ensemble=True),
    "lowered": old(LOCK, ensemble=True, min_isr=VALUES),
    "ended": old(LOCK, ended=True, min_isr=VALUES),
}


@pytest.mark.parametrize("state", OLD_STATES)
def test_records_without_a_state(state: str) -> None:
    assert state_of(read_lock(json.dumps(OLD_STATES[state]))) == state
    assert state_of(old(SAVED, min_isr=VALUES)) == "lowered"
    assert state_of({**SAVED, "ended": True}) == "ended"  # added by an operator


LATEST = """
            separated ensemble  lowered   returning ended
separated   separated ensemble  lowered   returning ended
ensemble    ensemble  ensemble  lowered   returning ended
lowered     lowered   lowered   lowered   returning ended
returning   returning returning returning returning ended
ended       ended     ended     ended     ended     ended
"""


def test_the_later_state_of_two_copies_counts() -> None:
    """Wherever they are, and also if one has no `state`."""
    header, *rows = [line.split() for line in LATEST.strip().splitlines()]
    for first, *cells in rows:
        for second, wanted in zip(header, cells, strict=True):
            own, other = in_state(first), in_state(second)
            hosts = copies(dc2_zk1=own, dc2_zk2=other)
            for lock in (merged(own, copies(dc2_zk1=other)), merged({}, hosts)):
                assert (lock["state"], "min_isr" in lock) == (wanted, {first, second} & {*STATES[2:]} != set())
            assert advanced(own, second)["state"] == wanted
            if first in OLD_STATES:
                assert merged(OLD_STATES[first], copies(dc2_zk1=other))["state"] == wanted


def test_another_control_node_continues_with_the_record_of_a_host() -> None:
    hostvars = copies(dc2_zk1={}, dc2_zk2=LOCK)
    assert merged({}, hostvars) == LOCK
    assert recorded("", ["dc2-zk1"], hostvars) == {}
    assert merged({}, copies(dc2_zk1=LOCK, dc2_zk2=SAVED, dc2_zk3={})) == SAVED


def test_an_older_copy_on_the_control_node_does_not_hide_the_saved_values_of_hosts() -> None:
    """It was killed after the fence; a second control node completed the failover."""
    own = {**LOCK, "hosts": ["dc2-zk1", "dc2-zk2", "dc2-zk3"]}
    lock = merged(own, copies(dc2_zk1=SAVED, dc2_zk2=SAVED))
    assert (lock["min_isr"], lock["hosts"]) == (VALUES, ["dc2-zk1", "dc2-zk2", "dc2-zk3"])


def test_the_copy_with_most_saved_values_counts() -> None:
    """A later run with -e min_isr=1 replaces more of them."""
    more = {**SAVED, "min_isr": {"default": "", "topics": {"orders": "3", "audit": "2"}}}
    lock = merged(SAVED, copies(dc2_zk1=SAVED, dc2_zk2=more, dc2_zk3=SAVED))
    assert lock["min_isr"]["topics"] == {"orders": "3", "audit": "2"}


def test_two_records_to_the_same_datacenter_are_one_failover() -> None:
    """A control node whose clock was ahead was killed before it wrote to a host; another one completed the failover."""
    ahead = {**LOCK, "name": "20271128T120000Z", "hosts": ["dc2-zk3"]}
    for own, hostvars in (
        (ahead, copies(dc2_zk1=SAVED, dc2_zk2=SAVED, dc2_zk3={})),
        (SAVED, copies(dc2_zk1=ahead, dc2_zk2=SAVED)),
        (ahead, copies(dc2_zk1=SAVED, dc2_zk2=in_state("separated"))),
    ):
        seen, lock = found(own, hostvars), merged(own, hostvars)
        for one in (seen["lock"], lock):
            assert (one["state"], one["min_isr"], one["name"], one["earlier"]) == (
                "lowered",
                VALUES,
                ahead["name"],
                [LOCK["name"]],
            )
            assert one["hosts"] == ["dc2-zk1", "dc2-zk2", "dc2-zk3"]
        assert (seen["why"], resumes(seen["lock"], ["dc2-zk1", "dc2-zk2"], hostvars)) == ("", True)
        end = {**lock, "state": "ended", "hosts": []}
        assert merged(SAVED, copies(dc2_zk1=end))["state"] == merged(ahead, copies(dc2_zk1=end))["state"] == "ended"


def test_a_failover_that_has_ended_is_not_mixed_with_the_next_one() -> None:
    later = {**LOCK, "name": "20271128T120000Z", "earlier": [LOCK["name"]]}
    assert "min_isr" not in merged(SAVED, copies(dc2_zk1=later, dc2_zk2=SAVED))
    assert "min_isr" not in merged(ENDED, copies(dc2_zk1={**later, "earlier": []}, dc2_zk2=SAVED))
    assert merged(LOCK, copies(dc1_zk1=LATER)) == LOCK


def test_the_values_of_all_copies_are_saved() -> None:
    """Neither control node knows the values of the other one; the second one has read lowered values, too."""
    first = {**SAVED, "min_isr": {"default": "", "topics": {"orders": "3", "pairs": ""}}}
    second = {**SAVED, "min_isr": {"default": "2", "topics": {"audit": "4", "orders": "2", "pairs": "1"}}}
    for own, other in ((first, second), (second, first)):
        saved = merged(own, copies(dc2_zk1=other))["min_isr"]
        assert saved == {"default": "", "topics": {"audit": "4", "orders": "3", "pairs": ""}}


def test_failovers_to_two_datacenters_never_have_the_same_name() -> None:
    """A clock was ahead, so the next names are not the time. The failover to dc2 only separated hosts."""
    ahead = {**ENDED, "name": "20991128T120000Z"}
    first, second = (
        begun(found(ahead, copies(dc2_zk1=ahead), survivor), planned, [], [], "power", AT)
        for survivor, planned in (("dc2", PLAN), ("dc1", {**PLAN, "survivor": "dc1", "lost": ["dc2"]}))
    )
    assert (first["name"], second["name"]) == ("20991128T120000Z1-dc2", "20991128T120000Z1-dc1")
    third = begun({**found(first, {}), "lock": {}, "newest": first["name"]}, PLAN, [], [], "power", AT)
    assert third["name"] == "20991128T120000Z11-dc2"


def test_copies_that_were_not_read_are_no_proof() -> None:
    """With --skip-tags hosts, preflight does not ask the hosts."""
    hostvars = copies(dc2_zk1=SAVED)
    hostvars["dc2-zk1"].pop("preflight_probe")
    assert "run this without --skip-tags" in found(LOCK, hostvars)["why"]
    assert "run this without --skip-tags" in conflict(json.dumps(LOCK), [*hostvars], hostvars, FILE)


def test_a_record_on_the_control_node_that_cannot_be_read_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "binary").write_bytes(b"\xff")
    (tmp_path / "folder").mkdir()
    for name in ("empty", "binary", "folder"):
        path, hostvars = str(tmp_path / name), site(str(tmp_path / name))
        with pytest.raises(AnsibleFilterError, match="cannot be read"):
            failover_known(failover_text(path), [], {}, "dc2", path)
        with pytest.raises(AnsibleFilterError, match="cannot be read"):
            surviving_hosts(GROUPS, hostvars)
        assert disaster_record(path)["error"]
    assert failover_text(str(tmp_path / "missing")) == failover_text("") == ""
    assert probe.failover_record(str(tmp_path / "missing")) == ""
    assert failover_record(probe.failover_record(str(tmp_path / "missing")), [], {}) == {}
    with pytest.raises(AnsibleFilterError, match="it is empty"):
        failover_record(probe.failover_record(str(tmp_path / "empty")), [], {})


def test_a_renamed_datacenter_is_still_the_lost_one() -> None:
    lock = begun(found({}, {}), PLAN, ["dc2-zk1"], [], "power", AT)
    renamed = ["east", "dc2", "dc1-zk1", "dc2-zk1"]
    assert [one.code for one in lock_problem(json.dumps(lock), "/x", "/y", (), renamed)] == ["FAILOVER_ACTIVE"]
    assert lock_problem(json.dumps(lock), "/x", "/y", (), ["dc2", "dc2-zk1"]) == []


def test_a_host_that_gets_its_fence_later_is_no_longer_unfenced() -> None:
    first = {**LOCK, "hosts": ["dc2-zk1"], "unfenced": ["dc3-zk1"]}
    lock = merged(first, copies(dc2_zk1={**first, "hosts": ["dc2-zk1", "dc3-zk1"], "unfenced": []}))
    assert (lock["hosts"], lock["unfenced"]) == (["dc2-zk1", "dc3-zk1"], [])


def test_a_run_that_was_killed_before_a_returned_host_had_its_copy_continues() -> None:
    """dc2-zk3 was down during the failover. The control node names it, and its fence is missing."""
    own = {**SAVED, "hosts": ["dc2-zk1", "dc2-zk2", "dc2-zk3"]}
    hostvars = copies(dc2_zk1=SAVED, dc2_zk2=SAVED, dc2_zk3={})
    seen = found(own, hostvars)
    assert (seen["why"], seen["lock"]["min_isr"], resumes(seen["lock"], hostvars, hostvars)) == ("", VALUES, True)


def test_a_host_that_was_reinstalled_does_not_end_a_failover() -> None:
    hostvars = copies(dc2_zk1=SAVED, dc2_zk2={})
    seen = found(SAVED, hostvars)
    assert (seen["why"], seen["lock"]["min_isr"], resumes(seen["lock"], hostvars, hostvars)) == ("", VALUES, True)
    assert (
        "dc2-zk2, which was separated too, has none" in found(old(SAVED), copies(dc2_zk1=old(SAVED), dc2_zk2={}))["why"]
    )


def test_a_run_resumes_only_where_the_fences_are() -> None:
    """The failback removes them first; then the run needs a verdict, as dc1 may serve."""
    hostvars = copies(dc2_zk1=SAVED, dc2_zk2=SAVED, dc2_zk3={})
    assert resumes(SAVED, hostvars, hostvars)
    assert not resumes(LOCK, hostvars, hostvars)
    assert not resumes({}, hostvars, hostvars)
    hostvars["dc2-zk2"]["failover_fence"]["stat"]["exists"] = False
    assert not resumes(SAVED, hostvars, hostvars)


@pytest.mark.parametrize("own", [SAVED, OLD_STATES["lowered"], in_state("ensemble")])
def test_a_record_that_was_left_over_on_a_second_control_node_begins_a_new_failover(own: dict[str, Any]) -> None:
    """Another control node has ended the failover. So the values are saved again, and ZooKeeper's data is copied."""
    without = [] if own is SAVED else [copies(dc2_zk1={}, dc2_zk2={})]
    for hostvars in (copies(dc2_zk1=ENDED, dc2_zk2={}), *without):
        seen = found(own, hostvars)
        assert (seen["why"], seen["lock"], seen["earlier"]) == ("", {}, [LOCK["name"]])
        lock = begun(seen, PLAN, hostvars, [], "power", AT)
        assert (lock["name"], lock["state"], lock["earlier"]) == (NEW, "separated", [LOCK["name"]])
        assert "min_isr" not in lock
        assert lock["started"] == "2028-11-28 12:00:00 UTC"


def test_a_record_that_only_the_control_node_has_may_be_in_force() -> None:
    """The hosts that have it are down, or another control node has ended the failover."""
    seen = found(SAVED, copies(dc2_zk2={}, dc2_zk3={}))
    assert "Bring dc2-zk1 back." in seen["why"]
    assert 'add "ended": true to /pki/failover.json' in seen["why"]


def test_saved_values_are_not_dropped_because_no_host_has_a_copy() -> None:
    """A failback leaves copies that have ended, so somebody has removed those of the hosts."""
    why = found(SAVED, copies(dc2_zk1={}, dc2_zk2={}))["why"]
    assert ("Bring" in why, why.endswith("copy /pki/failover.json to /etc/millrace/failover.json of a host")) == (
        False,
        True,
    )


def test_a_run_that_was_killed_before_its_first_copy_on_a_host_is_begun_anew() -> None:
    """Then dc2-zk2 goes down. It may have the copy, so it stays among the hosts that can have a fence."""
    seen = found(LOCK, copies(dc2_zk1={}, dc2_zk3={}))
    assert (seen["why"], seen["lock"]) == ("", {})
    lock = begun(seen, PLAN, ["dc2-zk1", "dc2-zk3"], [], "power", AT)
    assert (lock["name"], lock["hosts"]) == (NEW, ["dc2-zk1", "dc2-zk2", "dc2-zk3"])


def test_hosts_that_an_earlier_failover_separated_stay_named() -> None:
    """The control node that began it did not continue it, and dc2-zk3 was down meanwhile."""
    first = {**LOCK, "hosts": ["dc2-zk1", "dc2-zk2", "dc2-zk3"]}
    second = {**SAVED, "name": "20271128T120000Z", "hosts": ["dc2-zk1", "dc2-zk2"]}
    everything = ["dc2-zk1", "dc2-zk2", "dc2-zk3"]
    assert merged(first, copies(dc2_zk1=second, dc2_zk2=second))["hosts"] == everything
    assert merged(second, copies(dc2_zk1=second, dc2_zk2=second, dc2_zk3=first))["hosts"] == everything
    ended = {**second, "state": "ended", "hosts": []}
    assert merged(ended, copies(dc2_zk1=ended, dc2_zk3=first))["hosts"] == ["dc2-zk3"]


def test_a_failover_that_only_separated_hosts_is_no_split_brain() -> None:
    """Neither does one whose failback has begun prove that both datacenters have served alone."""
    own = {**LATER, "state": "lowered", "min_isr": VALUES}
    for state, words in (
        ("separated", "which has only separated hosts. On each of them, remove /etc/millrace/failover.json"),
        ("returning", 'whose failback has begun. If its control node has recorded the end, add "ended": true'),
        ("ensemble", "both datacenters have served alone"),
        ("lowered", "both datacenters have served alone"),
    ):
        hostvars = copies(dc2_zk1=in_state(state), dc1_zk1=own)
        assert words in conflict(json.dumps(own), [*hostvars], hostvars, FILE)
    why = found(LOCK, copies(dc1_zk1={}), "dc1")["why"]
    assert ("has only separated its hosts" in why, "what was written since" in why) == (True, False)


def test_a_failback_leaves_a_later_failover_that_this_control_node_does_not_know() -> None:
    later = {**LATER, "survivor": "dc2", "lost": ["dc1"], "hosts": ["dc2-zk1"]}
    left = {**ENDED, "hosts": ["dc2-zk3"]}
    for own, copy in ((left, later), (SAVED, {**later, "earlier": [SAVED["name"]]})):
        hostvars = copies(dc2_zk1=copy, dc2_zk3=SAVED)
        why = conflict(json.dumps(own), [*hostvars], hostvars, FILE)
        assert why.startswith("dc2-zk1 has the record of a later failover, of 2026-11-28")
        assert why.endswith("or copy /etc/millrace/failover.json of such a host to /pki/failover.json")
    assert conflict(json.dumps(later), ["dc2-zk1"], copies(dc2_zk1=later), FILE) == ""


def test_the_file_that_cannot_be_read_is_named() -> None:
    hostvars = copies(dc2_zk1={}, dc2_zk2={})
    hostvars["dc2-zk2"]["preflight_probe"]["probe"]["failover"] = "{"
    for call in (
        lambda: failover_record("", [*hostvars], hostvars),
        lambda: failover_known("", [*hostvars], hostvars, "dc2", FILE),
        lambda: failback_conflict(json.dumps(SAVED), [*hostvars], hostvars, FILE),
        lambda: failover_resumes(SAVED, [*hostvars], hostvars),
    ):
        with pytest.raises(AnsibleFilterError, match=r"failover\.json of dc2-zk2: Expecting"):
            call()
    with pytest.raises(AnsibleFilterError, match=r"/pki/failover\.json: Expecting"):
        failover_known("{", [], {}, "dc2", FILE)


def test_a_clock_that_is_late_does_not_make_an_older_failover() -> None:
    seen = found(ENDED, copies(dc2_zk1=ENDED))
    assert begun(seen, PLAN, ["dc2-zk1"], [], "power", "20201128T120000Z")["name"] == "20261128T120000Z1-dc2"


def test_a_failover_to_the_other_datacenter_needs_the_end_of_the_first() -> None:
    assert "dc2 already took over on 2026-11-28" in found(SAVED, copies(dc1_zk1={}), "dc1")["why"]
    assert 'add "ended": true to /pki/failover.json' in found(SAVED, copies(dc1_zk1={}), "dc1")["why"]
    assert found({**SAVED, "ended": True}, copies(dc1_zk1={}), "dc1")["why"] == ""
    assert found(SAVED, copies(dc1_zk1=ENDED), "dc1")["why"] == ""  # ended by another control node
    assert found({}, copies(dc3_zk1=SAVED, dc1_zk1={}), "dc1")["why"].startswith("dc3-zk1 has the record of a failover")


def test_a_new_failover_keeps_the_hosts_that_are_still_separated() -> None:
    """dc2-kafka2 was left out of the failback, and dc1 takes over next."""
    left = {**ENDED, "hosts": ["dc2-kafka2"]}
    lock = begun(
        found(left, copies(dc1_zk1=ENDED), "dc1"),
        {**PLAN, "survivor": "dc1", "lost": ["dc2"]},
        ["dc1-zk1"],
        [],
        "power",
        AT,
    )
    assert (lock["hosts"], lock["earlier"]) == (["dc1-zk1", "dc2-kafka2"], [LOCK["name"]])
    assert conflict(json.dumps(lock), ["dc2-kafka2"], copies(dc2_kafka2=SAVED), FILE) == ""


def test_a_failback_that_was_stopped_at_its_end_is_no_split_brain_after_the_next_failover() -> None:
    """The control node had recorded the end, and hosts still had their copies. Then dc1 took over."""
    returned = copies(dc2_zk1=SAVED, dc2_zk2=SAVED)
    lock = begun(
        found(ENDED, copies(dc1_zk1={}), "dc1"),
        {**PLAN, "survivor": "dc1", "lost": ["dc2"]},
        ["dc1-zk1"],
        [],
        "power",
        AT,
    )
    hostvars = {**returned, **copies(dc1_zk1=lock)}
    assert conflict(json.dumps(lock), [*hostvars], hostvars, FILE) == ""
    assert conflict(json.dumps(old(LATER)), [*returned], returned, FILE).startswith(
        "dc2-zk1, dc2-zk2 has the record of"
    )


def test_a_split_brain_is_seen_from_both_sides() -> None:
    """Neither failover knows the other one."""
    hostvars = copies(dc1_zk1=LATER, dc2_zk1=SAVED)
    for own, host in ((SAVED, "dc1-zk1"), (LATER, "dc2-zk1")):
        why = conflict(json.dumps(own), [*hostvars], hostvars, FILE)
        assert why.startswith(f"{host} has the record of a failover to its own datacenter")


def test_a_failback_leaves_the_fences_of_a_failover_of_another_control_node() -> None:
    """This control node has ended its own failover, and only fences are left."""
    own = {**ENDED, "hosts": ["dc2-zk3"]}
    hostvars = copies(dc3_zk1=LATER, dc2_zk3=SAVED, dc1_zk1=LATER)
    why = conflict(json.dumps(own), [*hostvars], hostvars, FILE)
    assert why.startswith("dc3-zk1, dc1-zk1 has the record of another failover (dc1 took over on ")
    assert conflict(json.dumps(own), ["dc2-zk3"], hostvars, FILE) == ""


def test_the_end_of_a_failback_is_known_from_any_copy() -> None:
    """Hosts that were left out keep an older copy, and their fences."""
    left = {**ENDED, "hosts": ["dc2-zk2"]}
    assert lock_problem(json.dumps(left), "/x", "/y", (), ["dc1", "dc2"]) == []
    for own, hostvars in (
        (left, copies(dc2_zk1=ENDED, dc2_zk2=SAVED)),
        (SAVED, copies(dc2_zk1=ENDED, dc2_zk2=SAVED)),
        (left, copies(dc2_zk2=SAVED)),
        ({}, copies(dc2_zk1=ENDED, dc2_zk2=SAVED)),
        (old(SAVED, ended=True, hosts=["dc2-zk2"]), copies(dc2_zk2=SAVED)),
    ):
        lock = merged(own, hostvars)
        assert (lock["state"], lock["hosts"], lock["min_isr"]) == ("ended", ["dc2-zk2"], VALUES)
        assert (found(own, hostvars)["lock"], found(own, hostvars)["why"]) == ({}, "")


@pytest.mark.parametrize(
    ("state", "changed", "without_witness", "with_witness"),
    [
        ("separated", [], "separation", "separation"),
        ("ensemble", [], "separation", "separation"),
        ("lowered", [], "all", "all"),
        ("returning", [], "rest", "all"),
        ("ended", [], "fences", "fences"),
        ("separated", ["dc2-zk1"], "all", "all"),
        ("ensemble", ["dc2-zk1"], "all", "all"),
        ("lowered", ["dc2-zk1"], "all", "all"),
        ("returning", ["dc2-zk1"], "all", "all"),
        ("ended", ["dc2-zk1"], "rest", "fences"),
    ],
)
def test_what_a_failback_has_to_undo(state: str, changed: list[str], without_witness: str, with_witness: str) -> None:
    """In the state `ensemble`, no zoo.cfg may have been changed yet: failover.yml does not continue if dc1 is back."""
    assert scope(in_state(state), PLAN, changed) == without_witness
    assert scope(in_state(state), WITH_WITNESS, changed) == with_witness
