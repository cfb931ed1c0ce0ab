"""Conditions in failover.yml and failback.yml that no filter computes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleUndefinedVariable
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from unit.failover_site import ENDED, GROUPS, LOCK, in_state, site

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import find_collections

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
FAILOVER, FAILBACK, DISASTER = (
    yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text()) for name in ("failover", "failback", "disaster")
)


def tasks(playbook: list[dict[str, Any]], module: str) -> list[dict[str, Any]]:
    """Return the arguments of this module in each task that calls it."""
    found = [task for play in playbook for task in play.get("tasks", ())]
    return [task[f"millrace.kafka.{module}"] for task in found if f"millrace.kafka.{module}" in task]


def test_min_isr_is_lowered_only_with_values_that_were_read_before() -> None:
    """With --start-at-task, the task that lowers them fails; it never lowers without a record."""
    reads, lowers = tasks(FAILOVER, "kafka_min_isr")
    assert lowers["saved"] == "{{ failover_values.saved }}"
    assert lowers["only_saved"]
    assert {key for key in lowers if reads.get(key) != lowers[key]} == {"saved", "only_saved"}


def test_topics_that_reject_writes_are_looked_at_in_both_layouts() -> None:
    """A topic can have fewer replicas in one datacenter than the others, with and without a witness."""
    report = next(task for task in FAILOVER[2]["tasks"] if task["name"] == "Report the result")
    assert report["vars"]["__rejecting"] == "{{ failover_after.rejecting }}"
    assert [one["survivors"] for one in tasks(FAILOVER, "kafka_min_isr")] == ["{{ __plan.brokers }}"] * 2
    assert tasks(FAILOVER, "kafka_disaster")[-1]["taken_over"] == "{{ survivor }}"


def test_hosts_that_left_the_inventory_are_named_once(tmp_path: Path) -> None:
    """The record keeps hosts of the inventory only."""
    hostvars = variables(tmp_path, {**ENDED, "hosts": ["dc2-gone", "dc2-zk2", "dc2-zk3"]})
    hostvars["dc2-zk2"]["failback_unfenced"] = True
    assert of_failback("__fenced", hostvars, ["dc2-kafka1", "dc2-zk1", "dc2-zk2"]) == ["dc2-zk3"]
    assert of_failback("__stays", hostvars, ["dc2-kafka1", "dc2-zk1", "dc2-zk2"]) == (
        "Still separated: dc2-zk3. When such a host returns, run failback.yml again. Not in the inventory, "
        "maybe with a fence: dc2-gone."
    )


def test_a_host_that_is_lost_before_its_fence_is_removed_is_still_separated(tmp_path: Path) -> None:
    """It was checked, and then SSH failed."""
    hostvars, left = variables(tmp_path, {**LOCK, "hosts": ["dc2-zk2", "dc2-zk3"]}), ["dc2-zk1", "dc2-zk2"]
    for host in (*left, "dc2-zk3"):
        hostvars[host]["failback_scope"] = "separation"
    for host in left:
        hostvars[host]["failback_unfenced"] = True
    assert of_failback("__survivors", hostvars, left) == ["dc2-zk1", "dc2-zk2", "dc2-zk3"]
    assert of_failback("__fenced", hostvars, left) == ["dc2-zk3"]


def test_nothing_is_changed_before_the_last_check_of_a_failback() -> None:
    """Its messages end with "Nothing was changed."."""
    names = [play.get("name", "") for play in FAILBACK]
    checks = names.index("Check whether the failback is possible, before anything is changed")
    assert not [task for play in FAILBACK[: checks + 1] for task in play.get("tasks", ()) if CHANGES & {*task}]
    for play in FAILBACK[checks + 1 :]:
        firsts = [task for task in play.get("tasks", ()) if "Nothing was changed" in str(task)]
        assert firsts == play.get("tasks", ())[: len(firsts)]


def test_a_server_that_was_killed_between_two_files_of_its_ensemble_is_continued() -> None:
    """zoo.cfg.before-failover exists, and zoo.cfg has the servers of both datacenters still."""
    find_collections()
    (task,) = (one for one in FAILOVER[2]["tasks"] if "failover_resumes" in one.get("ansible.builtin.set_fact", {}))
    text = trust_as_template(task["ansible.builtin.set_fact"]["failover_resumes"])
    for saved, resumes in (({"stat": {"exists": True}}, True), ({"stat": {"exists": False}}, False), ({}, False)):
        given: dict[str, Any] = {"__plan": {"keeps_ensemble": False}, "__is_small": False, "failover_saved": saved}
        for lock, continues in ((in_state("ensemble"), resumes), (LOCK, False), ({}, False)):
            found = Templar(loader=DataLoader(), variables={**given, "__lock": lock}).template(text)
            assert bool(found) is continues  # in the state `separated`, the files are of an earlier failover


def test_a_host_records_the_change_of_the_ensemble_before_it() -> None:
    """So that another control node can continue: the state `separated` is no proof that this failover changed it."""
    find_collections()
    (task,) = (one for one in FAILOVER[2]["tasks"] if "__small" in str(one.get("millrace.kafka.host_state")))
    given = {"failover_record": in_state("ensemble"), "__is_small": False, "__small": "x"}
    given |= {key: trust_as_template(text) for key, text in task["vars"].items()}
    given["failover_configuration"] = {"content": "y"}
    found = Templar(loader=DataLoader(), variables=given).template(
        trust_as_template(task["millrace.kafka.host_state"]["files"])
    )
    assert [one["path"].rpartition("/")[2] for one in found] == [
        "failover.json",
        "zoo.cfg.before-failover",
        "zoo.cfg",
    ]
    assert json.loads(found[0]["content"])["state"] == "ensemble"
    assert found[0]["content"].endswith("}\n")


def test_no_registration_is_removed_without_a_record() -> None:
    """With --start-at-task, the play has no record, and the task fails."""
    (removes,) = tasks(FAILOVER, "zookeeper_registrations")
    text = trust_as_template(removes["lost"])
    given: dict[str, Any] = {"__plan": {"lost_brokers": [1, 2]}}
    with pytest.raises(AnsibleUndefinedVariable):
        Templar(loader=DataLoader(), variables=given).template(text)
    given["failover_record"] = LOCK
    assert Templar(loader=DataLoader(), variables=given).template(text) == [1, 2]


@pytest.mark.parametrize("state", ["separated", "ensemble", "lowered", "returning", "ended"])
def test_a_verdict_depends_on_the_state_of_the_record(tmp_path: Path, state: str) -> None:
    """A failover that was interrupted after it changed the ensemble has taken over."""
    find_collections()
    record = tmp_path / "failover.json"
    record.write_text(json.dumps(in_state(state)))
    play = DISASTER[0]
    (asked,) = tasks(DISASTER, "kafka_disaster")
    texts = {key: trust_as_template(text) for key, text in play["vars"].items()}
    templar = Templar(loader=DataLoader(), variables={**texts, "failover_lock": str(record)})
    given = [templar.template(trust_as_template(asked[key])) for key in ("taken_over", "failover_state")]
    assert given == (["dc2", state] if state in ("ensemble", "lowered", "returning") else ["", "lowered"])


def test_a_host_that_an_earlier_failback_did_not_reach_records_its_end() -> None:
    """Its old copy would reject playbooks."""
    find_collections()
    (task,) = next(one for one in FAILBACK if one["name"].startswith("Remove fences from hosts"))["tasks"]
    probed = {"preflight_probe": {"probe": {"failover": json.dumps(in_state("lowered"))}}}
    templar = Templar(loader=DataLoader(), variables=probed)
    record = templar.template(trust_as_template(task["vars"]["ended_record"]))
    assert record == {**in_state("lowered"), "state": "ended", "hosts": []}


def test_the_end_of_a_failback_is_recorded_last() -> None:
    """After it, a repetition only removes fences."""
    (play,) = (one for one in FAILBACK if one["name"] == "Bring the brokers back")
    assert play["tasks"][-1]["name"] == "Record on the control node that everything is restored"
    assert "millrace.kafka.kafka_leaders" in play["tasks"][-2]


@pytest.mark.parametrize("playbook", [FAILOVER, FAILBACK], ids=["failover", "failback"])
def test_a_host_that_is_lost_during_a_run_ends_it(playbook: list[dict[str, Any]], tmp_path: Path) -> None:
    """Each play has this from the other tasks of its play, and from the plays after it, with and without `serial`.

    For max_fail_percentage alone, an unreachable host is no failed one.
    """
    keys = {"serial", "any_errors_fatal", "max_fail_percentage"}
    ways = {json.dumps({key: play[key] for key in keys & {*play}}) for play in playbook if "tasks" in play}
    hosts = {"gone": {"ansible_host": "127.0.0.1", "ansible_port": 1}, **dict.fromkeys(["b", "c"], LOCAL)}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    for number, way in enumerate(ways - {"{}"}):  # a play on localhost needs nothing
        file = tmp_path / f"{number}.json"
        echo = {"name": "AFTER", "ansible.builtin.debug": {"msg": "went on"}}
        plays = [
            {"hosts": "gone,b", **json.loads(way), "tasks": [{"ansible.builtin.command": "true"}, echo]},
            {"hosts": "c", "tasks": [echo]},
        ]
        file.write_text(json.dumps(plays))
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", str(tmp_path / "hosts.json"), str(file)]
        run = subprocess.run(command, capture_output=True, text=True, cwd=PLAYBOOKS.parent)
        assert "UNREACHABLE" in run.stdout, run
        assert "went on" not in run.stdout, (way, run.stdout)


LOCAL = {"ansible_connection": "local"}
CHANGES = {f"ansible.builtin.{name}" for name in ("import_tasks", "shell", "copy", "file")} | {
    "millrace.kafka.host_state",
    "millrace.kafka.kafka_min_isr",
}


def variables(folder: Path, lock: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of a site whose control node has this record."""
    (folder / "failover.json").write_text(json.dumps(lock))
    hosts = site(str(folder / "failover.json"))
    return {host: {**of_host, "inventory_hostname": host} for host, of_host in hosts.items()}


def of_failback(name: str, hostvars: dict[str, Any], hosts: list[str]) -> Any:
    """Return a variable of failback.yml in a play that has these hosts left."""
    find_collections()
    given = {"groups": GROUPS, "hostvars": hostvars, "ansible_play_hosts": hosts}
    texts = {key: trust_as_template(text) for key, text in FAILBACK[0]["vars"].items()}
    templar = Templar(loader=DataLoader(), variables={**texts, **given})
    return templar.template(trust_as_template(f"{{{{ {name} }}}}"))
