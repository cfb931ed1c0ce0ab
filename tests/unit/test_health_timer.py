"""The timer of the admin host on the page of check.yml."""

import json

import pytest
from unit.healthy import cluster, declared, probes

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.page import as_json, page, with_timer

TIMER, SERVICE = "millrace-rebalance.timer", "millrace-rebalance.service"
MEND = (
    ": `journalctl -u millrace-rebalance` on that host shows why, and what to do; then run "
    "`systemctl reset-failed millrace-rebalance`; its next successful run also clears this line"
)


@pytest.mark.parametrize("admin", ["ops1", "zk1"])
@pytest.mark.parametrize(
    ("timer", "service", "wrong"),
    [
        ("active", "inactive", []),
        ("active", "activating", []),
        ("active", "failed", [f"{SERVICE} on ADMIN is failed{MEND}"]),
        ("inactive", "inactive", [f"{TIMER} on ADMIN is inactive"]),
    ],
)
def test_a_timer(admin: str, timer: str, service: str, wrong: list[str]) -> None:
    """It has to wait; its service is named where its last run has failed. The host may be a server, too."""
    hosts, answers = with_timer(declared(), probes(), admin, {TIMER: timer, SERVICE: service})
    text, found = page(hosts, answers, cluster())
    assert found == [one.replace("ADMIN", admin) for one in wrong]
    rows = [line.split() for line in text.split("Units\n")[1].partition("\n\n")[0].splitlines()]
    assert [admin, TIMER, timer] in rows
    assert ([admin, SERVICE, service] in rows) == (service == "failed")
    assert ["zk1", "zookeeper.service", "active"] in rows


@pytest.mark.parametrize("state", ["active", "inactive"])
def test_a_host_that_says_nothing_of_itself(state: str) -> None:
    """That its timer was seen does not make it one that answers; the timer is shown all the same."""
    answers = probes()
    del answers["zk1"]
    hosts, answers = with_timer(declared(), answers, "zk1", {TIMER: state, SERVICE: "inactive"})
    text, found = page(hosts, answers, cluster())
    wrong = [f"{TIMER} on zk1 is inactive"] if state == "inactive" else []
    assert found == ["zk1 does not answer", "ZooKeeper on zk1: unreachable", *wrong]
    assert ["zk1", TIMER, state] in [line.split() for line in text.splitlines()]
    units = json.loads(as_json(hosts, answers, cluster()))["units"]
    assert {"host": "zk1", "unit": TIMER, "state": state, "starts": 0} in units
