"""A wrong inventory was taken to running servers and stopped at the first; the corrected one mends it, in one run.

What the wrong one left is worse than what a gate waits for: a server that does not serve, a broker at an address that
nobody reaches, one that does not start.
"""

import json
import re
import time

import pytest
from faults.lab import Lab, until

from operations.conftest import Operator

pytestmark = pytest.mark.campaign
# Certificates of other servers are checked against a revocation list that there is not, so the server rejects them all.
# Preflight cannot know.
WRONG_QUORUM = {"zookeeper_config": {"ssl.quorum.crl": True}}
# The name of a host is its client address, where the brokers' own listener is not.
WRONG_ADDRESS = {"advertised_address": "{{ inventory_hostname }}"}


def healthy(operator: Operator) -> None:
    """The page says so."""
    run = operator.play("check")
    assert run.code == 0 and "\nHEALTHY\n" in run.output, run.output[-3000:]


def test_a_server_that_cannot_join_any_more(operator: Operator) -> None:
    """The change stops at the first server, the others serve on; the next run restarts that one, though it is sick."""
    lab = Lab(operator.inventory)
    servers = operator.inventory.hosts("zookeeper")
    wrong = operator.play("zookeeper", "-e", json.dumps({**WRONG_QUORUM, "zookeeper_restart_timeout": 40}))
    assert wrong.code != 0
    assert "not healthy after 40 s" in wrong.output
    sick = [host for host, said in lab.zookeeper().items() if "Mode" not in said]
    assert len(sick) == 1 and lab.zookeeper_leader() in servers
    before = operator.processes()
    cured = operator.play("zookeeper")
    assert cured.code == 0, cured.output[-3000:]
    assert {host for host, said in operator.processes().items() if said != before[host]} == set(sick)
    healthy(operator)


def test_a_broker_at_an_address_that_nobody_reaches(operator: Operator) -> None:
    """The change stops at the first broker; the next run restarts it, though the cluster is not whole."""
    lab = Lab(operator.inventory)
    topic = f"cure-{time.time_ns()}"
    lab.create_topic(topic)
    shown = operator.inventory.variables[operator.inventory.hosts("kafka")[0]]["standard_listeners"]
    listeners = [{**entry, **(WRONG_ADDRESS if entry["name"] == "REPLICATION" else {})} for entry in shown]
    wrong = operator.play("kafka", "-e", json.dumps({"standard_listeners": listeners, "kafka_restart_timeout": 60}))
    assert wrong.code != 0
    failed = r"broker \d+ was restarted and is not back; no other broker was stopped"
    assert re.search(failed, wrong.output), wrong.output[-3000:]
    lacking = until("replicas out of sync", lambda: {len(p.isr) for p in lab.partitions(topic).values()}, 5)
    assert lacking == {2}, "one of three is not in sync anywhere, and no partition lacks another"
    assert all(p.leader >= 0 for p in lab.partitions(topic).values())
    before = operator.processes()
    cured = operator.play("kafka")
    assert cured.code == 0, cured.output[-3000:]
    assert len([host for host, said in operator.processes().items() if said != before[host]]) == 1
    lab.delete_topic(topic)
    healthy(operator)


def test_a_broker_that_cannot_start(operator: Operator) -> None:
    """The first one is down, its last words say why, no other was stopped; the next run heals it, leaders and all."""
    before, begun = operator.processes(), time.monotonic()
    options = ["-agentlib:nobody-has-this"]
    run = operator.play("kafka", "-e", json.dumps({"kafka_java_options": options}))
    assert run.code != 0
    assert "Could not find agent library nobody-has-this" in run.output, run.output[-3000:]
    assert "nothing else was stopped" in run.output
    assert time.monotonic() - begun < 120
    stopped = {host for host, said in operator.processes().items() if said != before[host]}
    assert len(stopped) == 1, stopped
    run = operator.play("site")
    assert run.code == 0, run.output[-3000:]
    assert {host for host, said in operator.processes().items() if said != before[host]} == stopped
    healthy(operator)


def test_a_run_on_one_broker_does_not_wait_for_another_that_was_down_before(operator: Operator) -> None:
    """It says what lacks, as it did before, and touches nobody."""
    first, *_, last = operator.inventory.hosts("kafka")
    operator.inventory.run(last, "systemctl stop kafka")
    try:
        before = operator.processes()
        run = operator.play("kafka", "--limit", first)
        assert run.code == 0, run.output[-3000:]
        assert "the cluster is not healthy, as before" in re.sub(r"\s+", " ", run.output)
        assert operator.processes() == before
    finally:
        Lab(operator.inventory).heal()
