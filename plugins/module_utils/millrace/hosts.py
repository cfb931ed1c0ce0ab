"""Checks of what the hosts answered (module host_probe) against what the inventory declares; no Ansible import."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from .archives import ArchiveError, expected, local, zookeeper_client
from .firewall import ECHO, installed, lets_in, lines
from .model.base import Model, whole
from .model.firewall import left_alone, rules_of
from .model.machine import size
from .model.networks import WILDCARDS, is_address
from .model.peers import peers
from .model.replication import settings
from .problems import Problem

Probe = Mapping[str, Any]

# Seconds between two clocks from which records and sessions get strange times.
CLOCK = 0.5
JAVA = ("17", "21")
# What a broker itself makes in a log directory.
KAFKA_FILES = re.compile(
    r"\.lock|\.kafka_cleanshutdown|meta\.properties.*|(cleaner|log-start|recovery-point|replication)-(offset-)?checkpoint.*"
    r"|.+-offset-checkpoint.*|.+-\d+(\.[0-9a-z]+-(delete|future|stray))?|lost\+found"
)
VOLATILE = ("tmpfs", "ramfs")
REMOTE = re.compile(r"nfs\d?|cifs|smb3?|fuse\..*|9p|ceph|glusterfs")
CAP_SYS_RESOURCE = 24
# Variables that name an archive, each with the one that holds its checksum.
ARCHIVES = ("zookeeper_archive", "kafka_archive", "spark_job_jars_archive", "spark_job_wheelhouse_archive")


def check_hosts(model: Model, probes: Mapping[str, Probe]) -> list[Problem]:
    """Return everything on the probed hosts that contradicts the model.

    `probes` holds the answers of the hosts of this run (with --limit: of some); the others are not judged.
    """
    problems: list[Problem] = []
    older = {host: older_ports(model, host, probe) for host, probe in probes.items()}
    for host, probe in probes.items():
        for rule in (addresses, clock, java, limits, memory, firewall):
            problems += rule(model, host, probe)
        if host in model.kafka:
            problems += broker_disks(model, host, probe)
        if host in model.zookeeper:
            problems += zookeeper_disks(model, host, probe)
        problems += connections(model, host, probe, older)
    return [*problems, *clusters(model, probes), *capacity(model, probes), *archives(model, probes)]


def addresses(model: Model, host: str, probe: Probe) -> Iterator[Problem]:
    """Declared addresses are on an interface of the host."""
    places = {name: model.get(host, name) for name in ("client_address", "replication_address")}
    bound = [item for item in model.sequence(host, "kafka_listeners") if host in model.kafka]
    places |= {f"kafka_listeners[{item['name']}]": item["address"] for item in bound if item["address"] not in (*WILDCARDS, *places.values())}
    for name, declared in places.items():
        if declared and is_address(declared) and declared not in probe["addresses"]:
            wrong = f"the host has only {', '.join(probe['addresses']) or 'none'}"
            yield Problem((host,), name, "ADDRESS_ABSENT", declared, wrong, "correct the inventory, or configure the interface")


def clock(model: Model, host: str, probe: Probe) -> Iterator[Problem]:
    """The kernel says that the clock is kept in time (adjtimex), and it does not differ from the control node's."""
    asked, found = probe.get("asked"), probe["clock"]
    if asked and not asked[0] - CLOCK <= found["time"] <= asked[1] + CLOCK:
        off = found["time"] - asked[0] if found["time"] < asked[0] else found["time"] - asked[1]
        yield Problem(
            (host,),
            "",
            "CLOCK_OFFSET",
            f"{off:+.1f} s",
            "the host's clock differs from the control node's by more than half a second",
            "let both follow the same time servers",
        )
    if not model.get(host, "base_time_sync_required"):
        return
    if not found["synchronized"]:
        advice = "start chrony or systemd-timesyncd, or set base_time_sync_required: false where the hypervisor keeps it"
        yield Problem((host,), "", "CLOCK_UNSYNCHRONIZED", None, "the kernel's clock is not kept in time by any service", advice)


def java(model: Model, host: str, probe: Probe) -> Iterator[Problem]:
    """A Java that is there is one that Kafka and ZooKeeper are run with."""
    version = probe["java_version"]
    if version and version.split(".")[0] not in JAVA:
        path = model.get(host, "java_executable")
        yield Problem(
            (host,),
            "java_executable",
            "JAVA_VERSION",
            path,
            f"Java {version}; Kafka 3.9 and ZooKeeper 3.8 run with 17 or 21",
            "install one of these, or name another java",
        )


