"""A ZooKeeper server comes back with empty disks, or on another machine: refused while another one is out."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.containers import podman
from faults.lab import Lab, until, until_none
from faults.verdict import verdict
from faults.writer import Writer

from operations.conftest import Operator
from operations.moving import Topic, ids

pytestmark = pytest.mark.campaign
DISKS = "sed -n 's/^data\\(Log\\)\\?Dir=//p' /etc/zookeeper/zoo.cfg"
WIPE = f"systemctl stop zookeeper && for d in $({DISKS}); do rm -rf $d/version-2 $d/myid; done"


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
    inventory.run(host, WIPE)
    inventory.run(other, "systemctl stop zookeeper")
    try:
        refused = operator.play(*verb, "--check")
    finally:
        inventory.run(other, "systemctl start zookeeper")
    said = " ".join(refused.output.split())
    assert refused.code != 0 and "An empty server would form a quorum" in said, refused.output[-3000:]
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

    def as_the_leader() -> bool:
        found = nodes(lab)
        return int(found[host] or 0) > 50 and found[host] == found[lab.zookeeper_leader()]

    until("it has all nodes", as_the_leader, 30)
    again = operator.play(*verb)
    assert (again.code, set(again.recap("changed").values())) == (0, {0}), again.output[-3000:]


def elsewhere(address: str) -> str:
    """Return another address of the same subnet, which nobody has."""
    return f"{address.rpartition('.')[0]}.19"


def test_a_server_on_another_machine(operator: Operator, lab: Lab, made: Callable[..., Topic], tmp_path: Path) -> None:
    """Its addresses are new: all others are told and restarted through the gate, and so they are when it moves back."""
    inventory, host = operator.inventory, followers(lab)[0]
    client, replication = inventory.client_address(host), inventory.replication_address(host)
    changes = [(rf"{re.escape(one)}\b", elsewhere(one)) for one in (client, replication)]
    moved = operator.changed_inventory("elsewhere", *changes)
    one, two, three = ids(operator)
    topic = made([one, two], [two, three], [three, one])

    def replaced(directory: Path) -> None:
        """The machine dies with its disks, another one stands in its place."""
        inventory.run(host, WIPE)
        podman("rm", "-f", "-t", "0", inventory.container(host))
        new = operator.play("../lab/create", inventory=directory)
        assert new.code == 0, new.output[-3000:]
        inventory.disconnect(host)
        before = operator.processes()
        run = operator.play("replace_server", "-e", f"server={host}", "-e", "new_address=true", inventory=directory)
        assert run.code == 0, run.output[-5000:]
        said = " ".join(run.output.split())
        assert f"{host} takes part in the ensemble" in said and "all servers and brokers have its addresses" in said
        after = operator.processes()
        told = {*inventory.hosts("zookeeper"), *inventory.hosts("kafka")}
        assert {one for one in before if after[one] != before[one]} == told

    with Writer(inventory.kafka_properties, topic.name, tmp_path, run=topic.name, rate=200) as writer:
        until("records before it", lambda: writer.acked >= 500, 60)
        try:
            replaced(moved)
            for other in inventory.hosts("kafka"):
                said = inventory.run(other, "cat /etc/kafka/server.properties")
                assert elsewhere(client) in said or elsewhere(replication) in said
            checked = operator.play("check", inventory=moved)
            assert checked.code == 0 and "\nHEALTHY\n" in checked.output, checked.output[-3000:]
        finally:
            replaced(inventory.directory)
        enough = writer.acked + 500
        until("records after it", lambda: writer.acked >= enough, 60)
    until_none("brokers are whole", lab.broker_problems, 60)
    verdict(lab, topic.name, tmp_path, 0)
