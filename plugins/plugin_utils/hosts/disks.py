"""Checks that disks are mounted, local and without I/O errors, and hold only data of this broker or server."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import MADE_BY_MKFS
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.folders import foreign as foreign_names
from ansible_collections.millrace.kafka.plugins.plugin_utils.failover import MOVED_ASIDE
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker, Machine, ZooKeeperServer
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.installation import broker_dirs, other_mounts
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.replication import TOPICS, settings
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind, count, count_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.templates import templates, undeclared

Probe = Mapping[str, Any]
LOG_DIRS, WAL = "kafka_log_dirs", "zookeeper_data_log_dir"
VOLATILE = ("tmpfs", "ramfs")
REMOTE = re.compile(r"nfs\d?|cifs|smb3?|fuse\..*|9p|ceph|glusterfs")
READ_ONLY = os.strerror(errno.EROFS)
KEPT = ". Nothing is ever deleted for you"
"""End of the advice of problems that existing data causes."""
SERVES = ". The broker serves from its other log dirs, and the run changes nothing on this one"
"""End of the message about a failed disk, if the broker can run without this disk."""

DISK_FAILED = ProblemKind(
    "DISK_FAILED",
    "I/O error of the file system: {error}",
    "repair or replace the disk, and mount it again",
)
DISK_FAILED_SERVES = DISK_FAILED.variant(message=f"{DISK_FAILED.message}{SERVES}")


def failed(
    machine: Machine, variable: str, path: str, mount: Mapping[str, Any], serves: bool = False
) -> Iterator[Problem]:
    """Yield a problem if the file system of a data path gives I/O errors.

    `variable` declares the path, `mount` is the path's entry in the result of host_probe. `serves` tells that the
    broker can run without this path: the problem is then a warning.
    """
    if "error" in mount:
        kind = DISK_FAILED_SERVES if serves else DISK_FAILED
        yield machine.report(kind, variable, path, warning=serves, error=mount["error"])


def is_usable(mount: Mapping[str, Any], is_mount: bool) -> bool:
    """Tell whether a data path gives no I/O error and, if `is_mount` is true, is a mount point.

    `mount` is the path's entry in the result of host_probe.
    """
    return "error" not in mount and (mount["mounted"] or not is_mount)


def stops_the_unit(path: str, mount: Mapping[str, Any]) -> bool:
    """Tell whether the failed disk of a data path prevents systemd from starting the unit.

    This is so only for a path directly below /: for other paths, systemd's sandbox opens the parent directory instead
    of the failed disk. A read-only file system does not prevent the start.
    `mount` is the path's entry in the result of host_probe.
    """
    is_readable = mount.get("error", READ_ONLY) == READ_ONLY
    return not is_readable and os.path.dirname(os.path.normpath(path)) == "/"


def has_files_below(mount: Mapping[str, Any]) -> bool:
    """Tell whether no file system is mounted at a mount point, and the directory itself contains files.

    `mount` is the mount point's entry in the result of host_probe.
    """
    return not mount["mounted"] and bool(mount.get("names"))


NOT_MOUNTED = ProblemKind(
    "NOT_MOUNTED",
    "no file system is mounted there: data would go to the root file system",
    "mount the disk (and add it to /etc/fstab), or correct the path",
)
NOT_MOUNTED_LINK = NOT_MOUNTED.variant(
    message="a link to {target}, where a file system is mounted, but the unit waits for a mount at this path, and may "
    "write only there",
    advice="write {target} in {variable_name}, or mount the file system at this path instead of the link",
)
NOT_MOUNTED_SERVES = NOT_MOUNTED.variant(message=f"{NOT_MOUNTED.message}{SERVES}")
NOT_MOUNTED_BELOW = NOT_MOUNTED.variant(
    message="not a mount point, but a folder of the file system at {below}: data would go there",
    advice="mount a disk at this path, or write {below} in {variable_name} if the data belongs there",
)
NOT_MOUNTED_BELOW_LINK = NOT_MOUNTED_BELOW.variant(
    message="a link to {target}, a folder of the file system at {below}, but the unit waits for a mount at this path"
)
NOT_MOUNTED_BELOW_SERVES = NOT_MOUNTED_BELOW.variant(message=f"{NOT_MOUNTED_BELOW.message}{SERVES}")


def not_mounted(
    machine: Machine, variable: str, path: str, mount: Mapping[str, Any], serves: bool = False
) -> Iterator[Problem]:
    """Yield a problem if a data path is not a mount point: data would fill the file system around it.

    `variable` declares the path, `mount` is the path's entry in the result of host_probe. `serves` tells that the
    broker can run without this path: the problem is then a warning.
    """
    if not mount["mounted"] and mount.get("link"):
        yield machine.report(NOT_MOUNTED_LINK, variable, path, target=mount["link"], variable_name=variable)
    elif not mount["mounted"] and mount.get("below"):
        kind = NOT_MOUNTED_BELOW_LINK if mount.get("target") else NOT_MOUNTED_BELOW
        details = {"below": mount["below"], "target": mount.get("target"), "variable_name": variable}
        kind = NOT_MOUNTED_BELOW_SERVES if serves else kind
        yield machine.report(kind, variable, path, warning=serves, **details)
    elif not mount["mounted"]:
        yield machine.report(NOT_MOUNTED_SERVES if serves else NOT_MOUNTED, variable, path, warning=serves)


DISK_VOLATILE = ProblemKind("DISK_VOLATILE", "a {type}: its data is lost at a reboot", "mount a disk there")
DISK_REMOTE = ProblemKind(
    "DISK_REMOTE",
    "a file system of type {type}, without the locks and flushes that Kafka and ZooKeeper require",
    "mount a local disk there",
)


def unsuitable(machine: Machine, variable: str, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if the file system of a data path is in memory or on the network.

    `variable` declares the path, `mount` is the path's entry in the result of host_probe.
    """
    kind = mount.get("type", "")
    if kind in VOLATILE:
        yield machine.report(DISK_VOLATILE, variable, path, type=kind)
    elif REMOTE.fullmatch(kind):
        yield machine.report(DISK_REMOTE, variable, path, type=kind)