def limits(model: Model, host: str, probe: Probe) -> Iterator[Problem]:
    """The host grants the open files that the units ask for."""
    found = probe["limits"]
    granted = found["nr_open"] if found["capabilities"] >> CAP_SYS_RESOURCE & 1 else min(found["nr_open"], found["nofile"])
    for function in ("zookeeper", "kafka"):
        name = f"{function}_limit_nofile"
        wanted = model.whole(host, name)
        if host in model.groups[function] and wanted and wanted > granted:
            wrong = f"the host grants {granted} open files, and the unit would get that in silence"
            yield Problem((host,), name, "LIMIT_NOFILE", wanted, wrong, "raise fs.nr_open or the container's limit, or ask for less")


def memory(model: Model, host: str, probe: Probe) -> Iterator[Problem]:
    """The heaps leave the page cache room."""
    names = [f"{function}_heap" for function in ("zookeeper", "kafka") if host in model.groups[function]]
    heaps = sum(size(model.get(host, name)) or 0 for name in names)
    total = probe["memory"]
    if names and total and heaps > total / 2:
        shown = ", ".join(str(model.get(host, name)) for name in names)
        wrong = f"{'more than' if heaps > total else 'more than half of'} the host's memory of {total / 2**30:.1f} GiB"
        yield Problem(
            (host,), names[0], "HEAP_RAM", shown, wrong, "use half of it at most: the page cache is what makes Kafka fast", warning=heaps <= total
        )


