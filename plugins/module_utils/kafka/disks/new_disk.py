"""Whether a broker may take in a disk that is new to it, and what it has to copy then. Pure."""

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
    """What is asked for, and what the broker's host says of its log dirs (module host_probe)."""

    broker: int
    path: str
    mounts: Mapping[str, Facts] = field(default_factory=dict)
    """By log dir of the broker, whether a disk is mounted there, its size and what it holds."""
    meta: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By log dir, its meta.properties."""
    is_mount: bool = True
    lost: frozenset[str] = frozenset()
    """Partitions whose records are given up, as topic-0."""

    @property
    def words(self) -> str:
        """Return the request as it is said on a command line."""
        return f"broker={self.broker} log_dir={self.path}"

    def names(self, path: str) -> list[str]:
        """Return what a log dir holds."""
        return list(self.mounts.get(path, {}).get("names", []))

    @property
    def elsewhere(self) -> set[Place]:
        """Return the partitions that the broker has on its other disks."""
        return folders.replicas(name for path in self.mounts if path != self.path for name in self.names(path))

    @property
    def here(self) -> set[Place]:
        """Return the partitions of which the disk holds a replica: none where it is new."""
        return folders.replicas(self.names(self.path))


def refusals(disk: NewDisk, cluster_id: str) -> list[str]:
    """Return why this disk is none that the broker may take in, by what its host says."""
    path, mount = disk.path, disk.mounts.get(disk.path)
    if mount is None:
        own = ", ".join(disk.mounts) or "none, for no broker is installed on its host"
        return [
            f"broker {disk.broker} has no log dir {path}: those that it was installed with, and that kafka_log_dirs "
            f"says, are {own}; site.yml installs it, and gives it one more"
        ]
    if disk.is_mount and not mount["mounted"]:
        text = "no file system is mounted there, so data would go to the root file system"
        return [f"{path}: {text}: mount the new disk (and put it into /etc/fstab)"]
    if "error" in mount:
        return [f"{path}: the file system fails: {mount['error']}: mount a disk that works"]
    return [*_whose(disk, cluster_id), *_others(disk)]


def _whose(disk: NewDisk, cluster_id: str) -> list[str]:
    """Return why what is on the disk is not this broker's."""
    path, meta, wrong = disk.path, disk.meta.get(disk.path) or {}, []
    names = disk.names(path)
    if folders.MADE_BY_MKFS in names:
        wrong.append(
            f"{path} holds {folders.MADE_BY_MKFS}, and no broker starts beside it: remove that empty folder (rmdir "
            f"{path}/{folders.MADE_BY_MKFS})"
        )
    if strange := [name for name in folders.foreign(names) if name != folders.MADE_BY_MKFS]:
        shown = ", ".join(strange[:3])
        wrong.append(f"{path} holds {shown}, which no broker made: attach the right disk, or clear it by hand; {NEVER}")
    number, cluster = meta.get("broker.id"), meta.get("cluster.id")
    if number is not None and number != str(disk.broker):
        wrong.append(f"{path}/meta.properties says broker.id={number}: the disk is of that broker; {NEVER}")
    if cluster is not None and cluster != cluster_id:
        wrong.append(f"{path}/meta.properties says cluster.id={cluster}, and this cluster is {cluster_id}; {NEVER}")
    if disk.here and not meta:
        wrong.append(
            f"{path} holds {folders.named(disk.here)} and no meta.properties that says of whom: attach an empty disk, "
            f"or clear it by hand; {NEVER}"
        )
    if both := disk.here & disk.elsewhere:
        wrong.append(
            f"{path} holds {folders.named(both)}, which another log dir of broker {disk.broker} holds, too, and no "
            f"broker starts so: it is the disk of another log dir, or a copy of one; {NEVER}"
        )
    return wrong


def _others(disk: NewDisk) -> list[str]:
    """Return which other log dirs fail: beside one that is offline a broker makes no replica anew.

    It may be there (LogManager.getOrCreateLog).
    """
    gone = {
        path: mount.get("error", "no file system is mounted there")
        for path, mount in disk.mounts.items()
        if path != disk.path and ("error" in mount or (disk.is_mount and not mount["mounted"]))
    }
    return [
        f"{path} of broker {disk.broker} is of no use either ({why}), and beside a log dir that is offline it makes no "
        "replica anew: mount a new disk there, too, or take it out of kafka_log_dirs and run site.yml"
        for path, why in gone.items()
    ]


def serves(disk: NewDisk, dirs: Iterable[LogDir]) -> bool:
    """Tell whether the broker, by its own word, serves from this log dir."""
    return any(one.broker == disk.broker and one.path == disk.path and not one.given_up for one in dirs)


def held_open(disk: NewDisk, dirs: Iterable[LogDir]) -> list[str]:
    """Return why nothing may be done while the broker serves from what was mounted there before."""
    if not serves(disk, dirs) or ".lock" in disk.names(disk.path):
        return []
    return [
        f"broker {disk.broker} still serves from the file system that was mounted at {disk.path} before: stop it "
        "(playbooks/stop.yml -l its host), and say the same again"
    ]


def lacked(disk: NewDisk, partitions: Iterable[Partition], serving: bool) -> list[Partition]:
    """Return the partitions whose replica the broker has to copy: those that none of its other disks has.

    Where it has taken the disk in already, those with which it is not in sync.
    """
    return [
        one
        for one in partitions
        if disk.broker in one.replicas
        and (one.topic, one.number) not in disk.elsewhere
        and not (serving and disk.broker in one.isr)
    ]


def last_copies(disk: NewDisk, partitions: Sequence[Partition]) -> list[str]:
    """Return the partitions that would be led with nothing, whose records others may still have.

    Where nobody else is in sync, the broker that comes back leads; who follows truncates to it. What any of its disks
    holds it does not lose.
    """
    has = disk.here | disk.elsewhere
    alone = [one for one in partitions if not set(one.isr) - {disk.broker} and (one.topic, one.number) not in has]
    kept = [one for one in alone if str(one) not in disk.lost]
    if not kept:
        return []
    names = folders.named((one.topic, one.number) for one in kept)
    said = ",".join(sorted(map(str, alone)))  # one that it leaves out would be a reason to refuse it again
    return [
        f"{names}: broker {disk.broker} alone was in sync, with what was on the disk that failed. On an empty one it "
        "would lead with nothing, and the other replicas would throw away what they have: bring the old disk back; or "
        "let another replica lead, where there is one (unclean.leader.election.enable of the topic); or give its "
        f"records up (-e lost={said})"
    ]
