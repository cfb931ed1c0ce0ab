"""Reads which paths are mount points, and the state of the file systems there."""

from __future__ import annotations

import errno
import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

REPLICA = re.compile(r".+-\d+")
"""The name of a folder that holds a replica in a log dir of Kafka, as `orders-0`."""
TABLE = "/proc/self/mounts"
ESCAPED = re.compile(r"\\([0-7]{3})")
MOVED = 0.2
"""Seconds after which a broker has certainly replaced a replica by its copy in another log dir."""


def mounts(paths: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return {path: facts about the file system at the path}.

    Each dict of facts has the key `mounted`: whether the path is a mount point. If the path is a link to a mount point,
    `link` is this mount point. If the path is neither, and is not on the root file system, `below` is the mount point
    of its file system, and `target` is the path to which links lead, if any.
    If the path exists, the other keys are: `size` and `free` (bytes), `device` (st_dev), `inode`, `type` (as `ext4`; ''
    if the path is no mount point), and `names` (the sorted names in the directory).
    If the file system returns errors or is read-only, the key `error` has the reason.
    """
    found: dict[str, dict[str, Any]] = {}
    mounted = mount_table()
    for path in paths:
        kind, options = mounted.get(path.rstrip("/"), ("", set[str]()))
        options = options or mounted[covering(os.path.realpath(path), mounted)][1]
        found[path] = {"mounted": bool(kind) or os.path.ismount(path)}
        if os.path.islink(path.rstrip("/")) and os.path.ismount(target := os.path.realpath(path)):
            found[path]["link"] = target
        elif not found[path]["mounted"]:
            found[path] |= _elsewhere(path, mounted)
        try:
            status = os.statvfs(path)
            found[path] |= {
                "size": status.f_blocks * status.f_frsize,
                "free": status.f_bavail * status.f_frsize,
                "device": (there := os.stat(path)).st_dev,
                "inode": there.st_ino,
                "type": kind,
                "names": sorted(os.fsencode(name).decode(errors="replace") for name in os.listdir(path)),
            }
        except FileNotFoundError:
            continue
        except OSError as error:
            found[path]["error"] = os.strerror(error.errno or errno.EIO)
            continue
        if (
            status.f_flag & os.ST_RDONLY or "emergency_ro" in options
        ):  # the second: ext4 after an error, from Linux 6.12 on
            found[path]["error"] = os.strerror(errno.EROFS)
    return found


def _elsewhere(path: str, mounted: Iterable[str]) -> dict[str, str]:
    """Return `below` and `target` of `mounts` for a path that is no mount point; {} on the root file system."""
    real = os.path.realpath(path)
    below = covering(real, mounted)
    return {} if below == "/" else {"below": below, **({"target": real} if os.path.islink(path.rstrip("/")) else {})}


def covering(path: str, mounted: Iterable[str]) -> str:
    """Return the mount point of the file system that holds the path; `mounted` are all mount points."""
    return max((point for point in mounted if point == "/" or f"{path}/".startswith(f"{point}/")), key=len, default="/")


def mount_table() -> dict[str, tuple[str, set[str]]]:
    """Return {mount point: (file system type, set of mount options)} from TABLE.

    The kernel writes blanks, tabs, line ends and backslashes in a path as \\ and three octal digits. Other bytes of a
    path may have any encoding.
    """
    with open(TABLE, "rb") as stream:
        rows = [[os.fsdecode(word) for word in line.split(b" ")] for line in stream]
    return {"/": ("", set[str]()), **{_plain(row[1]): (row[2], set(row[3].split(","))) for row in rows}}


def _plain(path: str) -> str:
    """Return a path of TABLE without escapes."""
    return ESCAPED.sub(lambda match: chr(int(match[1], 8)), path)


def noexec(paths: Iterable[str]) -> list[str]:
    """Return the paths from which no program or library can be loaded: their file system is mounted with noexec.

    A path may be missing: it will be on the file system of the directory above it.
    """
    mounted = mount_table()
    return [path for path in paths if "noexec" in mounted[covering(os.path.realpath(path), mounted)][1]]


def settled(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return `found`, the result of `mounts`, without replicas that seem to be in two log dirs for a moment.

    While a broker moves a replica to another log dir, the replica's folder can be seen in both log dirs. If a folder
    was seen in two log dirs, this function looks again after MOVED seconds. It then leaves the folder out of `names` of
    the log dir that no longer has the folder.
    """
    times = Counter(name for mount in found.values() for name in mount.get("names", ()) if REPLICA.fullmatch(name))
    both = {name for name, number in times.items() if number > 1}
    if both:
        time.sleep(MOVED)
    for path, mount in found.items() if both else ():
        if "names" in mount:
            mount["names"] = [one for one in mount["names"] if one not in both or os.path.lexists(f"{path}/{one}")]
    return found
