"""The ensemble has two networks: it moves its quorum to the other one when the replication network goes, server by server or everywhere."""

import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from .inventory import ROOT, Inventory
from .lab import Lab, until
from .zookeeper import ZooKeeperWriter

PROMISE_SECONDS = 20.0


class Interfaces:
    """Takes network interfaces of containers down, from outside."""

    def __init__(self, inventory: Inventory) -> None:
        """Nothing is down yet."""
        self.inventory, self._down = inventory, list[tuple[str, str]]()

    def down(self, *hosts: str, interface: str = "replication") -> None:
        """Take an interface of each host down."""
        for host in hosts:
            self._down.append((host, interface))
            self.inside(host, "ip", "link", "set", interface, "down")

    def up(self) -> None:
        """Take all interfaces up again."""
        while self._down:
            host, interface = self._down.pop()
            self.inside(host, "ip", "link", "set", interface, "up")

    def inside(self, host: str, *command: str) -> str:
        """Run a command of this machine in the network namespace of a host; return what it printed."""
        show = ["podman", "inspect", "--format", "{{.State.Pid}}", self.inventory.container(host)]
        pid = subprocess.run(show, capture_output=True, text=True, check=True).stdout.strip()
        return subprocess.run(["nsenter", "-t", pid, "-n", *command], capture_output=True, text=True, check=True).stdout

    def quorum_addresses(self) -> set[str]:
        """Return the addresses between which the servers of the ensemble talk."""
        found = set()
        for host in self.inventory.hosts("zookeeper"):
            for line in self.inside(host, "ss", "-Htn", "state", "established", "( sport = :2888 or dport = :2888 )").splitlines():
                found |= {end.rpartition(":")[0].removeprefix("[::ffff:").rstrip("]") for end in line.split()[2:4]}
        return found

    def home(self, lab: Lab) -> None:
        """Bring the whole quorum to the replication network: a server that has a choice takes the address that answers first."""
        hosts = self.inventory.hosts("zookeeper")
        wanted = {self.inventory.replication_address(host) for host in hosts}
        self.down(*hosts, interface="client")
        until("the quorum is on the replication network", lambda: self.quorum_addresses() == wanted, 60)
        self.up()
        lab.wait()
        assert self.quorum_addresses() == wanted


@pytest.fixture
def interfaces(lab: Lab) -> Iterator[Interfaces]:
    """The interfaces, all up again after the test."""
    found = Interfaces(lab.inventory)
    yield found
    found.up()


def test_the_replication_network_goes(lab: Lab, interfaces: Interfaces, run_id: str, note: Callable[[str], None]) -> None:
    """First on the leader's host, then on the others in turn, then on all at once: writes go on within 20 s each time, also when it comes back."""
    interfaces.home(lab)
    leader = lab.zookeeper_leader()
    order = [leader, *(host for host in lab.inventory.hosts("zookeeper") if host != leader)]
    gaps: dict[str, float] = {}
    with ZooKeeperWriter(lab.inventory, order[-1], f"/{run_id}") as writer:

        def measure(what: str, act: Callable[[], object]) -> None:
            before = time.monotonic()
            act()
            gaps[what] = writer.writes_again(before, 60)

        for count, host in enumerate(order, 1):
            measure(f"gone from {count} of {len(order)} hosts", partial(interfaces.down, host))
        measure("back on all", interfaces.up)
    interfaces.home(lab)
    with ZooKeeperWriter(lab.inventory, order[-1], f"/{run_id}-all") as writer:
        measure("gone from all at once", lambda: interfaces.down(*order))
        measure("back", interfaces.up)
    note("longest gap between two writes, replication network " + ", ".join(f"{what}: {gap:.1f} s" for what, gap in gaps.items()))
    assert max(gaps.values()) < PROMISE_SECONDS, gaps
    assert max(gaps.values()) > 1, f"nothing was cut: {gaps}"


def test_preflight_names_a_dropped_probe(lab: Lab, interfaces: Interfaces) -> None:
    """A firewall that drops TCP port 7 would keep the ensemble from moving: refused before anything is changed."""
    first, second, third = lab.inventory.hosts("zookeeper")
    rule = ["INPUT", "-p", "tcp", "--dport", "7", "-j", "DROP"]
    interfaces.inside(second, "iptables", "-A", *rule)
    try:
        command = ["ansible-playbook", "-i", str(lab.inventory.directory), "playbooks/preflight.yml"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    finally:
        interfaces.inside(second, "iptables", "-D", *rule)
    assert done.returncode != 0
    said = [line.strip() for line in done.stdout.splitlines() if "ECHO_DROPPED" in line]
    addresses = sorted((lab.inventory.client_address(second), lab.inventory.replication_address(second)))
    assert len(said) == len(addresses), done.stdout[-3000:]
    for line, address in zip(sorted(said), addresses, strict=True):
        assert line.startswith(f"ECHO_DROPPED {first}, {third} = {second} {address}:7: "), line
