"""Finds out which log dirs of a broker are on the same file system, as far as that can be known. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir

NEAR = 0.01
"""Part of a file system's size by which its free and used bytes may change between two queries."""

Devices = Mapping[tuple[int, str], int]
"""By broker and log dir, the device that holds the log dir, if its host reported it."""


def file_systems(dirs: Iterable[LogDir], devices: Devices = MappingProxyType({})) -> dict[tuple[int, str], int]:
    """Return {(broker, log dir): number}; log dirs that may be on the same file system have the same number.

    The numbers count from 0 and have no other meaning. `devices` are device numbers as reported by the brokers' hosts.
    """
    groups: list[list[LogDir]] = []
    of_broker: dict[int, list[list[LogDir]]] = {}
    for log_dir in sorted(dirs, key=lambda one: (one.broker, one.path)):
        own = of_broker.setdefault(log_dir.broker, [])
        group = next((group for group in own if may_share([*group, log_dir], devices)), None)
        if group is None:
            group = []
            own.append(group)
            groups.append(group)
        group.append(log_dir)
    return {(one.broker, one.path): number for number, group in enumerate(groups) for one in group}


def may_share(dirs: Sequence[LogDir], devices: Devices) -> bool:
    """Tell whether the log dirs in `dirs`, all of one broker, may be on the same file system.

    If the device numbers of all of them are known, these decide. Otherwise two log dirs are on different file systems
    if their total or free bytes differ, or if together they hold more bytes than are in use on one file system.
    """
    known = [devices.get((one.broker, one.path)) for one in dirs]
    if None not in known:
        return len({*known}) == 1
    total, free = dirs[0].total, [one.free for one in dirs if one.free is not None]
    if total is None or len(free) < len(dirs) or {one.total for one in dirs} != {total}:
        return False
    held = sum(size for one in dirs for size in (*one.sizes.values(), *one.coming.values()))
    return max(free) - min(free) <= NEAR * total and held <= total - min(free) + NEAR * total
