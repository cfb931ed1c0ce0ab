"""What is on disks: mounted, local, whole, and of this cluster."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import MADE_BY_MKFS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import foreign as foreign_names
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import broker_dirs, other_mounts
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.replication import TOPICS, settings
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import templates, undeclared

Probe = Mapping[str, Any]
LOG_DIRS, WAL = "kafka_log_dirs", "zookeeper_data_log_dir"
VOLATILE = ("tmpfs", "ramfs")
REMOTE = re.compile(r"nfs\d?|cifs|smb3?|fuse\..*|9p|ceph|glusterfs")
GOES_ON = "the broker goes on with its other disks, and nothing is changed on this one"
READ_ONLY = os.strerror(errno.EROFS)
NEVER = "nothing is ever deleted for you"


def failed(machine: Machine, variable: str, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """A data path takes reads and writes."""
    if "error" in mount:
        wrong, advice = f"the file system fails: {mount['error']}", "repair or replace the disk, and mount it again"
        yield machine.problem(variable, "DISK_FAILED", path, wrong, advice)


def whole_disk(mount: Mapping[str, Any], is_mount: bool) -> bool:
    """Tell whether a data path is of use."""
    return "error" not in mount and (mount["mounted"] or not is_mount)


def stops_the_unit(path: str, mount: Mapping[str, Any]) -> bool:
    """Tell whether the sandboxed unit cannot be started: systemd opens what is writable, and it gives errors.

    The mount point in another directory is not opened itself (filter above_disks).
    """
    readable = mount.get("error", READ_ONLY) == READ_ONLY
    return not readable and os.path.dirname(os.path.normpath(path)) == "/"


def below(mount: Mapping[str, Any]) -> bool:
    """Tell whether something was written to the directory in which no file system is mounted."""
    return not mount["mounted"] and bool(mount.get("names"))


def missing(machine: Machine, variable: str, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """A data path is a mount point, so that a missing disk cannot fill the root file system."""
    if not mount["mounted"]:
        wrong = "no file system is mounted there, so data would go to the root file system"
        advice = "mount the disk (and put it into /etc/fstab), or correct the path"
        yield machine.problem(variable, "NOT_MOUNTED", path, wrong, advice)


def mounted(machine: Machine, variable: str, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """Data is on a local file system that survives a reboot."""
    kind = mount.get("type", "")
    if kind in VOLATILE:
        wrong = f"a {kind}: its data is gone after a reboot"
        yield machine.problem(variable, "DISK_VOLATILE", path, wrong, "mount a disk there")
    elif REMOTE.fullmatch(kind):
        wrong = f"a file system of kind {kind}, on which locks and flushes are not what Kafka and ZooKeeper count on"
        yield machine.problem(variable, "DISK_REMOTE", path, wrong, "mount a local disk there")


def of_a_broker(broker: Broker, probe: Probe) -> Iterator[Problem]:
    """Log dirs are mounted, each on a device of its own, and hold this broker's data and no other's."""
    devices: dict[Any, list[str]] = {}
    mounts = {path: probe["mounts"][path] for path in broker.log_dirs}
    are_mounts = broker.inputs.on("kafka_log_dirs_are_mounts")
    # What is installed serves from the disks that are left; with one that is new it begins.
    installed = {os.path.normpath(path) for path in probe["log_dirs"]}
    serves = any(probe["meta_properties"].get(path) and whole_disk(mounts[path], are_mounts) for path in mounts)
    for path, mount in mounts.items():
        gone = [*failed(broker, LOG_DIRS, path, mount), *(missing(broker, LOG_DIRS, path, mount) if are_mounts else ())]
        if serves and os.path.normpath(path) in installed and not (stops_the_unit(path, mount) or below(mount)):
            gone = [replace(problem, warning=True, message=f"{problem.message}; {GOES_ON}") for problem in gone]
        yield from gone
        if are_mounts:
            yield from mounted(broker, LOG_DIRS, path, mount)
            if mount["mounted"]:
                devices.setdefault(mount.get("device"), []).append(path)
        yield from _foreign(broker, path, mount)
    for paths in devices.values():
        if len(paths) > 1:
            wrong, advice = "on one device: they fail together and share its throughput", "mount a device for each"
            yield broker.problem(LOG_DIRS, "DEVICE_SHARED", ", ".join(paths), wrong, f"{advice}, or name one of them")
    yield from _owner(broker, probe)


def _foreign(broker: Broker, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """A log dir holds what a broker made, and nothing else."""
    found = foreign_names(mount.get("names", []))
    if found == [MADE_BY_MKFS]:
        wrong = f"holds {MADE_BY_MKFS}, which Kafka takes for a partition: no broker starts beside it"
        advice = f"remove that empty folder (rmdir {path}/{MADE_BY_MKFS}); {NEVER}"
        yield broker.problem(LOG_DIRS, "DISK_FOREIGN", path, wrong, advice)
    elif found:
        whose = "the disk is somebody else's, and Kafka refuses such a folder"
        wrong = f"holds {', '.join(found[:3])}, which no broker made: {whose}"
        advice = f"attach the right disk, or clear it by hand; {NEVER}"
        yield broker.problem(LOG_DIRS, "DISK_FOREIGN", path, wrong, advice)


def _owner(broker: Broker, probe: Probe) -> Iterator[Problem]:
    """The disks are this broker's, and of one cluster."""
    found = {path: meta for path in broker.log_dirs if (meta := probe["meta_properties"].get(path))}
    for path, meta in found.items():
        number, declared = meta.get("broker.id"), broker.inputs.values.get("kafka_broker_id")
        if number is not None and declared is not None and number != str(declared):
            wrong = f"{path}/meta.properties says broker.id={number}: the disk belongs to that broker"
            advice = f"declare {number} again, or attach the right disk; {NEVER}"
            yield broker.problem("kafka_broker_id", "KAFKA_ID_CHANGED", declared, wrong, advice)
    clusters_there = {path: meta.get("cluster.id") for path, meta in found.items()}
    if len(set(clusters_there.values())) > 1:
        shown = ", ".join(f"{path}: {cluster}" for path, cluster in sorted(clusters_there.items()))
        wrong = f"disks of different clusters ({shown})"
        yield broker.problem(LOG_DIRS, "KAFKA_CLUSTER_MIXED", None, wrong, "attach the right disks")


