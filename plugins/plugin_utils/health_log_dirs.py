"""What the page of check.yml says of log dirs: what each holds, how even they are, what is left in them.

No Ansible import.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.health_kafka import bytes_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.health_lines import (
    LIMIT,
    SKEW,
    Section,
    called,
    names_of,
    said,
    table,
)

WORTH = 2**30
"""Bytes by which somebody has to hold too much: less is not worth a copy."""
ALIKE = 1.1
"""File systems of which none is larger than another by more are to hold the same."""
NEAR = 0.01
"""Part of its size by which a file system that is written to may have other bytes free when it is asked again."""
SHOWN = 3

Devices = Mapping[tuple[str, str], int]
"""By broker (a text) and log dir, on which device its host has that, where it told."""


def log_dirs(hosts: Mapping[str, Any], cluster: Mapping[str, Any], probes: Mapping[str, Any]) -> Section:
    """Replicas and bytes of each log dir, how skewed they are, and what mends it; replicas that are nobody's.

    Skew is no problem: that a disk is full is one, and said with the disks. Not asked, or not answered: no section.
    """
    names = names_of(hosts)
    shown = {*names, *cluster.get("undeclared", {})}
    rows: list[tuple[object, ...]] = [
        (
            one["broker"],
            names.get(str(one["broker"]), "-"),
            one["path"],
            one["replicas"],
            "given up" if one["given_up"] else said(one["bytes"]),
        )
        for one in cluster.get("log_dirs", ())
        if str(one["broker"]) in shown
    ]
    silent = {number: why for number, why in cluster.get("silent", {}).items() if number in shown}
    rows += [(number, names.get(number, "-"), "?", "?", "?") for number in silent]
    problems = [
        f"{called(number, names)} does not tell what its log dirs hold: {why}" for number, why in silent.items()
    ]
    problems += strays(names, cluster)
    if not hosts or not rows:
        return [], problems
    return [
        "Log dirs",
        *table(("id", "broker", "log dir", "replicas", "bytes"), rows),
        *over_brokers(names, cluster),
        *over_log_dirs(names, comparable(cluster, devices_of(names, probes))),
    ], problems


def over_brokers(names: Mapping[str, str], cluster: Mapping[str, Any]) -> list[str]:
    """Say how skewed bytes are over brokers; where far, what mends it.

    Replicas are evened out by number, so it is of no use where the fullest has no more of them than others.
    """
    held = bytes_of(cluster)
    if len(held) < 2 or not sum(held.values()):
        return []
    fullest = max(held, key=lambda number: held[number])
    skew, too_much = skewed(list(held.values()))
    text = f"  bytes skew {skew:.2f} over brokers (1.00 is even)"
    if not too_much:
        return [text]
    replicas = {number: cluster.get("replicas", {}).get(number, 0) for number in held}
    more = replicas[fullest] - sum(replicas.values()) / len(replicas) > 1
    mend = f"reassign.yml -e rebalance=true {LIMIT} evens them out, as far as racks let"
    if not more:
        mend = (
            "its partitions are larger, not more: reassign.yml -e topic=<the largest> -e rebalance=true "
            f"{LIMIT} evens out those of one topic"
        )
    return [f"{text}, most on {called(fullest, names)}: {mend}"]


def over_log_dirs(names: Mapping[str, str], of: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Say how skewed bytes are over the log dirs of a broker, of the most skewed one; where far, what mends it."""
    found = {number: skewed([one["bytes"] for one in dirs]) for number, dirs in of.items()}
    if not found:
        return []
    worst = max(found, key=lambda number: found[number][0])
    text = f"  bytes skew {found[worst][0]:.2f} over the log dirs of {called(worst, names)}"
    mended = [number for number, dirs in of.items() if found[number][1] and movable(dirs)]
    if not mended:
        return [text]
    return [f"{text}: reassign.yml -e disks={','.join(sorted(mended, key=int))} {LIMIT} evens them out"]


def comparable(cluster: Mapping[str, Any], devices: Devices) -> dict[str, list[Mapping[str, Any]]]:
    """Return by broker its log dirs that are to hold the same: on file systems of their own, all of one size.

    None of a broker that has given one up: it moves nothing to the others.
    """
    of: dict[str, list[Mapping[str, Any]]] = {}
    for one in cluster.get("log_dirs") or ():
        of.setdefault(str(one["broker"]), []).append(one)
    found = {}
    for number, dirs in of.items():
        sizes = [one["size"] for one in dirs if one["size"] is not None]
        shared = any(together(*pair, devices) for pair in combinations(dirs, 2))
        alike = max(sizes) <= ALIKE * min(sizes) if sizes else True
        lost = any(one["given_up"] for one in dirs)
        if len(dirs) > 1 and alike and not shared and not lost and any(one["bytes"] for one in dirs):
            found[number] = dirs
    return found


def devices_of(names: Mapping[str, str], probes: Mapping[str, Any]) -> Devices:
    """Return the devices that brokers' hosts told of; a broker names a log dir without a slash at its end."""
    return {
        (number, os.path.normpath(path)): mount["device"]
        for number, host in names.items()
        for path, mount in probes.get(host, {}).get("mounts", {}).items()
        if "device" in mount
    }


def together(one: Mapping[str, Any], other: Mapping[str, Any], devices: Devices) -> bool:
    """Tell whether two log dirs of a broker are on one file system: by their devices, else by its size and free bytes.

    Those are asked for one log dir after the other, while the broker writes.
    """
    first, second = (devices.get((str(log_dir["broker"]), log_dir["path"])) for log_dir in (one, other))
    if first is not None and second is not None:
        return first == second
    size = one["size"]
    return size is not None and size == other["size"] and bool(abs(one["free"] - other["free"]) <= NEAR * size)


def skewed(held: Sequence[int]) -> tuple[float, bool]:
    """Return how many times its share the fullest has, and whether that is far, and more than a trifle."""
    share = sum(held) / len(held)
    most = max(held)
    return most / share, most > SKEW * share and most - share >= WORTH


def movable(dirs: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether the fullest has what brings it closer to the others: a replica may be larger than the gap."""
    fullest = max(dirs, key=lambda one: int(one["bytes"]))
    gap = fullest["bytes"] - min(one["bytes"] for one in dirs)
    return bool(fullest["largest"] < gap or fullest["bytes"] - fullest["largest"] >= WORTH)


def strays(names: Mapping[str, str], cluster: Mapping[str, Any]) -> list[str]:
    """Return what is left of replicas that no broker is to have, and how to get rid of it.

    A problem: Kafka keeps it for good, and where a topic of that name is made anew, such a broker refuses its part.
    """
    found = []
    for one in cluster.get("strays") or ():
        partitions = one["partitions"]
        more = f" and {len(partitions) - SHOWN} more, all in -e check_output=json" if len(partitions) > SHOWN else ""
        host = names.get(str(one["broker"]))
        stop, start = (f"{verb}.yml -l {host}" if host else f"{verb} its kafka.service" for verb in ("stop", "start"))
        found.append(
            f"{called(one['broker'], names)} holds {len(partitions)} stray replica{'s' * (len(partitions) > 1)} in "
            f"{one['path']} ({', '.join(partitions[:SHOWN])}{more}), {said(one['bytes'])}: their topic was deleted, or "
            "they moved, while the broker or its disk was away, and Kafka keeps them; to get rid of them, "
            f"{stop}, take these folders out of {one['path']}, {start}"
        )
    return found
