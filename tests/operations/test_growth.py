"""A broker on a host of its own joins, is filled, drained and leaves by a line of the inventory, under load."""

import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from faults.containers import podman
from faults.inventory import Inventory, load
from faults.lab import Lab, until, until_none
from faults.verdict import verdict
from faults.writer import Writer

from operations.conftest import Operator, Run

pytestmark = pytest.mark.campaign
LONGEST = 1800
"""Seconds that the load lasts at most."""
ID, HOST, RATE = 4, "dc1-kafka4", ("-e", "rate=50MB")


def beside(address: str) -> str:
    """Return the address of the new host: in the subnet of another one, where nobody is."""
    return f"{address.rpartition('.')[0]}.29"


def words(run: Run) -> str:
    """Return what a run printed, in one line."""
    return " ".join(run.output.split())


def servers(operator: Operator) -> dict[str, str]:
    """Return the processes of brokers and ZooKeeper servers; jobs, which are told of each broker, are restarted."""
    jobs = operator.inventory.hosts("spark")
    return {host: said for host, said in operator.processes().items() if host not in jobs}


def a_rack_at_a_time(operator: Operator, grown: Inventory) -> dict[str, str]:
    """Restart all four brokers by rack: those of rack a together, each of the others alone; return `servers`."""
    hosts = grown.hosts("kafka")
    before = {host: down(grown, host) for host in hosts}
    rolled = operator.play("restart", "-l", "kafka", "-e", "parallel=rack", inventory=grown.directory)
    assert rolled.code == 0, rolled.output[-5000:]
    after = {host: down(grown, host) for host in hosts}
    assert all(after[host][0] > before[host][1] for host in hosts), (before, after)
    first = next(host for host in hosts if host != HOST)
    together = {
        (one, other)
        for one, other in combinations(sorted(hosts), 2)
        if max(after[one][0], after[other][0]) < min(after[one][1], after[other][1])
    }
    assert together == {tuple(sorted((first, HOST)))}, after
    return servers(operator)


def down(grown: Inventory, host: str) -> tuple[int, int]:
    """Return from when to when a host's broker was down at last, in microseconds of the clock that containers share."""
    names = ("ActiveExitTimestampMonotonic", "ActiveEnterTimestampMonotonic")
    said = dict(line.split("=") for line in grown.run(host, f"systemctl show -p {','.join(names)} kafka").split())
    return int(said[names[0]]), int(said[names[1]])


@pytest.fixture
def grown(operator: Operator) -> Iterator[Inventory]:
    """The inventory with one line more, whose host is there, bare; it is gone afterwards, and the others are whole."""
    inventory = operator.inventory
    first = inventory.hosts("kafka")[0]
    addresses = f"client_address: {beside(inventory.client_address(first))}"
    addresses += f", replication_address: {beside(inventory.replication_address(first))}"
    line = f"        {HOST}: {{kafka_broker_id: {ID}, {addresses}, rack: a}}\n"
    directory = operator.changed_inventory("grown", (r"(    kafka:\n      hosts:\n)", rf"\g<1>{line}"))
    made = operator.play("../lab/create", inventory=directory)
    assert made.code == 0, made.output[-3000:]
    found = load(directory)
    yield found
    container = found.container(HOST)
    topics = Lab(inventory).admin.list_topics(timeout=10).topics.values()
    if any(ID in partition.replicas for one in topics for partition in one.partitions.values()):
        operator.play("reassign", "-e", f"drain={ID}", *RATE, inventory=directory)  # the test failed
    found.close()
    podman("rm", "-f", "-t", "0", container)
    back = operator.play("../lab/create")
    assert back.code == 0, back.output[-3000:]
    Lab(inventory).heal()


@pytest.fixture
def topic(inventory: Inventory) -> Iterator[str]:
    """A topic that is gone afterwards."""
    lab, name = Lab(inventory), f"growth-{time.time_ns()}"
    lab.create_topic(name)
    yield name
    lab.delete_topic(name)


def test_a_broker_joins_and_leaves(operator: Operator, grown: Inventory, topic: str, tmp_path: Path) -> None:
    lab = Lab(operator.inventory)
    processes = servers(operator)

    def held() -> set[int]:
        return {number for number, one in lab.partitions(topic).items() if ID in one.replicas}

    with Writer(
        operator.inventory.kafka_properties, topic, tmp_path, run=topic, rate=200, limit=200 * LONGEST
    ) as writer:
        until("records before it", lambda: writer.acked >= 500, 60)
        joined = operator.play("site", inventory=grown.directory)
        assert joined.code == 0, joined.output[-5000:]
        assert servers(operator) == processes, "nobody else was restarted"
        until("it is registered", lambda: ID in lab.admin.list_topics(timeout=10).brokers, 30)
        empty = operator.play("check", inventory=grown.directory)
        assert f"broker {ID} ({HOST}) has no replicas: run reassign.yml -e add={ID}" in words(empty), empty.output[
            -3000:
        ]

        filled = operator.play("reassign", "-e", f"add={ID}", *RATE, inventory=grown.directory)
        assert filled.code == 0, filled.output[-5000:]
        until("it holds partitions", held, 30)
        healthy = operator.play("check", inventory=grown.directory)
        assert healthy.code == 0 and "\nHEALTHY\n" in healthy.output, healthy.output[-3000:]

        processes = a_rack_at_a_time(operator, grown)

        early = operator.play("site")
        assert early.code != 0, "its line is gone while it holds replicas"
        assert f"reassign.yml -e drain={ID}" in words(early), early.output[-3000:]
        assert servers(operator) == processes

        drained = operator.play("reassign", "-e", f"drain={ID}", *RATE, inventory=grown.directory)
        assert drained.code == 0, drained.output[-5000:]
        until("it holds nothing", lambda: not held(), 30)
        grown.run(HOST, "systemctl disable --now kafka", seconds=120)
        left = operator.play("site")
        assert left.code == 0, left.output[-5000:]
        assert servers(operator) == processes
        enough = writer.acked + 500
        until("records after it", lambda: writer.acked >= enough, 60)
    until_none("brokers are whole", lab.broker_problems, 60)
    verdict(lab, topic, tmp_path, 0)
