"""Conditions in failover.yml and failback.yml that no filter computes."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
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
    assert reads.keys() == lowers.keys()
    assert {key for key in reads if reads[key] != lowers[key]} == {"saved"}


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