def not_mounted(host: str, variable: str, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """A data path is a mount point, so that a missing disk cannot fill the root file system."""
    if not mount["mounted"]:
        wrong = "no file system is mounted there, so data would go to the root file system"
        yield Problem((host,), variable, "NOT_MOUNTED", path, wrong, "mount the disk (and put it into /etc/fstab), or correct the path")


def failed(host: str, variable: str, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """A data path takes reads and writes."""
    if "error" in mount:
        wrong = f"the file system fails: {mount['error']}"
        yield Problem((host,), variable, "DISK_FAILED", path, wrong, "repair or replace the disk, and mount it again")


def file_system(host: str, variable: str, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """Data is on a local file system that survives a reboot."""
    kind = mount.get("type", "")
    if kind in VOLATILE:
        yield Problem((host,), variable, "DISK_VOLATILE", path, f"a {kind}: its data is gone after a reboot", "mount a disk there")
    elif REMOTE.fullmatch(kind):
        wrong = f"a file system of kind {kind}, on which locks and flushes are not what Kafka and ZooKeeper count on"
        yield Problem((host,), variable, "DISK_REMOTE", path, wrong, "mount a local disk there")


def broker_disks(model: Model, host: str, probe: Probe) -> Iterator[Problem]:
    """Log dirs are mounted, each on a device of its own, and hold this broker's data and no other's."""
    found: dict[str, Any] = {}
    devices: dict[Any, list[str]] = {}
    for path in map(str, model.sequence(host, "kafka_log_dirs")):
        mount = probe["mounts"][path]
        yield from failed(host, "kafka_log_dirs", path, mount)
        if model.get(host, "kafka_log_dirs_are_mounts"):
            yield from not_mounted(host, "kafka_log_dirs", path, mount)
            yield from file_system(host, "kafka_log_dirs", path, mount)
            if mount["mounted"]:
                devices.setdefault(mount.get("device"), []).append(path)
        foreign = [name for name in mount.get("names", []) if not KAFKA_FILES.fullmatch(name)]
        if foreign:
            wrong = f"holds {', '.join(foreign[:3])}, which no broker made: the disk is somebody else's, and Kafka refuses such a folder"
            yield Problem(
                (host,), "kafka_log_dirs", "DISK_FOREIGN", path, wrong, "attach the right disk, or clear it by hand; nothing is ever deleted for you"
            )
        meta = probe["meta_properties"].get(path)
        if not meta:
            continue
        found[path] = meta.get("cluster.id")
        number, declared = meta.get("broker.id"), model.hosts[host].get("kafka_broker_id")
        if number is not None and declared is not None and number != str(declared):
            wrong = f"{path}/meta.properties says broker.id={number}: the disk belongs to that broker"
            advice = f"declare {number} again, or attach the right disk; nothing is ever deleted for you"
            yield Problem((host,), "kafka_broker_id", "KAFKA_ID_CHANGED", declared, wrong, advice)
    for paths in devices.values():
        if len(paths) > 1:
            wrong = "on one device: they fail together and share its throughput"
            yield Problem((host,), "kafka_log_dirs", "DEVICE_SHARED", ", ".join(paths), wrong, "mount a device for each, or name one of them")
    if len(set(found.values())) > 1:
        shown = ", ".join(f"{path}: {cluster}" for path, cluster in sorted(found.items()))
        yield Problem((host,), "kafka_log_dirs", "KAFKA_CLUSTER_MIXED", None, f"disks of different clusters ({shown})", "attach the right disks")


def clusters(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """All brokers' disks are of one cluster; the fewer are suspect."""
    found = {
        host: {meta["cluster.id"] for meta in probe["meta_properties"].values() if meta.get("cluster.id")}
        for host, probe in probes.items()
        if host in model.kafka
    }
    count = Counter(next(iter(names)) for names in found.values() if len(names) == 1)
    for host, names in found.items():
        if len(names) == 1 and len(count) > 1 and names != {count.most_common(1)[0][0]}:
            wrong = f"its disks are of another cluster than those of {count.most_common(1)[0][1]} other hosts ({count.most_common(1)[0][0]})"
            yield Problem(
                (host,),
                "kafka_log_dirs",
                "KAFKA_CLUSTER_FOREIGN",
                next(iter(names)),
                wrong,
                "attach the right disks; nothing is ever deleted for you",
            )


def zookeeper_disks(model: Model, host: str, probe: Probe) -> Iterator[Problem]:
    """The write-ahead log is on a file system of its own, and myid is the declared one."""
    wal, data = str(model.get(host, "zookeeper_data_log_dir")), str(model.get(host, "zookeeper_data_dir"))
    mount = probe["mounts"].get(wal)
    yield from failed(host, "zookeeper_data_log_dir", wal, mount or {})
    if mount and model.get(host, "zookeeper_data_log_dir_is_mount"):
        yield from not_mounted(host, "zookeeper_data_log_dir", wal, mount)
        yield from file_system(host, "zookeeper_data_log_dir", wal, mount)
        foreign = [name for name in mount.get("names", []) if name not in ("version-2", "lost+found", "myid")]
        if foreign and "version-2" not in mount.get("names", []):
            wrong = f"holds {', '.join(foreign[:3])}, which no ZooKeeper server made: the disk is somebody else's"
            yield Problem((host,), "zookeeper_data_log_dir", "DISK_FOREIGN", wal, wrong, "attach the right disk, or clear it by hand")
        for path in model.sequence(host, "kafka_log_dirs") if host in model.kafka else []:
            if mount.get("device") is not None and probe["mounts"].get(path, {}).get("device") == mount["device"]:
                wrong = f"on the device of {path}: every write of the ensemble would wait for Kafka's"
                yield Problem((host,), "zookeeper_data_log_dir", "DEVICE_SHARED", wal, wrong, "mount a device of its own")
    found, declared = probe["myid"], model.hosts[host].get("zookeeper_id")
    if found and declared is not None and found != str(declared):
        wrong, advice = f"{data}/myid says {found}", f"declare {found} again, or move the old data away by hand"
        yield Problem((host,), "zookeeper_id", "ZOOKEEPER_ID_CHANGED", declared, wrong, advice)


def firewall(model: Model, host: str, probe: Probe) -> Iterator[Problem]:
    """Rules can be loaded, and let in the control node where it asks whether the cluster is whole."""
    rules, alone = rules_of(model, host), left_alone(model, host)
    if (rules or alone) and probe["nft"]:
        wrong = f"there are rules for this host, and nft cannot load them ({probe['nft']})"
        yield Problem((host,), "base_firewall", "FIREWALL_NFT", True, wrong, "install the package nftables, or set base_firewall: false")
    if alone and probe["ssh_port"] not in (0, *alone):
        wrong = "Ansible's own connection comes in at this port, and the host is to be closed but for SSH"
        advice = "declare it as the ansible_port of the host"
        yield Problem((host,), "base_firewall_closed", "FIREWALL_SSH_CLOSED", probe["ssh_port"], wrong, advice)
    if model.all_groups.get("admin"):
        return
    asked = model.mapping(host, "kafka_admin_listeners")
    ways = [(item["address"], item["port"]) for item in model.sequence(host, "kafka_listeners") if item["name"] in asked]
    if host in model.zookeeper:
        ways += [(model.get(host, "client_address"), port) for port in model.zookeeper_ports(host).values()]
    for address, port in ways:
        source = probe["control_node"].get(address)
        if source and not lets_in(rules, port, source, alone is not None):
            wrong = "the control node asks from there whether the cluster is whole, and no rule lets it in"
            advice = "add the address to firewall_extra_sources.admin"
            yield Problem((host,), f"base_firewall_rules[{port}]", "FIREWALL_CONTROL_NODE", source, wrong, advice)


def older_ports(model: Model, host: str, probe: Probe) -> set[str]:
    """Return the ports whose silence says nothing: a run before this one installed other rules, which this one replaces.

    `!=` stands for all of them: the host was closed.
    """
    found = installed(probe["firewall"])
    return set() if found == lines(rules_of(model, host), left_alone(model, host)) else {line.split()[2] for line in found}


def connections(model: Model, host: str, probe: Probe, older: Mapping[str, set[str]]) -> Iterator[Problem]:
    """Both networks lead to every peer; a refused connection is an answer, silence is none.

    `older` holds, for each host of this run, the ports that rules of an earlier run judge there.
    """
    for peer in peers(model, host):
        address, port = peer["address"], peer["port"]
        answer = probe["peers"].get(f"{address}:{port}")
        if peer["host"] not in older or {str(port), "!="} & older[peer["host"]] or answer in (None, "open", "refused"):
            continue
        if port == ECHO:
            yield Problem(
                (host,),
                "",
                "ECHO_DROPPED",
                f"{peer['host']} {address}:{port}",
                "ZooKeeper asks TCP port 7 whether a peer's address is alive, and nothing answers: it would not move to the other network",
                "let the peer's firewall REJECT (not DROP) TCP port 7 from the ensemble's hosts",
            )
        else:
            wrong = f"no answer ({answer}): a firewall drops it, or the network does not lead there"
            yield Problem((host,), "", "PEER_UNREACHABLE", f"{peer['host']} {address}:{port}", wrong, "open the way, both directions")


def capacity(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """The log directories hold what producers are expected to write within the retention."""
    brokers = [host for host in model.kafka if host in probes]
    rate = next((model.whole(host, "expected_bytes_per_second") for host in brokers), None)
    if not rate or len(brokers) < len(model.kafka):
        return
    config = {**model.mapping(brokers[0], "kafka_config"), **model.mapping(brokers[0], "kafka_config_overrides")}
    milliseconds = whole(config.get("log.retention.ms"))
    if milliseconds is None:
        minutes = whole(config.get("log.retention.minutes"))
        milliseconds = minutes * 60_000 if minutes is not None else (whole(config.get("log.retention.hours")) or 168) * 3_600_000
    factor = settings(model, brokers[0])["default.replication.factor"][0] or 1
    sizes = {
        host: sum(mount.get("size", 0) for path, mount in probes[host]["mounts"].items() if path in model.sequence(host, "kafka_log_dirs"))
        for host in brokers
    }
    needed = rate * milliseconds / 1000 * factor / len(brokers)
    for host, total in sizes.items():
        if milliseconds > 0 and needed > total:
            wrong = (
                f"{rate} bytes per second for {milliseconds / 3.6e6:.0f} h with {factor} replicas on {len(brokers)} brokers take "
                f"{needed / 2**30:.1f} GiB each, and the log directories have {total / 2**30:.1f}"
            )
            yield Problem((host,), "kafka_log_dirs", "DISK_TOO_SMALL", None, wrong, "add disks or brokers, or shorten log.retention.hours")


def archives(model: Model, probes: Mapping[str, Any]) -> Iterator[Problem]:
    """Verify each archive that some host still lacks; what every host has needs no reading of large files."""
    verified: dict[tuple[str, str], str] = {}
    clients: dict[tuple[str, str], tuple[int, ...]] = {}
    for host, probe in probes.items():
        for name in ARCHIVES:
            source, checksum = model.hosts[host].get(name), model.hosts[host].get(f"{name}_checksum")
            if not source or not checksum:
                continue
            try:
                if (source, checksum) not in verified and (digest := expected(checksum)) not in probe["archives"].values():
                    verified[source, checksum] = ""
                    path = local(source, digest)
                    if name == "kafka_archive" and model.get(host, "kafka_zookeeper_keystore"):
                        clients[source, checksum] = zookeeper_client(path)
            except ArchiveError as error:
                verified[source, checksum] = str(error)
            if error_text := verified.get((source, checksum)):
                wrong, _, advice = error_text.partition("; ")
                yield Problem((host,), name, "ARCHIVE", None, wrong, advice or "correct the archive or its checksum")
            client = clients.get((source, checksum), ())
            if client and (client < (3, 8, 5) or (3, 9) <= client < (3, 9, 3)):
                shown = ".".join(map(str, client))
                wrong = f"it holds ZooKeeper's client {shown}, which can deadlock over TLS while it connects (ZOOKEEPER-4293): the broker hangs then"
                advice = "use the archive of `make archives`, or exchange the client in yours (docs/security.md)"
                yield Problem((host,), name, "ZOOKEEPER_CLIENT", None, wrong, advice, warning=True)
