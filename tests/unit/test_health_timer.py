"""The timer of the admin host on the page of check.yml."""

import pytest
from unit.healthy import cluster, declared, probes

from ansible_collections.millrace.kafka.plugins.plugin_utils.health import page, with_timer

TIMER, SERVICE = "millrace-rebalance.timer", "millrace-rebalance.service"


@pytest.mark.parametrize("admin", ["ops1", "zk1"])
@pytest.mark.parametrize(
    ("timer", "service", "wrong"),
    [
        ("active", "inactive", []),
        ("active", "activating", []),
        ("active", "failed", [f"{SERVICE} on ADMIN is failed"]),
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
