"""Which log dirs of a broker share what is free, as far as that can be known. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir

NEAR = 0.01
"""Part of its size by which what is free, and what is held, may differ from one look at a file system to the next."""

Devices = Mapping[tuple[int, str], int]
"""By broker and log dir, the device on which its host has that, where it told."""


def file_systems(dirs: Iterable[LogDir], devices: Devices = MappingProxyType({})) -> dict[tuple[int, str], int]:
    """Return by broker and log dir a number that those on one file system share, and no other."""
    groups: list[list[LogDir]] = []
    of: dict[int, list[list[LogDir]]] = {}
    for one in sorted(dirs, key=lambda one: (one.broker, one.path)):
        own = of.setdefault(one.broker, [])
        group = next((group for group in own if together([*group, one], devices)), None)
        if group is None:
            group = []
            own.append(group)
            groups.append(group)
        group.append(one)
    return {(one.broker, one.path): number for number, group in enumerate(groups) for one in group}


def together(dirs: Sequence[LogDir], devices: Devices) -> bool:
    """Tell whether log dirs of a broker may be on one file system: by their devices, else by what the broker says.

    They are not where sizes differ, or what is free, or where they hold more than is in use of one.
    """
    known = [devices.get((one.broker, one.path)) for one in dirs]
    if None not in known:
        return len({*known}) == 1
    total, free = dirs[0].total, [one.free for one in dirs if one.free is not None]
    if total is None or len(free) < len(dirs) or {one.total for one in dirs} != {total}:
        return False
    held = sum(size for one in dirs for size in (*one.sizes.values(), *one.coming.values()))
    return max(free) - min(free) <= NEAR * total and held <= total - min(free) + NEAR * total
