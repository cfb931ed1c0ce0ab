"""A ZooKeeper server comes back with empty disks: refused while another one is out, then it takes its place alone."""

from collections.abc import Iterator

import pytest
from faults.lab import Lab, until, until_none

from operations.conftest import Operator

pytestmark = pytest.mark.campaign
DISKS = "sed -n 's/^data\\(Log\\)\\?Dir=//p' /etc/zookeeper/zoo.cfg"


@pytest.fixture
def lab(operator: Operator) -> Iterator[Lab]:
    """The lab, all of it up again after the test."""
    found = Lab(operator.inventory)
    yield found
    found.heal()


def followers(lab: Lab) -> list[str]:
    """Return the servers that follow."""
    return [host for host, said in lab.zookeeper().items() if said.get("Mode") == "follower"]


def nodes(lab: Lab) -> dict[str, str]:
    """Return how many nodes each server has."""
    return {host: said.get("Node count", "") for host, said in lab.zookeeper().items()}


def test_a_server_with_empty_disks(operator: Operator, lab: Lab) -> None:
    inventory = operator.inventory
    host, other, *_ = followers(lab)
    verb = ("replace_server", "-e", f"server={host}")
    known = nodes(lab)[lab.zookeeper_leader()]
    inventory.run(host, f"systemctl stop zookeeper && for d in $({DISKS}); do rm -rf $d/version-2 $d/myid; done")
    inventory.run(other, "systemctl stop zookeeper")
    try:
        refused = operator.play(*verb, "--check")
    finally:
        inventory.run(other, "systemctl start zookeeper")
    said = " ".join(refused.output.split())
    assert refused.code != 0 and "A server that begins with nothing would make a quorum" in said, refused.output[-3000:]
    assert inventory.run(host, f"ls -A $({DISKS})").count("version-2") == 0
    until("two of them serve", lambda: "leader" in [said.get("Mode") for said in lab.zookeeper().values()], 60)
    until_none("brokers are whole", lab.broker_problems, 120)

    before = operator.processes()
    checked = operator.play(*verb, "--check")
    assert checked.code == 0, checked.output[-3000:]
    assert operator.processes() == before and inventory.run(host, f"ls -A $({DISKS})").count("version-2") == 0

    run = operator.play(*verb)
    assert run.code == 0, run.output[-3000:]
    assert f"{host} takes part in the ensemble" in run.output
    after = operator.processes()
    assert [one for one in before if after[one] != before[one]] == [host]
    assert until("it has all nodes", lambda: int(nodes(lab)[host] or 0) >= int(known), 30)
    again = operator.play(*verb)
    assert (again.code, set(again.recap("changed").values())) == (0, {0}), again.output[-3000:]
