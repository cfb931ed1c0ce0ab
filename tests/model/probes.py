"""One wrong host for each code that preflight can say of a host: what its probe answers, and where it is to be said."""

from __future__ import annotations

import copy
import hashlib
import re
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from made_archives import made_archives

from ansible_collections.millrace.kafka.plugins.plugin_utils.archives import expected
from ansible_collections.millrace.kafka.plugins.plugin_utils.hosts.archives import archives
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.required_connections import peers
from model import installed_probes
from model.mistakes.base import INVENTORIES, VAULT

GIB = 2**30
KAFKA, ZOOKEEPER, DATABASE, LOG = "dc1-kafka1", "dc1-zk1", "dc1-db1", "/data/zookeeper-log"
FIRST = {"cluster.id": "x", "broker.id": "1"}


@dataclass(frozen=True)
class Probe:
    """What some hosts answer otherwise than healthy ones, and the one code that has to be said of it."""

    code: str
    where: str
    advice: str
    change: Callable[[dict[str, Any]], None] = lambda probe: None
    """Changes the answer of `host`."""
    host: str = KAFKA
    declared: Mapping[str, Any] = field(default_factory=dict)
    """Variables of that host besides those of the lab."""
    also: frozenset[str] = frozenset()
    inventory: str = "lab"
    undeclared: Mapping[str, int] = field(default_factory=dict)
    alone: Mapping[str, list[str]] = field(default_factory=dict)
    """By id, replicas of brokers that nobody declares, and what only that broker was in sync with."""
    registered: tuple[str, ...] = ()
    """Ids of brokers that live."""
    limited: bool = False
    """Whether the run is for that host alone."""


@cache
def lab(inventory: str = "lab") -> Model:
    """Return the model of the lab."""
    return load(INVENTORIES / inventory, {"vault": VAULT, "archives": str(made_archives())}).read()


def model(probe: Probe) -> Model:
    """Return the lab's model with the probe's variables."""
    found = lab(probe.inventory)
    hosts = {host: {**values, **(probe.declared if host == probe.host else {})} for host, values in found.hosts.items()}
    return replace(found, hosts=hosts)


def healthy(number: int, host: str, inventory: str = "lab") -> dict[str, Any]:
    """Return what a fresh and healthy host of the lab answers."""
    found = lab(inventory)
    machine, inputs = found.machines[host], found.machines[host].inputs
    paths = [*inputs.sequence("kafka_log_dirs")] if found.is_in("kafka", machine) else []
    paths += [inputs.get("zookeeper_data_log_dir")] if found.is_in("zookeeper", machine) else []
    paths += [inputs.get("postgresql_data_dir")] if found.is_in("database", machine) else []
    return {
        "addresses": machine.addresses,
        "asked": [1000.0, 1001.0],
        "clock": {"synchronized": True, "time": 1000.5},
        "java": dict.fromkeys(found.executables(machine), "17.0.19"),
        "postgresql": {"release": "debian 12", "installed": []},
        "limits": {"nr_open": 1048576, "nofile": 524288, "capabilities": 1 << 24},
        "memory": 64 * GIB,
        "mounts": {
            path: {
                "mounted": True,
                "size": 600 * 2**20,
                "free": 590 * 2**20,
                "device": 100 * number + index,
                "type": "xfs",
                "names": [],
            }
            for index, path in enumerate(paths)
        },
        "noexec": [],
        "log_dirs": [],
        "dropped": {},
        "listeners": {},
        "listener_addresses": {},
        "zookeeper_connect": "",
        "client_ports": [],
        "ensemble": {},
        "units": {},
        "failing": {},
        "behind": [],
        "untold": [],
        "to_restart": [],
        "restarted": [],
        "meta_properties": {},
        "myid": "",
        "archives": {
            f"/opt/{name}": expected(str(inputs.get(f"{name}_checksum")))
            for name in archives(found, machine)
            if inputs.get(name)
        },
        "converged": True,
        "releases": {},
        "nft": "",
        "firewall": "",
        "ssh_port": 22,
        "control_node": {address: re.sub(r"\d+$", "1", address) for address in map(str, machine.addresses)},
        "peers": {f"{peer['address']}:{peer['port']}": "refused" for peer in peers(found, host)},
    }


def probed(probe: Probe) -> dict[str, dict[str, Any]]:
    """Return what all hosts answer."""
    hosts = lab(probe.inventory).function_hosts
    answers = {host: healthy(number, host, probe.inventory) for number, host in enumerate(hosts)}
    answers[probe.host] = copy.deepcopy(answers[probe.host])
    probe.change(answers[probe.host])
    for host, answer in answers.items():
        if probe.code == "KAFKA_CLUSTER_FOREIGN" and host in lab().groups["kafka"] and host != probe.host:
            answer["meta_properties"] = {"/data/kafka1": {"cluster.id": "first", "broker.id": host[-1]}}
    return {probe.host: answers[probe.host]} if probe.limited else answers


