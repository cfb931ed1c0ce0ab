"""An outage with a host that cannot be reached: all others stop, in their order, and the one is named."""

import re

import pytest
from faults.lab import Lab

from operations.conftest import Operator

pytestmark = pytest.mark.campaign


def stopped_at(operator: Operator, host: str, unit: str) -> int:
    """Return when a unit was stopped, by the clock that all containers of a machine share."""
    command = f"systemctl show -p InactiveEnterTimestampMonotonic --value {unit}"
    return int(operator.inventory.run(host, command))


def test_an_outage_leaves_out_who_cannot_be_reached(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader is the last server, the controller the last broker; the host without SSH goes on, and is named.

    The tests have a connection that stays, and playbooks make new ones.
    """
    monkeypatch.setenv("ANSIBLE_SSH_ARGS", "-o ControlMaster=no -o ControlPath=none")
    lab = Lab(operator.inventory)
    leader, controller = lab.zookeeper_leader(), lab.admin.list_topics(timeout=10).controller_id
    brokers, servers = operator.inventory.hosts("kafka"), operator.inventory.hosts("zookeeper")
    away = next(host for host in brokers if operator.inventory.broker_id(host) != controller)
    operator.inventory.run(away, "systemctl stop ssh")
    try:
        run = operator.play("stop", "-e", "outage=true")
        words = re.sub(r"\s+", " ", run.output)
        assert run.code != 0 and f"Could not be reached: {away}." in words, run.output[-3000:]
        runs = operator.inventory.run(away, "systemctl is-active kafka", check=False).strip()
        assert runs == "active"
        at = {host: stopped_at(operator, host, "zookeeper") for host in servers}
        assert max(at, key=lambda host: at[host]) == leader, at
        at = {host: stopped_at(operator, host, "kafka") for host in brokers if host != away}
        assert operator.inventory.broker_id(max(at, key=lambda host: at[host])) == controller, at
    finally:
        operator.inventory.run(away, "systemctl start ssh")
        started = operator.play("start")
        lab.heal()
    assert started.code == 0, started.output[-3000:]


def test_check_mode_of_restart_says_the_order(operator: Operator) -> None:
    """It names the leader and the controller last, and changes nothing."""
    lab, before = Lab(operator.inventory), operator.processes()
    leader, controller = lab.zookeeper_leader(), lab.admin.list_topics(timeout=10).controller_id
    run = operator.play("restart", "--check")
    assert run.code == 0, run.output[-3000:]
    words = re.sub(r"\s+", " ", run.output)
    assert re.search(rf"servers would be restarted in this order: [^.]*{leader}\. Now: ", words), run.output[-3000:]
    assert re.search(rf"Brokers would be restarted in this order: [^.]*\b{controller}\. Now: ", words)
    assert operator.processes() == before
