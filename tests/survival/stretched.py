"""A running cluster of one layout, as a lab of its own; taking servers away, and looking at what is left."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka.cimpl import NewTopic
from derive import derive, settle
from faults.inventory import ROOT, Inventory
from faults.inventory import load as load_inventory
from faults.lab import UNITS, Lab, until, until_none
from faults.zookeeper import session

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load as load_model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout

from .quorum import serves
from .writes import Writes

ENVIRONMENT = {
    **os.environ,
    "CONTAINERS_CONF": str(ROOT / "lab" / "podman.conf"),
    "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
}


@dataclass(frozen=True)
class Seen:
    """What was observed of one failure, and after how many seconds it was so."""

    quorum: bool
    quorum_after: float
    unwritable: Mapping[int, str]
    """The last error of each partition that acknowledged nothing."""
    write_after: float


class Stretched:
    """The lab, made from a copy of an inventory."""

    def __init__(self, source: Path, directory: Path, name: str, networks: tuple[str, str]) -> None:
        """Copy the inventory, with networks that no other checkout's lab holds; make nothing."""
        copy_inventory(source, directory, name, networks)
        self.source, self.directory = source, settle(directory, os.getpid()).inventory

    @cached_property
    def layout(self) -> Layout:
        """The layout that the copied inventory declares."""
        return layout_of(load_model(self.directory).read())

    @cached_property
    def inventory(self) -> Inventory:
        """The copied inventory."""
        return load_inventory(self.directory)

    @cached_property
    def lab(self) -> Lab:
        """The running lab."""
        return Lab(self.inventory)

    @property
    def record(self) -> Path:
        """The file on this machine in which a failover is recorded (failover_lock)."""
        return self.inventory.pki / "failover.json"

    @property
    def name(self) -> str:
        """The name of the inventory that was copied."""
        return self.source.name

    def servers_of(self, datacenter: str) -> list[str]:
        """Return the ZooKeeper servers and brokers of a datacenter."""
        return [host for group in UNITS for host in self.inventory.hosts(group) if host.startswith(f"{datacenter}-")]

    def play(self, playbook: str, *options: str) -> None:
        """Run a playbook on the copied inventory, and say how long it took."""
        code, text = self.attempt(playbook, *options)
        assert code == 0, text[-3000:]

    def attempt(self, playbook: str, *options: str) -> tuple[int, str]:
        """Run a playbook as `play` does; return its exit code and all that it printed."""
        before = time.monotonic()
        command = ["ansible-playbook", "-i", str(self.directory), playbook, *options]
        done = subprocess.run(
            command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
        )
        print(f"{playbook}: {time.monotonic() - before:.1f} s")
        return done.returncode, done.stdout + done.stderr

    def interrupt(self, playbook: str, task: str, *options: str) -> None:
        """Run a playbook, and kill it with all its processes when it has printed the name of a task."""
        command = ["ansible-playbook", "-i", str(self.directory), playbook, *options]
        run = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert run.stdout
        printed = []
        for line in run.stdout:
            printed.append(line)
            if line.startswith(f"TASK [{task}"):
                os.killpg(run.pid, signal.SIGKILL)
                break
        run.communicate()
        assert run.returncode == -signal.SIGKILL, f"{playbook} ended before {task}: {''.join(printed)[-3000:]}"

    def close(self) -> None:
        """End the connections."""
        if "inventory" in self.__dict__:
            self.inventory.close()

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic as the cluster's defaults have it."""
        self.lab.admin.create_topics([NewTopic(name, partitions, replication_factor=-1)], operation_timeout=30)[
            name
        ].result(40)
        self.whole()

    def take_away(self, lost: Collection[str]) -> None:
        """Kill the servers' processes with signal 9, all at once; they stay down."""
        units = [(host, unit) for group, unit in UNITS.items() for host in self.inventory.hosts(group) if host in lost]
        with ThreadPoolExecutor(len(units)) as pool:
            list(pool.map(lambda one: self.lab.kill_and_keep_down(*one), units))

    def start(self, hosts: Collection[str]) -> None:
        """Start the servers that are down, ZooKeeper first."""
        self.start_zookeeper(hosts)
        self.start_brokers(hosts)

    def start_zookeeper(self, hosts: Collection[str]) -> None:
        """Start the ZooKeeper servers among the hosts."""
        self.lab.on_all(
            [host for host in self.inventory.hosts("zookeeper") if host in hosts],
            f"systemctl start {UNITS['zookeeper']}",
        )

    def start_brokers(self, hosts: Collection[str]) -> None:
        """Start the brokers among the hosts, once their dead sessions have ended: before, each start would fail."""
        brokers = [host for host in self.inventory.hosts("kafka") if host in hosts]
        if not brokers:
            return
        numbers, path = {str(self.inventory.broker_id(host)) for host in brokers}, f"{self._chroot}/brokers/ids"
        with session(self.inventory, timeout=60) as client:
            until(
                "the sessions of dead brokers have ended",
                lambda: not numbers & {*client.retry(client.get_children, path)},
                60,
            )
        self.lab.on_all(brokers, f"systemctl start {UNITS['kafka']}")

    @property
    def _chroot(self) -> str:
        return str(self.inventory.variables[self.inventory.hosts("kafka")[0]]["kafka_zookeeper_chroot"])

    def whole(self) -> None:
        """Wait until every broker listens, and is in every ISR."""
        until_none(
            "every broker listens",
            lambda: [host for host in self.inventory.hosts("kafka") if not self._listens(host)],
            120,
        )
        self.lab.wait()

    def _listens(self, host: str) -> bool:
        try:
            socket.create_connection(
                (self.inventory.client_address(host), self.inventory.port("CLIENT")), timeout=2
            ).close()
        except OSError:
            return False
        return True

    def look(self, row: Row, topic: str, partitions: Collection[int], key: str) -> Seen:
        """Look at the quorum of the servers left, by the network left, and write to every partition, side by side."""
        left = [host for host in self.inventory.hosts("zookeeper") if host not in row.lost]
        alive = [self.inventory.broker_id(host) for host in self.inventory.hosts("kafka") if host not in row.lost]
        inventory = self._by_replication if row.failure == "client network" else self.inventory
        with ThreadPoolExecutor(1) as pool:
            before = time.monotonic()
            quorum = pool.submit(serves, inventory, left, row.quorum)
            unwritable = Writes(self.inventory.kafka_properties, topic, key, alive).run(partitions, row.writable)
            write_after = time.monotonic() - before
            return Seen(*quorum.result(), unwritable, write_after)

    @property
    def _by_replication(self) -> Inventory:
        """The inventory for one who asks on the replication network."""
        variables = {
            host: {**values, "client_address": values["replication_address"]}
            for host, values in self.inventory.variables.items()
        }
        return replace(self.inventory, variables=variables)