def mount(path: str, **changes: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of one mount."""
    return lambda probe: probe["mounts"][path].update(changes)


def answer(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of the answer itself."""
    return lambda probe: probe.update(changes)


def peer(address: str, said: str) -> Callable[[dict[str, Any]], None]:
    """Return a change of one connection."""
    return lambda probe: probe["peers"].update({address: said})


def of_release(release: str, names: list[str]) -> Callable[[dict[str, Any]], None]:
    """Return a change of a database's host: its release, and what is on its disk."""

    def change(probe: dict[str, Any]) -> None:
        probe["postgresql"]["release"] = release
        probe["mounts"]["/data/postgresql"]["names"] = names

    return change


@cache
def archive(*names: str, product: str = "kafka") -> dict[str, Any]:
    """Return the variables of an archive of a product with these files."""
    path = Path(tempfile.mkdtemp()) / "kafka_2.13-3.9.2.tgz"
    with tarfile.open(path, "w:gz") as made:
        for name in names:
            made.addfile(tarfile.TarInfo(f"kafka_2.13-3.9.2/{name}"))
    return {
        f"{product}_archive": str(path),
        f"{product}_archive_checksum": f"sha512:{hashlib.sha512(path.read_bytes()).hexdigest()}",
    }


PROBES: tuple[Probe, ...] = (
    Probe(
        "ADDRESS_ABSENT", f"{KAFKA}/replication_address", "configure the interface", answer(addresses=["198.18.1.21"])
    ),
    Probe("CLOCK_OFFSET", KAFKA, "the same time servers", answer(clock={"synchronized": True, "time": 998.0})),
    Probe(
        "CLOCK_UNSYNCHRONIZED",
        KAFKA,
        "start chrony",
        answer(clock={"synchronized": False, "time": 1000.5}),
        declared={"base_time_sync_required": True},
    ),
    Probe(
        "JAVA_VERSION", f"{KAFKA}/java_executable", "install Java 17 or 21", answer(java={"/usr/bin/java": "11.0.22"})
    ),
    Probe(
        "TMP_NOEXEC",
        f"{KAFKA}/kafka_java_options",
        "add -Djava.io.tmpdir=/var/lib/kafka to kafka_java_options",
        answer(noexec=["/tmp"]),
    ),
    Probe(
        "JAVA_ABSENT",
        f"{KAFKA}/kafka_java_executable",
        "set the path of another java",
        declared={"kafka_java_executable": "/opt/jdk-21/bin/java"},
    ),
    Probe(
        "LIMIT_NOFILE",
        f"{KAFKA}/kafka_limit_nofile",
        "fs.nr_open",
        answer(limits={"nr_open": 1048576, "nofile": 4096, "capabilities": 0}),
    ),
    Probe("HEAP_RAM", f"{KAFKA}/kafka_heap", "half of the memory", answer(memory=400 * 2**20)),
    Probe(
        "DATABASE_RAM",
        f"{DATABASE}/postgresql_config[shared_buffers]",
        "a quarter",
        answer(memory=60 * 2**20),
        DATABASE,
        inventory="lab_orders",
    ),
    Probe("NOT_MOUNTED", f"{KAFKA}/kafka_log_dirs", "/etc/fstab", mount("/data/kafka2", mounted=False)),
    Probe(
        "DISK_FAILED", f"{KAFKA}/kafka_log_dirs", "replace the disk", mount("/data/kafka2", error="Input/output error")
    ),
    Probe("DISK_VOLATILE", f"{KAFKA}/kafka_log_dirs", "mount a disk", mount("/data/kafka2", type="tmpfs")),
    Probe("DISK_REMOTE", f"{ZOOKEEPER}/zookeeper_data_log_dir", "local disk", mount(LOG, type="nfs4"), ZOOKEEPER),
    Probe(
        "DISK_FOREIGN", f"{KAFKA}/kafka_log_dirs", "Nothing is ever deleted", mount("/data/kafka2", names=["pg_wal"])
    ),
    Probe(
        "LOG_DIR_DROPPED",
        f"{KAFKA}/kafka_log_dirs",
        "playbooks/reassign.yml -e empty=1:/data/kafka3",
        answer(
            log_dirs=["/data/kafka1", "/data/kafka2", "/data/kafka3"],
            dropped={"/data/kafka3": {"mounted": True, "names": [".lock", "orders-0", "orders-1.ab12-delete"]}},
        ),
    ),
    Probe(
        "LOG_DIR_EMPTY",
        f"{KAFKA}/kafka_log_dirs",
        "playbooks/replace_disk.yml -e broker=1 -e log_dir=/data/kafka2 -e lost=orders-0,orders-3)",
        answer(log_dirs=["/data/kafka1", "/data/kafka2"], meta_properties={"/data/kafka1": FIRST}),
        alone={"1": ["orders-0", "orders-3"], "9": ["orders-1"]},
    ),
    Probe(
        "BROKER_DROPPED",
        "group kafka/kafka_broker_id",
        "first run playbooks/reassign.yml -e drain=4",
        undeclared={"4": 12, "5": 0},
    ),
    Probe("DEVICE_SHARED", f"{KAFKA}/kafka_log_dirs", "a separate device for each", mount("/data/kafka2", device=300)),
    Probe(
        "DISK_TOO_SMALL",
        f"{KAFKA}/kafka_log_dirs",
        "add disks",
        mount("/data/kafka2", size=100 * 2**20),
        declared={"expected_bytes_per_second": 1500, "kafka_config": {"log.retention.hours": 168}},
    ),
    Probe(
        "KAFKA_ID_CHANGED",
        f"{KAFKA}/kafka_broker_id",
        "set kafka_broker_id to 7 again",
        answer(meta_properties={"/data/kafka1": {"cluster.id": "x", "broker.id": "7"}}),
    ),
    Probe(
        "KAFKA_CLUSTER_MIXED",
        f"{KAFKA}/kafka_log_dirs",
        "right disks",
        answer(meta_properties={"/data/kafka1": FIRST, "/data/kafka2": {**FIRST, "cluster.id": "y"}}),
    ),
    Probe(
        "KAFKA_CLUSTER_FOREIGN",
        f"{KAFKA}/kafka_log_dirs",
        "right disks",
        answer(meta_properties={"/data/kafka1": FIRST}),
    ),
    Probe(
        "DATABASE_DATA_VERSION",
        f"{DATABASE}/postgresql_version",
        'set postgresql_version: "15", or migrate the data to /data/postgresql/17 (pg_upgrade',
        of_release("debian 13", ["15", "lost+found"]),
        DATABASE,
        inventory="lab_orders",
    ),
    Probe(
        "ZOOKEEPER_ID_CHANGED", f"{ZOOKEEPER}/zookeeper_id", "set zookeeper_id to 3 again", answer(myid="3"), ZOOKEEPER
    ),
    *(Probe(**probe) for probe in installed_probes.PROBES),
    Probe("ECHO_DROPPED", ZOOKEEPER, "REJECT (not DROP)", peer("198.18.2.12:7", "timeout"), ZOOKEEPER),
    Probe("PEER_UNREACHABLE", KAFKA, "allow the connection in both directions", peer("198.18.2.22:9093", "timeout")),
    Probe(
        "DATACENTERS_FAR",
        "group kafka/layout",
        "or a cluster in each of them, or accept_risks: [DATACENTERS_FAR] if",
        answer(
            converged=False,
            round_trips={"198.18.52.23:9093": 112.4, "198.18.52.24:9093": 100.2, "198.18.52.22:9093": 0.1},
        ),
        inventory="lab_stretch2",
        limited=True,
    ),
    Probe("FIREWALL_NFT", f"{KAFKA}/base_firewall", "install the package nftables", answer(nft="no such program")),
    Probe(
        "FIREWALL_SSH_CLOSED", "dc1-spark1/base_firewall_closed", "ansible_port", answer(ssh_port=2200), "dc1-spark1"
    ),
    Probe(
        "FIREWALL_CONTROL_NODE",
        f"{KAFKA}/base_firewall_rules[9093]",
        "firewall_extra_sources.admin",
        answer(control_node={"198.18.1.21": "198.18.1.9", "198.18.2.21": "192.0.2.9"}),
    ),
    Probe(
        "ARCHIVE",
        f"{KAFKA}/kafka_archive",
        "make archives",
        answer(archives={}),
        declared={"kafka_archive": "/nowhere/kafka_2.13-3.9.2.tgz", "kafka_archive_checksum": f"sha512:{64 * 'ab'}"},
    ),
    Probe(
        "ZOOKEEPER_CLIENT",
        f"{KAFKA}/kafka_archive",
        "make archives",
        answer(archives={}),
        declared=archive("libs/zookeeper-jute-3.8.4.jar", "libs/zookeeper-3.8.4.jar"),
    ),
    Probe(
        "ZOOKEEPER_PROVIDER",
        "dc1-zk1/zookeeper_archive",
        "make archives",
        answer(archives={}),
        "dc1-zk1",
        declared={**archive("lib/zookeeper-3.8.6.jar", product="zookeeper"), "zookeeper_metrics_port": 7000},
    ),
)