def clusters(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """All brokers' disks are of one cluster; the fewer are suspect."""
    asked = [broker for broker in model.brokers if broker.name in probes]
    found = {
        broker.name: {
            meta["cluster.id"] for meta in probes[broker.name]["meta_properties"].values() if meta.get("cluster.id")
        }
        for broker in asked
    }
    count = Counter(next(iter(names)) for names in found.values() if len(names) == 1)
    if len(count) < 2:
        return
    ((most, number),) = count.most_common(1)
    for broker in asked:
        if len(found[broker.name]) == 1 and found[broker.name] != {most}:
            wrong = f"its disks are of another cluster than those of {number} other hosts ({most})"
            (here,) = found[broker.name]
            yield broker.problem(LOG_DIRS, "KAFKA_CLUSTER_FOREIGN", here, wrong, f"attach the right disks; {NEVER}")


def of_a_server(model: Model, server: ZooKeeperServer, probe: Probe) -> Iterator[Problem]:
    """The write-ahead log is on a file system of its own, and myid is the declared one."""
    data, wal = (str(path) for path in server.data_dirs)
    mount = probe["mounts"].get(wal)
    yield from failed(server, WAL, wal, mount or {})
    if mount and server.inputs.on("zookeeper_data_log_dir_is_mount"):
        yield from missing(server, WAL, wal, mount)
        yield from mounted(server, WAL, wal, mount)
        names = mount.get("names", [])
        foreign = [name for name in names if name not in ("version-2", "lost+found", "myid")]
        if foreign and "version-2" not in names:
            wrong = f"holds {', '.join(foreign[:3])}, which no ZooKeeper server made: the disk is somebody else's"
            advice = "attach the right disk, or clear it by hand"
            yield server.problem(WAL, "DISK_FOREIGN", wal, wrong, advice)
        for path in broker_dirs(model, server.name):
            if mount.get("device") is not None and probe["mounts"].get(path, {}).get("device") == mount["device"]:
                wrong = f"on the device of {path}: every write of the ensemble would wait for Kafka's"
                yield server.problem(WAL, "DEVICE_SHARED", wal, wrong, "mount a device of its own")
    found, declared = probe["myid"], server.inputs.values.get("zookeeper_id")
    if found and declared is not None and found != str(declared):
        wrong, advice = f"{data}/myid says {found}", f"declare {found} again, or move the old data away by hand"
        yield server.problem("zookeeper_id", "ZOOKEEPER_ID_CHANGED", declared, wrong, advice)


def of_functions(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """What other functions have disks for is mounted, local and whole."""
    for function, path in other_mounts(model, machine):
        mount = probe["mounts"].get(path)
        if mount is not None:
            variable = _saying(machine, function, path)
            yield from failed(machine, variable, path, mount)
            yield from missing(machine, variable, path, mount)
            yield from mounted(machine, variable, path, mount)


def _saying(machine: Machine, function: Function, path: str) -> str:
    """Return the input that says a path, of those that the function names; '' where it is none of them."""
    for name in (name for text in templates(function.mounts) for name in sorted(undeclared(text) or ())):
        if machine.inputs.get(name) == path or path in machine.inputs.sequence(name):
            return name
    return ""


def capacity(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """The log directories hold what producers are expected to write within the retention."""
    brokers = [broker for broker in model.brokers if broker.name in probes]
    rate = next((broker.inputs.whole("expected_bytes_per_second") for broker in brokers), None)
    if not rate or len(brokers) < len(model.brokers):
        return
    kept, factor = _retention(brokers[0]), settings(brokers[0])[TOPICS].value or 1
    needed = rate * kept / 1000 * factor / len(brokers)
    for broker in brokers:
        mounts = probes[broker.name]["mounts"]
        are_mounts = broker.inputs.on("kafka_log_dirs_are_mounts")
        if not all(whole_disk(mount, are_mounts) for path, mount in mounts.items() if path in broker.log_dirs):
            continue  # said as that
        total = sum(mount.get("size", 0) for path, mount in mounts.items() if path in broker.log_dirs)
        if kept > 0 and needed > total:
            written = (
                f"{rate} bytes per second for {kept / 3.6e6:.0f} h with {factor} replicas on {len(brokers)} brokers"
            )
            wrong = f"{written} take {needed / 2**30:.1f} GiB each, and the log directories have {total / 2**30:.1f}"
            advice = "add disks or brokers, or shorten log.retention.hours"
            yield broker.problem(LOG_DIRS, "DISK_TOO_SMALL", None, wrong, advice)


def _retention(broker: Broker) -> int:
    """Return the milliseconds that records are kept, by the property that wins in Kafka."""
    milliseconds = whole(broker.config.get("log.retention.ms"))
    minutes = whole(broker.config.get("log.retention.minutes"))
    if milliseconds is not None:
        return milliseconds
    if minutes is not None:
        return minutes * 60_000
    return (whole(broker.config.get("log.retention.hours")) or 168) * 3_600_000