DEVICE_SHARED = ProblemKind(
    "DEVICE_SHARED",
    "these log dirs are on one device: they fail together and share its throughput",
    "mount a separate device for each, or declare only one of them",
)
DEVICE_SHARED_WAL = DEVICE_SHARED.variant(
    message="on the same device as {path}: every write of the ensemble would wait for writes of Kafka",
    advice="mount a separate device",
)


def broker_disks(broker: Broker, probe: Probe) -> Iterator[Problem]:
    """Yield the problems of a broker's log dirs; `probe` is the result of host_probe on its host.

    Each log dir must be mounted, on its own device, without I/O errors, and with data of this broker only.
    """
    devices: dict[Any, list[str]] = {}
    mounts = {path: probe["mounts"][path] for path in broker.log_dirs}
    are_mounts = broker.inputs.on("kafka_log_dirs_are_mounts")
    # An installed broker serves from the disks that are left; a new log dir must be usable from the start.
    installed = {os.path.normpath(path) for path in probe["log_dirs"]}
    has_data = any(probe["meta_properties"].get(path) and is_usable(mounts[path], are_mounts) for path in mounts)
    for path, mount in mounts.items():
        can_serve = not (stops_the_unit(path, mount) or has_files_below(mount))
        serves = has_data and os.path.normpath(path) in installed and can_serve
        yield from failed(broker, LOG_DIRS, path, mount, serves)
        if are_mounts:
            yield from not_mounted(broker, LOG_DIRS, path, mount, serves)
            yield from unsuitable(broker, LOG_DIRS, path, mount)
            if mount["mounted"]:
                devices.setdefault(mount.get("device"), []).append(path)
        yield from _foreign_files(broker, path, mount)
    for paths in devices.values():
        if len(paths) > 1:
            yield broker.report(DEVICE_SHARED, LOG_DIRS, ", ".join(paths))
    yield from _owner(broker, probe)


