"""Does faults to hosts of a lab, and takes back what lasts, also where something fails meanwhile.

Each is looked at while it lasts: a fault that did not happen proves nothing, and fails.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from socket import create_connection

from .containers import podman
from .interfaces import Interfaces
from .lab import UNITS, Lab, until

ANSWERS = 30.0
"""Seconds in which a host has to answer before its network is taken away."""


class Injector:
    """The faults of one lab. Each method returns when the fault is over and the host's servers run as processes."""

    def __init__(self, lab: Lab) -> None:
        """Nothing is done yet."""
        self.lab, self.inventory = lab, lab.inventory

    def units(self, host: str) -> list[str]:
        """Return the servers of a host."""
        return [unit for group, unit in UNITS.items() if host in self.inventory.hosts(group)]

    def kill(self, host: str, times: int = 1) -> None:
        """Kill a host's servers with signal 9; systemd starts them, and they may be killed again."""
        for _ in range(times):
            for unit in self.units(host):
                pid = self.lab.pid(host, unit)
                self.lab.kill(host, unit)
                self.back(host, unit, pid, 60)

    def freeze(self, host: str, seconds: float) -> None:
        """Stop the processes with SIGSTOP for so long; one command: they thaw though nobody reaches the host."""
        pids = [self.lab.pid(host, unit) for unit in self.units(host)]
        words = " ".join(map(str, pids))
        thaw = f"trap 'kill -CONT {words}' EXIT; kill -STOP {words}; sleep {seconds}"
        states = self.inventory.run(
            host, f"{thaw}; ps -o state= -p {','.join(map(str, pids))}", seconds=seconds + 60
        ).split()
        assert states == ["T"] * len(pids), f"{host}: processes {words} were not frozen to the end: {states}"

    def power_off(self, host: str, seconds: float) -> None:
        """Kill everything on a host at once, and start the host again after so long."""
        container = self.inventory.container(host)
        podman("kill", "--signal", "KILL", container)
        try:
            podman("wait", container)
            time.sleep(seconds)
        finally:
            self.inventory.disconnect(host)
            podman("start", container)
        for unit in self.units(host):
            self.back(host, unit, 0, 120)

    def power_off_together(self, hosts: Sequence[str], seconds: float) -> None:
        """Power off several hosts at once."""
        with ThreadPoolExecutor(len(hosts)) as pool:
            list(pool.map(lambda host: self.power_off(host, seconds), hosts))

    def cut(self, hosts: Sequence[str], interface: str, seconds: float) -> None:
        """Take the interface `client` or `replication` of hosts down for so long."""
        interfaces = Interfaces(self.inventory)
        until(f"{', '.join(hosts)} answer by {interface}", lambda: self.reached(hosts, interface) == [*hosts], ANSWERS)
        try:
            interfaces.down(*hosts, interface=interface)
            ends = time.monotonic() + seconds
            still = self.reached(hosts, interface)
            time.sleep(max(0, ends - time.monotonic()))
        finally:
            interfaces.up()
        assert still == [], f"by {interface}: reached while it was down: {still}"

    def reached(self, hosts: Sequence[str], interface: str) -> list[str]:
        """Return the hosts whose server answers on this network."""
        with ThreadPoolExecutor(len(hosts)) as pool:
            return [host for host, yes in zip(hosts, pool.map(self._answers(interface), hosts), strict=True) if yes]

    def _answers(self, interface: str) -> Callable[[str], bool]:
        inventory = self.inventory
        address = {"client": inventory.client_address, "replication": inventory.replication_address}[interface]

        def answers(host: str) -> bool:
            broker = host in inventory.hosts("kafka")
            port = inventory.port(interface.upper()) if broker else inventory.zookeeper_port
            with suppress(OSError), create_connection((address(host), port), timeout=1.5):
                return True
            return False

        return answers

    def drop(self, host: str, port: int, seconds: float) -> None:
        """Drop what a host sends to a port of others for so long; what others send arrives."""
        rule = ("OUTPUT", "-p", "tcp", "--dport", str(port), "-j", "DROP")
        interfaces = Interfaces(self.inventory)
        interfaces.inside(host, "iptables", "-I", *rule)
        try:
            time.sleep(seconds)
            counters = interfaces.inside(host, "iptables", "-nvxL", "OUTPUT", "1").split()
        finally:
            interfaces.inside(host, "iptables", "-D", *rule)
        assert int(counters[0]) > 0, f"{host} sent nothing to port {port}: nothing was dropped"

    @contextmanager
    def down(self, hosts: Sequence[str], *, gently: bool = False) -> Iterator[None]:
        """Kill the servers of hosts, or stop them gently; they stay down until the end of the block."""
        units = [(host, unit) for host in hosts for unit in self.units(host)]
        try:
            for host, unit in units:
                if gently:
                    self.inventory.run(host, f"systemctl stop {unit}", seconds=120)
                else:
                    self.lab.kill_and_keep_down(host, unit)
            yield
            lives = [f"{unit} of {host}" for host, unit in units if self.lab.pid(host, unit)]
            assert not lives, f"{', '.join(lives)} did not stay down"
        finally:
            for host, unit in units:
                self.inventory.run(host, f"systemctl start {unit}")

    @contextmanager
    def full(self, host: str, paths: Sequence[str]) -> Iterator[None]:
        """Fill the disks below these directories to the last block; there is room again after the block."""
        files = [f"{path}/filled-on-purpose" for path in paths]
        try:
            for file in files:
                fill = f"dd if=/dev/zero of={file} oflag=append conv=notrunc 2>/dev/null"
                self.inventory.run(host, f"{fill} bs=1M; {fill} bs=4k; sync {file}", check=False)
            yield
        finally:
            self.inventory.run(host, f"rm -f {' '.join(files)}")

    def back(self, host: str, unit: str, before: int, seconds: float) -> None:
        """Wait until a unit runs, as another process than before; a host that is not reached yet is asked again."""
        until(f"{unit} of {host} is back", self._runs(host, unit, before), seconds)

    def _runs(self, host: str, unit: str, before: int) -> Callable[[], bool]:
        def runs() -> bool:
            said = self.inventory.run(host, f"systemctl show -p MainPID --value {unit}", check=False).strip()
            return said.isdigit() and int(said) not in (0, before)

        return runs