def statement(survivor: str) -> list[str]:
    """Return the options of failover.yml with which an operator states everything."""
    return f"-e survivor={survivor} -e confirm={survivor} -e fenced=power".split()


def prepared_image(*groups: str) -> str:
    """Return the name of the lab's image that has the archives of these groups installed; make it where it lacks."""
    done = subprocess.run(
        [ROOT / "lab" / "image" / "prepared.sh", *groups],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def copy_inventory(
    source: Path, target: Path, name: str, networks: tuple[str, str], more: Mapping[str, object] | None = None
) -> None:
    """Copy an inventory, with other networks and lab directory; with `more` variables, or without Spark hosts."""
    old = yaml.safe_load((source / "hosts.yml").read_text())["all"]["vars"]
    moves = {
        old[variable]: f"{network}.0/24"
        for variable, network in zip(("client_network", "replication_network"), networks, strict=True)
        if variable in old
    }
    derive(source, target, moves, ROOT / ".lab" / name)
    data = yaml.safe_load((target / "hosts.yml").read_text())
    if more is None:
        groups = data["all"]["children"]
        spark = set(hosts_below(groups.pop("spark", {})))
        for group in groups.values():
            group["hosts"] = {host: values for host, values in group.get("hosts", {}).items() if host not in spark}
    data["all"]["vars"] |= more or {}
    (target / "hosts.yml").write_text(yaml.safe_dump(data))


def hosts_below(group: Mapping[str, Any]) -> Iterator[str]:
    """Yield the hosts of a group and its children."""
    yield from group.get("hosts", {})
    for child in group.get("children", {}).values():
        yield from hosts_below(child)
