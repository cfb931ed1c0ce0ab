"""Checks of what the hosts answered (module host_probe) against what the inventory declares; no Ansible import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .problems import Problem

Probe = Mapping[str, Any]


def check_hosts(hosts: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Sequence[str]], probes: Mapping[str, Probe]) -> list[Problem]:
    """Return everything on the probed hosts that contradicts the model.

    `probes` holds the answers of the hosts of this run (with --limit: of some); the others are not judged.
    """
    problems: list[Problem] = []
    for host, probe in probes.items():
        declared = hosts[host]
        problems += addresses(host, declared, probe)
        problems += clock(host, declared, probe)
        if host in groups.get("kafka", []):
            problems += broker_disks(host, declared, probe)
        if host in groups.get("zookeeper", []):
            problems += zookeeper_disks(host, declared, probe)
    return problems


def addresses(host: str, declared: Mapping[str, Any], probe: Probe) -> list[Problem]:
    """Declared addresses are on an interface of the host."""
    return [
        Problem(f"{host}/{name}", "ADDRESS_ABSENT", declared[name], f"the host has only {', '.join(probe['addresses']) or 'none'}",
                "correct the inventory, or configure the interface")
        for name in ("client_address", "replication_address")
        if declared.get(name) and declared[name] not in probe["addresses"]
    ]  # fmt: skip


def clock(host: str, declared: Mapping[str, Any], probe: Probe) -> list[Problem]:
    """The kernel says that the clock is kept in time (adjtimex), unless the inventory waives it."""
    if declared.get("base_time_sync_required", True) and not probe["clock_synchronized"]:
        return [
            Problem(host, "CLOCK_UNSYNCHRONIZED", None, "the kernel's clock is not kept in time by any service",
                    "start chrony or systemd-timesyncd, or set base_time_sync_required: false where the hypervisor keeps it")
        ]  # fmt: skip
    return []


def not_mounted(host: str, variable: str, path: str, mounts: Mapping[str, Any]) -> list[Problem]:
    """A data path is a mount point, so that a missing disk cannot fill the root file system."""
    if mounts[path]["mounted"]:
        return []
    return [
        Problem(f"{host}/{variable}", "NOT_MOUNTED", path, "no file system is mounted there, so data would go to the root file system",
                "mount the disk (and put it into /etc/fstab), or correct the path")
    ]  # fmt: skip


def broker_disks(host: str, declared: Mapping[str, Any], probe: Probe) -> list[Problem]:
    """Log dirs are mounted, and hold no other broker's data."""
    problems, clusters = [], {}
    for path in declared.get("kafka_log_dirs") or []:
        if declared.get("kafka_log_dirs_are_mounts", True):
            problems += not_mounted(host, "kafka_log_dirs", path, probe["mounts"])
        meta = probe["meta_properties"].get(path)
        if not meta:
            continue
        clusters[path] = meta.get("cluster.id")
        found = meta.get("broker.id")
        if found is not None and "kafka_broker_id" in declared and found != str(declared["kafka_broker_id"]):
            problems.append(
                Problem(f"{host}/kafka_broker_id", "KAFKA_ID_CHANGED", declared["kafka_broker_id"],
                        f"{path}/meta.properties says broker.id={found}: the disk belongs to that broker",
                        f"declare {found} again, or attach the right disk; nothing is ever deleted for you")
            )  # fmt: skip
    if len(set(clusters.values())) > 1:
        shown = ", ".join(f"{path}: {cluster}" for path, cluster in sorted(clusters.items()))
        problems.append(
            Problem(f"{host}/kafka_log_dirs", "KAFKA_CLUSTER_MIXED", None, f"disks of different clusters ({shown})", "attach the right disks")
        )
    return problems


def zookeeper_disks(host: str, declared: Mapping[str, Any], probe: Probe) -> list[Problem]:
    """The write-ahead log is on a file system of its own, and myid is the declared one."""
    problems = []
    wal = declared.get("zookeeper_data_log_dir")
    if wal and declared.get("zookeeper_data_log_dir_is_mount", True):
        problems += not_mounted(host, "zookeeper_data_log_dir", wal, probe["mounts"])
    found = probe["myid"]
    if found and "zookeeper_id" in declared and found != str(declared["zookeeper_id"]):
        problems.append(
            Problem(f"{host}/zookeeper_id", "ZOOKEEPER_ID_CHANGED", declared["zookeeper_id"], f"the host's myid file says {found}",
                    f"declare {found} again, or move the old data away by hand")
        )  # fmt: skip
    return problems