DISK_FOREIGN = ProblemKind(
    "DISK_FOREIGN",
    "contains {names}, which no broker creates: the disk belongs to something else, and Kafka does not start with "
    "such a folder",
    f"attach the right disk, or remove the files by hand{KEPT}",
)
DISK_FOREIGN_MKFS = DISK_FOREIGN.variant(
    message=f"contains {MADE_BY_MKFS}, which Kafka takes for a partition: no broker starts with it",
    advice=f"remove that empty folder (rmdir {{path}}/{MADE_BY_MKFS}){KEPT}",
)
DISK_FOREIGN_WAL = DISK_FOREIGN.variant(
    message="contains {names}, which no ZooKeeper server creates: the disk belongs to something else",
    advice="attach the right disk, or remove the files by hand",
)


def _foreign_files(broker: Broker, path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if the log dir at `path` contains files or folders that no broker creates."""
    names = foreign_names(mount.get("names", []))
    if names == [MADE_BY_MKFS]:
        yield broker.report(DISK_FOREIGN_MKFS, LOG_DIRS, path, path=path)
    elif names:
        yield broker.report(DISK_FOREIGN, LOG_DIRS, path, names=names[:3])


KAFKA_ID_CHANGED = ProblemKind(
    "KAFKA_ID_CHANGED",
    "{path}/meta.properties has broker.id={id}: the disk belongs to that broker",
    f"set kafka_broker_id to {{id}} again, or attach the right disk{KEPT}",
)
KAFKA_CLUSTER_MIXED = ProblemKind(
    "KAFKA_CLUSTER_MIXED", "disks of different clusters ({clusters})", "attach the right disks"
)


def _owner(broker: Broker, probe: Probe) -> Iterator[Problem]:
    """Yield a problem if the disks of a broker belong to another broker id, or to different clusters."""
    properties = {path: meta for path in broker.log_dirs if (meta := probe["meta_properties"].get(path))}
    for path, meta in properties.items():
        number, declared = meta.get("broker.id"), broker.inputs.values.get("kafka_broker_id")
        if number is not None and declared is not None and whole(number) != whole(declared):
            yield broker.report(KAFKA_ID_CHANGED, "kafka_broker_id", declared, path=path, id=number)
    clusters = {path: meta.get("cluster.id") for path, meta in properties.items()}
    if len(set(clusters.values())) > 1:
        by_path = [f"{path}: {cluster}" for path, cluster in sorted(clusters.items())]
        yield broker.report(KAFKA_CLUSTER_MIXED, LOG_DIRS, clusters=by_path)


KAFKA_CLUSTER_FOREIGN = ProblemKind(
    "KAFKA_CLUSTER_FOREIGN",
    "the disks of this host belong to another cluster than those of {brokers} (cluster id {cluster})",
    f"attach the right disks{KEPT}",
)


def foreign_clusters(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Yield a problem for each broker whose disks belong to another cluster than the disks of most brokers.

    `probes` is {host: result of host_probe}.
    """
    probed = [broker for broker in model.brokers if broker.name in probes]
    clusters = {
        broker.name: {
            meta["cluster.id"] for meta in probes[broker.name]["meta_properties"].values() if meta.get("cluster.id")
        }
        for broker in probed
    }
    count = Counter(next(iter(ids)) for ids in clusters.values() if len(ids) == 1)
    if len(count) < 2:
        return
    ((most, number),) = count.most_common(1)
    for broker in probed:
        if len(clusters[broker.name]) == 1 and clusters[broker.name] != {most}:
            (cluster,) = clusters[broker.name]
            yield broker.report(
                KAFKA_CLUSTER_FOREIGN, LOG_DIRS, cluster, brokers=count_of(number, "other host"), cluster=most
            )


ZOOKEEPER_ID_CHANGED = ProblemKind(
    "ZOOKEEPER_ID_CHANGED",
    "{file} contains {id}",
    "set zookeeper_id to {id} again, or move the old data away by hand",
)


def server_disks(model: Model, server: ZooKeeperServer, probe: Probe) -> Iterator[Problem]:
    """Yield the problems of a ZooKeeper server's disks; `probe` is the result of host_probe on its host.

    The write-ahead log must have its own file system, and the file myid must contain the declared id.
    """
    data, wal = (str(path) for path in server.data_dirs)
    mount = probe["mounts"].get(wal)
    yield from failed(server, WAL, wal, mount or {})
    if mount and server.inputs.on("zookeeper_data_log_dir_is_mount"):
        yield from not_mounted(server, WAL, wal, mount)
        yield from unsuitable(server, WAL, wal, mount)
        names = mount.get("names", [])
        own = ("version-2", "lost+found", "myid")
        foreign = [name for name in names if name not in own and not name.startswith(MOVED_ASIDE)]
        if foreign and "version-2" not in names:
            yield server.report(DISK_FOREIGN_WAL, WAL, wal, names=foreign[:3])
        for path in broker_dirs(model, server.name):
            if mount.get("device") is not None and probe["mounts"].get(path, {}).get("device") == mount["device"]:
                yield server.report(DEVICE_SHARED_WAL, WAL, wal, path=path)
    number, declared = probe["myid"], server.inputs.values.get("zookeeper_id")
    if number and declared is not None and whole(number) != whole(declared):
        yield server.report(ZOOKEEPER_ID_CHANGED, "zookeeper_id", declared, file=f"{data}/myid", id=number)


def function_disks(model: Model, machine: Machine, probe: Probe) -> Iterator[Problem]:
    """Yield the problems of a host's disks that functions other than kafka and zookeeper use."""
    for function, path in other_mounts(model, machine):
        mount = probe["mounts"].get(path)
        if mount is not None:
            variable = _variable_of(machine, function, path)
            yield from failed(machine, variable, path, mount)
            yield from not_mounted(machine, variable, path, mount)
            yield from unsuitable(machine, variable, path, mount)


def _variable_of(machine: Machine, function: Function, path: str) -> str:
    """Return the variable in the function's `mounts` whose value is, or contains, this path; '' if there is none."""
    for name in (name for text in templates(function.mounts) for name in sorted(undeclared(text) or ())):
        if machine.inputs.get(name) == path or path in machine.inputs.sequence(name):
            return name
    return ""


DISK_TOO_SMALL = ProblemKind(
    "DISK_TOO_SMALL",
    "{rate} bytes per second for {hours} h with {replicas} on {brokers} need {needed:.1f} GiB on each "
    "broker, and the log dirs have {size:.1f} GiB",
    "add disks or brokers, or lower log.retention.hours",
)


def capacity(model: Model, probes: Mapping[str, Probe]) -> Iterator[Problem]:
    """Yield a problem for each broker whose log dirs are too small for the records within the retention time.

    Yield nothing unless expected_bytes_per_second is set and `probes` ({host: result of host_probe}) has all brokers.
    """
    brokers = [broker for broker in model.brokers if broker.name in probes]
    rate = next((broker.inputs.whole("expected_bytes_per_second") for broker in brokers), None)
    if not rate or len(brokers) < len(model.brokers):
        return
    retention, factor = _retention(brokers[0]), settings(brokers[0])[TOPICS].value or 1
    needed = rate * retention / 1000 * factor / len(brokers)
    for broker in brokers:
        mounts = probes[broker.name]["mounts"]
        are_mounts = broker.inputs.on("kafka_log_dirs_are_mounts")
        if not all(is_usable(mount, are_mounts) for path, mount in mounts.items() if path in broker.log_dirs):
            continue  # reported by broker_disks
        total = sum(mount.get("size", 0) for path, mount in mounts.items() if path in broker.log_dirs)
        if retention > 0 and needed > total:
            yield broker.report(
                DISK_TOO_SMALL,
                LOG_DIRS,
                rate=rate,
                hours=round(retention / 3.6e6),
                replicas=count_of(factor, "replica"),
                brokers=count(brokers, "broker"),
                needed=needed / 2**30,
                size=total / 2**30,
            )


def _retention(broker: Broker) -> int:
    """Return the retention time of records in ms: log.retention.ms overrides minutes, which override hours."""
    milliseconds = whole(broker.config.get("log.retention.ms"))
    minutes = whole(broker.config.get("log.retention.minutes"))
    if milliseconds is not None:
        return milliseconds
    if minutes is not None:
        return minutes * 60_000
    return (whole(broker.config.get("log.retention.hours")) or 168) * 3_600_000
