"""Decides whether a broker may use a new disk as a log dir, and which replicas the broker then has to copy. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks import folders
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

NEVER = "nothing is ever deleted for you"
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class NewDisk:
    """The log dir of a broker whose disk is new, with the facts that the broker's host reports (module host_probe)."""

    broker: int
    path: str
    mounts: Mapping[str, Facts] = field(default_factory=dict)
    """By log dir of the broker, whether a disk is mounted there, its size and the names in it."""
    meta: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By log dir, its meta.properties."""
    is_mount: bool = True
    lost: frozenset[str] = frozenset()
    """Partitions, as topic-0, whose records the user gives up."""

    @property
    def words(self) -> str:
        """Return the request as a user types it on the command line: `broker=3 log_dir=/data/1`."""
        return f"broker={self.broker} log_dir={self.path}"

    def names(self, path: str) -> list[str]:
        """Return the names of the files and folders in the log dir `path`."""
        return list(self.mounts.get(path, {}).get("names", []))

    @property
    def elsewhere(self) -> set[Place]:
        """Return the partitions whose replica is in another log dir of this broker."""
        return folders.replicas(name for path in self.mounts if path != self.path for name in self.names(path))

    @property
    def here(self) -> set[Place]:
        """Return the partitions whose replica is on the disk itself; empty if the disk is new."""
        return folders.replicas(self.names(self.path))


def refusals(disk: NewDisk, cluster_id: str) -> list[str]:
    """Return the reasons why the broker may not use this disk, from the facts about its host; [] if it may.

    `cluster_id` has to match the cluster id in the file meta.properties of the disk, if the disk has that file.
    """
    path, mount = disk.path, disk.mounts.get(disk.path)
    if mount is None:
        own = ", ".join(disk.mounts) or "none, because no broker is installed on its host"
        return [
            f"broker {disk.broker} has no log dir {path}: its installed log dirs that are in kafka_log_dirs are {own}; "
            "site.yml installs a broker, and adds log dirs to it"
        ]
    if disk.is_mount and not mount["mounted"]:
        text = "no file system is mounted there, so data would be written to the root file system"
        return [f"{path}: {text}: mount the new disk (and add it to /etc/fstab)"]
    if "error" in mount:
        return [f"{path}: the file system fails: {mount['error']}: mount a disk that works"]
    return [*_foreign_data(disk, cluster_id), *_other_failures(disk)]


def _foreign_data(disk: NewDisk, cluster_id: str) -> list[str]:
    """Return a reason for everything on the disk that does not belong to this broker of this cluster."""
    path, meta, reasons = disk.path, disk.meta.get(disk.path) or {}, []
    names = disk.names(path)
    if folders.MADE_BY_MKFS in names:
        reasons.append(
            f"{path} holds {folders.MADE_BY_MKFS}, with which no broker starts: remove that empty folder (rmdir "
            f"{path}/{folders.MADE_BY_MKFS})"
        )
    if unknown := [name for name in folders.foreign(names) if name != folders.MADE_BY_MKFS]:
        listing = ", ".join(unknown[:3])
        reasons.append(
            f"{path} holds {listing}, which no broker created: attach the right disk, or clear it by hand; {NEVER}"
        )
    number, cluster = meta.get("broker.id"), meta.get("cluster.id")
    if number is not None and number != str(disk.broker):
        reasons.append(f"{path}/meta.properties has broker.id={number}: the disk belongs to that broker; {NEVER}")
    if cluster is not None and cluster != cluster_id:
        reasons.append(f"{path}/meta.properties has cluster.id={cluster}, but this cluster is {cluster_id}; {NEVER}")
    if disk.here and not meta:
        reasons.append(
            f"{path} holds {folders.named(disk.here)} but no meta.properties, so its broker is unknown: attach an "
            f"empty disk, or clear it by hand; {NEVER}"
        )
    if both := disk.here & disk.elsewhere:
        reasons.append(
            f"{path} holds {folders.named(both)}, which another log dir of broker {disk.broker} holds, too, and no "
            f"broker starts with a replica in two log dirs: attach another disk, because this one is that of another "
            f"log dir, or a copy of it; {NEVER}"
        )
    return reasons


def _other_failures(disk: NewDisk) -> list[str]:
    """Return a reason for each other log dir of the broker that fails.

    While a log dir is offline, the broker does not recreate missing replicas, because they may be in that log dir
    (LogManager.getOrCreateLog).
    """
    failed = {
        path: mount.get("error", "no file system is mounted there")
        for path, mount in disk.mounts.items()
        if path != disk.path and ("error" in mount or (disk.is_mount and not mount["mounted"]))
    }
    return [
        f"{path} of broker {disk.broker} fails, too ({why}), and while a log dir is offline, a broker recreates no "
        "replica: mount a new disk there as well, or remove it from kafka_log_dirs and run site.yml"
        for path, why in failed.items()
    ]


def serves(disk: NewDisk, dirs: Iterable[LogDir]) -> bool:
    """Tell whether the broker reports the disk's log dir as online; `dirs` are the log dirs that brokers reported."""
    return any(one.broker == disk.broker and one.path == disk.path and not one.given_up for one in dirs)


def held_open(disk: NewDisk, dirs: Iterable[LogDir]) -> list[str]:
    """Return a list with one reason if the broker still uses the file system mounted before the new disk; else [].

    This is the case if the broker reports the log dir as online, but has no `.lock` file on the mounted disk.
    """
    if not serves(disk, dirs) or ".lock" in disk.names(disk.path):
        return []
    return [
        f"broker {disk.broker} still serves from the file system that was mounted at {disk.path} before: stop it "
        "(playbooks/stop.yml -l its host), and run the same command again"
    ]


def lacked(disk: NewDisk, partitions: Iterable[Partition], serving: bool) -> list[Partition]:
    """Return the partitions whose replica the broker has to copy to the disk.

    These are the broker's partitions without a replica on its other disks. If the broker uses the disk already
    (`serving`), only partitions count whose replica is not in sync.
    """
    return [
        one
        for one in partitions
        if disk.broker in one.replicas
        and (one.topic, one.number) not in disk.elsewhere
        and not (serving and disk.broker in one.isr)
    ]


def last_copies(disk: NewDisk, partitions: Sequence[Partition]) -> list[str]:
    """Return a list with one reason if the broker would lead partitions with an empty replica; [] otherwise.

    If no other replica is in sync, the returning broker becomes leader with an empty replica, and the followers delete
    their records. Partitions are accepted if a disk of the broker has their replica, or if the user gave them up
    (`disk.lost`).
    """
    has = disk.here | disk.elsewhere
    alone = [one for one in partitions if not set(one.isr) - {disk.broker} and (one.topic, one.number) not in has]
    kept = [one for one in alone if str(one) not in disk.lost]
    if not kept:
        return []
    names = folders.named((one.topic, one.number) for one in kept)
    lost = ",".join(sorted(map(str, alone)))  # all of them: the command is refused again if one is missing
    return [
        f"{names}: only broker {disk.broker} was in sync, with the replica on the failed disk. With an empty disk it "
        "would lead without records, and the other replicas would delete theirs: bring the old disk back; or let "
        "another replica lead, if there is one (unclean.leader.election.enable of the topic); or give up the records "
        f"(-e lost={lost})"
    ]
