"""Network interfaces of the lab's hosts: taken down and up from outside, and what the ensemble uses of them."""

import subprocess

from .inventory import Inventory
from .lab import Lab, until


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
            for line in self.inside(
                host, "ss", "-Htn", "state", "established", "( sport = :2888 or dport = :2888 )"
            ).splitlines():
                found |= {end.rpartition(":")[0].removeprefix("[::ffff:").rstrip("]") for end in line.split()[2:4]}
        return found

    def home(self, lab: Lab) -> None:
        """Bring the whole quorum to the replication network: who has a choice takes the address that answers first."""
        hosts = self.inventory.hosts("zookeeper")
        wanted = {self.inventory.replication_address(host) for host in hosts}
        if self.quorum_addresses() == wanted:
            return
        self.down(*hosts, interface="client")
        for host in hosts:  # the servers would notice after 10 s; connections that end are noticed at once
            ports = "( sport = :2888 or dport = :2888 or sport = :3888 or dport = :3888 )"
            self.inside(
                host, "ss", "-tKH", "state", "established", f"src {self.inventory.client_address(host)} and {ports}"
            )

        def whole() -> bool:
            """An election that still goes on would find servers by either network, once both are there."""
            serving = ["\nMode: " in self.inventory.ask_zookeeper(host, "srvr", "replication") for host in hosts]
            return self.quorum_addresses() == wanted and all(serving)

        until("the whole quorum is on the replication network", whole, 60)
        self.up()
        lab.wait()
        assert self.quorum_addresses() == wanted
