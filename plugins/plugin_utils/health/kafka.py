"""The parts of the health page on Kafka: brokers, leaders, replicas and log dirs, and left-over throttles."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts

# One is skewed that has this many times its share (and the difference is not a rounding matter).
SKEW = 1.5
LIMIT = "-e rate=50MB"

Section = tuple[list[str], list[str]]
"""Lines of the page, and what is wrong."""


def table(headline: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return lines of left-aligned columns."""
    texts = [list(headline), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(headline))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts
    ]


def names_of(hosts: Mapping[str, Any]) -> dict[str, str]:
    """Return by id (a text) the host of each declared broker."""
    return {str(facts["broker_id"]): host for host, facts in hosts.items()}


def called(number: object, names: Mapping[str, str]) -> str:
    """Return a broker as people know it."""
    host = names.get(str(number))
    return f"broker {number} ({host})" if host else f"broker {number}"


def said(size: float | None) -> str:
    """Return bytes as a person says them, ? where they are not known."""
    return "?" if size is None else amounts.size(size)


# A rack leads too much from this many times its share: brokers of it that lead a little more add up.
RACK_SKEW = 1.25


def brokers(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> Section:
    """Brokers registered with the declared rack and, on the listeners that the admin asked, the declared endpoint."""
    if not hosts:
        return [], []
    found, leaders, problems, rows = (
        cluster.get("brokers", {}),
        cluster.get("leaders", {}),
        list(cluster.get("problems", ["Kafka: no answer"])),
        [],
    )
    held = cluster.get("replicas", {})
    asked = {name for broker in found.values() for name in broker}
    for host, facts in hosts.items():
        broker = found.get(str(facts["broker_id"]))
        if broker is None:
            rows.append((facts["broker_id"], host, "-", "not registered", "-", "-"))
            continue
        if broker["rack"] != facts["rack"]:
            problems.append(
                f"broker {facts['broker_id']} ({host}) is registered with rack {broker['rack']}, declared "
                f"is {facts['rack']}"
            )
        for name, endpoint in facts["listeners"].items():
            if name in asked and broker.get(name) != endpoint:
                problems.append(
                    f"broker {facts['broker_id']} ({host}) advertises {name} as {broker.get(name)}, "
                    f"declared is {endpoint}"
                )
        endpoints = " ".join(f"{name}://{broker[name]}" for name in facts["listeners"] if name in broker)
        number = str(facts["broker_id"])
        rows.append((number, host, broker["rack"], endpoints, leaders.get(number, 0), held.get(number, "?")))
    for number, replicas in cluster.get("undeclared", {}).items():
        broker = found.get(number, {})
        there = " ".join(f"{name}://{broker[name]}" for name in broker if name != "rack")
        if broker:
            rows.append((number, "-", broker["rack"], there, leaders.get(number, 0), replicas))
        problems.append(stranger(number, there, replicas))
    problems += outside(hosts, cluster) + unused(hosts, cluster) + throttled(cluster)
    total, share = cluster.get("partitions", 0), cluster.get("partitions", 0) / max(len(hosts), len(found), 1)
    most = max(leaders.values(), default=0)
    skew = f"{most / share:.2f}" if share else "-"
    if share and most > SKEW * share and most - share > max(len(hosts), len(found)):
        problems.append(
            f"leaders are skewed: one broker leads {most} of {total} partitions; Kafka mends it in a "
            "while, kafka-leader-election.sh now, and reassign.yml -e leaders=true where it does not"
        )
    return [
        "Kafka",
        *table(("id", "broker", "rack", "listeners", "leads", "holds"), rows),
        f"  controller {cluster.get('controller', -1)}, {total} partitions: {cluster.get('offline', '?')} offline, "
        f"{cluster.get('under_replicated', '?')} under-replicated; leader skew {skew} (1.00 is even){uneven(held)}",
    ], problems


def uneven(held: Mapping[str, int]) -> str:
    """Say how uneven replicas are over brokers, and what mends it, where one has far more than its share."""
    share = sum(held.values()) / max(1, len(held))
    most = max(held.values(), default=0)
    if most <= SKEW * share or most - share <= len(held):
        return ""
    return (
        f"; replica skew {most / share:.2f}: reassign.yml -e rebalance=true {LIMIT} evens them out, as far as racks let"
    )


def unused(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[str]:
    """Return which brokers hold nothing while others hold enough for all: nobody moves replicas by himself."""
    held = cluster.get("replicas", {})
    names = names_of(hosts)
    empty = sorted((number for number in names if held.get(number) == 0), key=int)
    if not empty or sum(held.values()) < len(held):
        return []
    told = ", ".join(f"broker {number} ({names[number]})" for number in empty)
    what = f"hold{'s' if len(empty) == 1 else ''} no partition: reassign.yml -e add={','.join(empty)} {LIMIT}"
    return [f"{told} {what} moves {'its' if len(empty) == 1 else 'their'} share there"]


def outside(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[str]:
    """Return which brokers run, have all their disks, and are out of sync: what to do where it does not pass."""
    failed = {str(one["broker"]) for one in cluster.get("log_dirs", []) if one["given_up"]}
    names = names_of(hosts)
    found = {n: count for n, count in cluster.get("out_of_sync", {}).items() if n in names and n not in failed}
    told = [
        f"broker {number} ({names[number]}) runs, and its replicas of {count} partitions are out of sync: it catches "
        f"up by itself; where the number stays the same for minutes, restart.yml -l {names[number]} ends it "
        "(docs/reliability.md)"
        for number, count in found.items()
    ]
    several = (
        "several brokers stay out of sync: where the gate refuses each of them for the others, two followers of each "
        "partition that change places (kafka-reassign-partitions.sh) end it without a restart (docs/reliability.md)"
    )
    return [*told, *([several] if len(told) > 1 else [])]


def throttled(cluster: Mapping[str, Any]) -> list[str]:
    """Return which brokers were left with a limit: a replica may never catch up with it, a copy never end.

    A broker that fills a new disk moves nothing, as far as brokers tell.
    """
    begun = "that was interrupted (the same again, or its -e cancel=true), or take"
    null = "back with null in kafka_dynamic_config_overrides of its host"
    return [
        *(
            f"broker {number} limits replication to {rate} bytes a second though nothing is moved: wait where "
            f"replace_disk.yml is at it; else end the run of reassign.yml or replace_disk.yml {begun} "
            f"leader.replication.throttled.rate and follower.replication.throttled.rate {null}"
            for number, rate in cluster.get("throttled", {}).items()
        ),
        *(
            f"broker {number} limits copies between its log dirs to {rate} bytes a second though nothing is copied: "
            f"end the run of reassign.yml {begun} replica.alter.log.dirs.io.max.bytes.per.second {null}"
            for number, rate in cluster.get("copies_throttled", {}).items()
        ),
    ]


def stranger(number: str, endpoints: str, replicas: int) -> str:
    """Return what is wrong with a broker that no host of the inventory has, and how to mend it."""
    back = "put its host back into the group kafka"
    move = f"move its replicas to the others (reassign.yml -e drain={number} {LIMIT})"
    if not endpoints:
        return (
            f"broker {number} is neither in the inventory nor registered, and {replicas} partitions still count on a "
            f"replica there: {back}, or {move}"
        )
    what = f"broker {number} is registered ({endpoints}) but not in the inventory"
    if replicas:
        return f"{what}, and holds {replicas} replicas: {back}, or {move}, and then stop and disable its kafka.service"
    return f"{what}, and holds no replica: stop and disable its kafka.service, or {back}"


def racks(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> Section:
    """Who leads and holds how much, by rack, where there are several; never a problem of its own."""
    found = by_rack(cluster) if hosts else {}
    if len(found) < 2:
        return [], []
    rows = [(rack, one["brokers"], one["leaders"], one["replicas"], said(one["bytes"])) for rack, one in found.items()]
    return ["Racks", *table(("rack", "brokers", "leads", "holds", "bytes"), rows), *uneven_racks(found)], []


def by_rack(cluster: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return of each rack {brokers, leaders, replicas, bytes}, numbers; bytes are None where they are not known.

    Without those of brokers that have not said their rack.
    """
    held = bytes_of(cluster)
    found: dict[str, dict[str, Any]] = {}
    members: dict[str, list[str]] = {}
    for number, broker in cluster.get("brokers", {}).items():
        if broker["rack"] is not None:
            members.setdefault(broker["rack"], []).append(number)
    for rack, numbers in sorted(members.items()):
        counts = {
            name: sum(cluster.get(name, {}).get(number, 0) for number in numbers) for name in ("leaders", "replicas")
        }
        known = all(number in held for number in numbers)
        found[rack] = {
            "brokers": len(numbers),
            **counts,
            "bytes": sum(held[number] for number in numbers) if known else None,
        }
    return found


def bytes_of(cluster: Mapping[str, Any]) -> dict[str, int]:
    """Return by broker (its id as a text) that told it the bytes in all its log dirs."""
    found: Counter[str] = Counter()
    for one in cluster.get("log_dirs") or ():
        found[str(one["broker"])] += one["bytes"]
    return dict(found)


def uneven_racks(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say which rack leads far more than its share, and what mends it."""
    brokers, total = (sum(one[name] for one in found.values()) for name in ("brokers", "leaders"))
    shares = {rack: total * one["brokers"] / brokers for rack, one in found.items()}
    most = max(found, key=lambda rack: found[rack]["leaders"] / max(1, shares[rack]))
    led, share = found[most]["leaders"], shares[most]
    if led <= RACK_SKEW * share or led - share <= brokers:
        return []
    return [
        f"  leader skew {led / share:.2f} in rack {most}: reassign.yml -e leaders=true evens it out where Kafka's own "
        "election does not"
    ]


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
