"""The ensemble has two networks: its quorum moves when the replication network goes, server by server or everywhere."""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest

from .interfaces import Interfaces
from .inventory import ROOT
from .lab import Lab, until
from .promises import Clock
from .zookeeper import ZooKeeperWriter

pytestmark = pytest.mark.timed
PAUSE = "longest gap between writes"


@pytest.fixture
def interfaces(lab: Lab) -> Iterator[Interfaces]:
    """The interfaces, all up again after the test."""
    found = Interfaces(lab.inventory)
    yield found
    found.up()


def moved(lab: Lab, interfaces: Interfaces, hosts: Sequence[str]) -> bool:
    """Tell whether nobody talks to these hosts' replication addresses any more, and the ensemble is whole."""
    gone = {lab.inventory.replication_address(host) for host in hosts}
    return not gone & interfaces.quorum_addresses() and not lab.zookeeper_problems()


def lose_and_regain(lab: Lab, interfaces: Interfaces, parent: str, steps: Sequence[Sequence[str]]) -> str:
    """Take the replication network from the hosts of each step, and give it back to all: writes go on in time.

    Return the gaps.
    """
    interfaces.home(lab)
    clocks: dict[str, Clock] = {}
    with ZooKeeperWriter(lab.inventory, steps[-1][-1], parent) as writer:
        for hosts in steps:
            clocks[f"gone from {', '.join(hosts)}"] = Clock("ZooKeeper loses a network")
            interfaces.down(*hosts)
            until(
                f"the quorum left the replication network of {', '.join(hosts)}",
                partial(moved, lab, interfaces, hosts),
                60,
            )
            writer.writes_again(60)
        clocks["back"] = Clock("ZooKeeper loses a network")
        interfaces.up()
        writer.writes_again(60)
        ends = [*(clock.start for clock in clocks.values()), time.monotonic()][1:]
        gaps = [writer.gap(clock.start, end) for clock, end in zip(clocks.values(), ends, strict=True)]
    for clock, gap in zip(clocks.values(), gaps, strict=True):
        clock.compare(PAUSE, gap)
    assert max(gaps) > 1, f"nothing was cut: {gaps}"
    return "; ".join(f"{what}: {clock}" for what, clock in clocks.items())


def test_the_replication_network_goes(
    lab: Lab, interfaces: Interfaces, run_id: str, note: Callable[[str], None]
) -> None:
    """On all hosts at once, as with their switch."""
    note(lose_and_regain(lab, interfaces, f"/{run_id}", [lab.inventory.hosts("zookeeper")]))


@pytest.mark.campaign
def test_the_replication_network_goes_server_by_server(
    lab: Lab, interfaces: Interfaces, run_id: str, note: Callable[[str], None]
) -> None:
    """First on the leader's host, then on the others in turn."""
    leader = lab.zookeeper_leader()
    order = [leader, *(host for host in lab.inventory.hosts("zookeeper") if host != leader)]
    note(lose_and_regain(lab, interfaces, f"/{run_id}", [[host] for host in order]))


def test_preflight_names_a_dropped_probe(lab: Lab, interfaces: Interfaces) -> None:
    """A firewall that drops TCP port 7 would keep the ensemble from moving: refused before anything is changed."""
    first, second, *others = lab.inventory.hosts("zookeeper")
    rule = ["INPUT", "-p", "tcp", "--dport", "7", "-j", "DROP"]
    interfaces.inside(second, "iptables", "-A", *rule)
    try:
        command = ["ansible-playbook", "-i", str(lab.inventory.directory), "-l", "zookeeper", "playbooks/preflight.yml"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    finally:
        interfaces.inside(second, "iptables", "-D", *rule)
    assert done.returncode != 0
    said = [line.strip() for line in done.stdout.splitlines() if "ECHO_DROPPED" in line]
    addresses = sorted((lab.inventory.client_address(second), lab.inventory.replication_address(second)))
    assert len(said) == len(addresses), done.stdout[-3000:]
    for line, address in zip(sorted(said), addresses, strict=True):
        assert line.startswith(f"ECHO_DROPPED {', '.join([first, *others])} = {second} {address}:7: "), line
