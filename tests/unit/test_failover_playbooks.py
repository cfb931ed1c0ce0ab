"""Conditions in failover.yml and failback.yml that no filter computes."""

import json
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from unit.failover_site import ENDED, GROUPS, site

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import find_collections

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
FAILOVER, FAILBACK = (yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text()) for name in ("failover", "failback"))


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
    find_collections()
    record = tmp_path / "failover.json"
    record.write_text(json.dumps({**ENDED, "hosts": ["dc2-gone", "dc2-zk2", "dc2-zk3"]}))
    hostvars = {host: {**variables, "inventory_hostname": host} for host, variables in site(str(record)).items()}
    for host in ("dc2-kafka1", "dc2-zk1", "dc2-zk2"):
        hostvars[host]["failback_abandons"] = True
    given = {"groups": GROUPS, "hostvars": hostvars, "ansible_play_hosts": ["dc2-kafka1", "dc2-zk1", "dc2-zk2"]}
    texts = {name: trust_as_template(text) for name, text in FAILBACK[0]["vars"].items()}
    templar = Templar(loader=DataLoader(), variables={**texts, **given})
    assert templar.template(trust_as_template("{{ __fenced }}")) == ["dc2-zk3"]
    assert templar.template(trust_as_template("{{ __stays }}")) == (
        "Still separated from dc1: dc2-zk3. When such a host returns, run failback.yml again. Not in the inventory, "
        "maybe with a fence: dc2-gone."
    )
