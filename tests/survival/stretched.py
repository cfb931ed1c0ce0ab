"""A running cluster of one layout, as a lab of its own; taking servers away, and looking at what is left."""

import os
import socket
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any

import yaml
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.cimpl import NewTopic
from derive import derive, settle
from faults.inventory import ROOT, Inventory
from faults.inventory import load as load_inventory
from faults.lab import UNITS, Lab, until_none
from faults.ledger import payload

from millrace.inventory import load as load_model
from millrace.model.layout import layout_of
from millrace.survival import Layout

ENVIRONMENT = {**os.environ, "CONTAINERS_CONF": str(ROOT / "lab" / "containers.conf"), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
# A ZooKeeper leader goes on serving for two ticks (4 s) after it has lost its quorum; an election may take longer than that.
SERVES_SECONDS, SILENT_SECONDS = 5.0, 8.0
# Sessions of brokers end after 6 s; then the controller is elected anew, leaders move, ISRs shrink, and the client looks again.
WRITES_SECONDS = 20.0


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

    def play(self, playbook: str) -> None:
        """Run a playbook on the copied inventory, and say how long it took."""
        before = time.monotonic()
        command = ["ansible-playbook", "-i", str(self.directory), playbook]
        done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
        print(f"{playbook}: {time.monotonic() - before:.1f} s")
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]

    def close(self) -> None:
        """End the connections."""
        if "inventory" in self.__dict__:
            self.inventory.close()

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic as the cluster's defaults have it."""
        self.lab.admin.create_topics([NewTopic(name, partitions, replication_factor=-1)], operation_timeout=30)[name].result(40)
        self.whole()

    def take_away(self, lost: Collection[str]) -> None:
        """Kill the servers' processes with signal 9, all at once; they stay down."""
        units = [(host, unit) for group, unit in UNITS.items() for host in self.inventory.hosts(group) if host in lost]
        with ThreadPoolExecutor(len(units)) as pool:
            list(pool.map(lambda one: self.lab.kill_and_keep_down(*one), units))

    def bring_back(self) -> None:
        """Start what is down, ZooKeeper first, and wait until all is whole."""
        self.lab.on_all(self.inventory.hosts("zookeeper"), f"systemctl start {UNITS['zookeeper']}")
        until_none("the ensemble is whole", self.lab.zookeeper_problems, 120)
        self.lab.on_all(self.inventory.hosts("kafka"), f"systemctl start {UNITS['kafka']}")
        self.whole()

    def whole(self) -> None:
        """Wait until every broker listens, and is in every ISR."""
        until_none("every broker listens", lambda: [host for host in self.inventory.hosts("kafka") if not self._listens(host)], 120)
        self.lab.wait()

    def _listens(self, host: str) -> bool:
        try:
            socket.create_connection((self.inventory.client_address(host), self.inventory.port("CLIENT")), timeout=2).close()
        except OSError:
            return False
        return True

    def look(self, lost: Collection[str], topic: str, partitions: Collection[int], key: str) -> Seen:
        """Look at the quorum of the servers left and write to every partition, side by side."""
        with ThreadPoolExecutor(1) as pool:
            before = time.monotonic()
            serving = pool.submit(self._serves, lost)
            unwritable = write(self.inventory.kafka_properties, topic, partitions, key)
            write_after = time.monotonic() - before
            return Seen(*serving.result(), unwritable, write_after)

    def _serves(self, lost: Collection[str]) -> tuple[bool, float]:
        """Ask the servers left until their answer stays the same; return it, and when it was first given."""
        before, pause = time.monotonic(), Event()
        last, since = None, before
        while True:
            now, answer = time.monotonic(), self._answer(lost)
            if answer != last:
                last, since = answer, now
            if last is not None and now - since > (SERVES_SECONDS if last else SILENT_SECONDS):
                return last, since - before
            assert now - before < 60, f"the ensemble does not settle without {sorted(lost)}: {self.lab.zookeeper()}"
            pause.wait(0.1)

    def _answer(self, lost: Collection[str]) -> bool | None:
        """Tell whether the servers left all serve under one leader; None where some do and some do not."""
        modes = [said.get("Mode") for host, said in self.lab.zookeeper().items() if host not in lost]
        if not any(modes):
            return False
        return True if all(modes) and modes.count("leader") == 1 else None


def write(properties: Mapping[str, str], topic: str, partitions: Collection[int], key: str) -> dict[int, str]:
    """Write `key`-<partition> to each partition with acks=all; return the partitions that did not acknowledge it in time, and why."""
    settings = {"acks": "all", "message.timeout.ms": int(WRITES_SECONDS * 1000), "request.timeout.ms": 3000, "retry.backoff.ms": 100}
    quiet = {"log_level": 0, "socket.connection.setup.timeout.ms": 3000, "reconnect.backoff.max.ms": 500}
    producer = Producer({**quiet, **properties, **settings})
    errors = dict.fromkeys(partitions, "no answer")

    def answered(error: KafkaError | None, message: Message) -> None:
        number = message.partition()
        assert number is not None
        if error is None:
            del errors[number]
        else:
            errors[number] = error.name()

    for partition in partitions:
        name = f"{key}-{partition}"
        producer.produce(topic, payload(name, 100), name, partition=partition, on_delivery=answered)
    producer.flush(WRITES_SECONDS + 5)
    return errors


def copy_inventory(source: Path, target: Path, name: str, networks: tuple[str, str]) -> None:
    """Copy an inventory: its Spark hosts left out, with other networks and another lab directory."""
    old = yaml.safe_load((source / "hosts.yml").read_text())["all"]["vars"]
    moves = {old[variable]: f"{network}.0/24" for variable, network in zip(("client_network", "replication_network"), networks, strict=True)}
    derive(source, target, moves, ROOT / ".lab" / name)
    for file in target.glob("group_vars/spark*.yml"):
        file.unlink()
    data = yaml.safe_load((target / "hosts.yml").read_text())
    groups = data["all"]["children"]
    spark = set(hosts_below(groups.pop("spark", {})))
    for group in groups.values():
        group["hosts"] = {host: values for host, values in group.get("hosts", {}).items() if host not in spark}
    (target / "hosts.yml").write_text(yaml.safe_dump(data))


def hosts_below(group: Mapping[str, Any]) -> Iterator[str]:
    """Yield the hosts of a group and its children."""
    yield from group.get("hosts", {})
    for child in group.get("children", {}).values():
        yield from hosts_below(child)
