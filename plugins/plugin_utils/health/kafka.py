"""The parts of the health page on Kafka: brokers, leaders, replicas and log dirs, and left-over throttles."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts

# A broker or log dir with this many times its share is skewed, unless the difference is only rounding.
SKEW = 1.5
LIMIT = "-e rate=50MB"

Section = tuple[list[str], list[str]]
"""Lines of the page, and problems."""


def table(headline: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return lines of left-aligned columns."""
    texts = [list(headline), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(headline))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts
    ]


def names_of(hosts: Mapping[str, Any]) -> dict[str, str]:
    """Return the host of each declared broker, by broker id (as text)."""
    return {str(facts["broker_id"]): host for host, facts in hosts.items()}


def broker_name(number: object, names: Mapping[str, str]) -> str:
    """Return a broker as text: its id, and its host if it is declared."""
    host = names.get(str(number))
    return f"broker {number} ({host})" if host else f"broker {number}"


def readable_size(size: float | None) -> str:
    """Return bytes with a unit, or ? if they are unknown."""
    return "?" if size is None else amounts.size(size)


# A rack with this many times its share of leaders is skewed: small excesses of its brokers add up.
RACK_SKEW = 1.25


def brokers(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> Section:
    """Return the table of brokers, and those whose registration differs from the inventory.

    The rack is compared, and the endpoint of each listener that the admin host asked.
    """
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
                f"broker {facts['broker_id']} ({host}) is registered with rack {broker['rack']}; the inventory "
                f"sets {facts['rack']}"
            )
        for name, endpoint in facts["listeners"].items():
            if name in asked and broker.get(name) != endpoint:
                problems.append(
                    f"broker {facts['broker_id']} ({host}) advertises {name} as {broker.get(name)}, "
                    f"but the inventory sets {endpoint}"
                )
        endpoints = " ".join(f"{name}://{broker[name]}" for name in facts["listeners"] if name in broker)
        number = str(facts["broker_id"])
        rows.append((number, host, broker["rack"], endpoints, leaders.get(number, 0), held.get(number, "?")))
    for number, replicas in cluster.get("undeclared", {}).items():
        broker = found.get(number, {})
        there = " ".join(f"{name}://{broker[name]}" for name in broker if name != "rack")
        if broker:
            rows.append((number, "-", broker["rack"], there, leaders.get(number, 0), replicas))
        problems.append(undeclared_broker(number, there, replicas))
    problems += outside(hosts, cluster) + unused(hosts, cluster) + throttled(cluster)
    total, share = cluster.get("partitions", 0), cluster.get("partitions", 0) / max(len(hosts), len(found), 1)
    most = max(leaders.values(), default=0)
    skew = f"{most / share:.2f}" if share else "-"
    if share and most > SKEW * share and most - share > max(len(hosts), len(found)):
        problems.append(
            f"leaders are skewed: one broker leads {most} of {total} partitions. Kafka corrects this in a few "
            "minutes, kafka-leader-election.sh at once; if neither does, run reassign.yml -e leaders=true"
        )
    return [
        "Kafka",
        *table(("id", "broker", "rack", "listeners", "leads", "holds"), rows),
        f"  controller {cluster.get('controller', -1)}, {total} partitions: {cluster.get('offline', '?')} offline, "
        f"{cluster.get('under_replicated', '?')} under-replicated; leader skew {skew} (1.00 is balanced){uneven(held)}",
    ], problems


def uneven(held: Mapping[str, int]) -> str:
    """Return the skew of replicas over brokers and the command that balances them, or '' if no broker is skewed."""
    share = sum(held.values()) / max(1, len(held))
    most = max(held.values(), default=0)
    if most <= SKEW * share or most - share <= len(held):
        return ""
    command = f"run reassign.yml -e rebalance=true {LIMIT} to balance them, as far as racks permit"
    return f"; replica skew {most / share:.2f}: {command}"


def unused(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[str]:
    """Return a problem if brokers have no replicas while others have enough for all: Kafka does not move any itself."""
    held = cluster.get("replicas", {})
    names = names_of(hosts)
    empty = sorted((number for number in names if held.get(number) == 0), key=int)
    if not empty or sum(held.values()) < len(held):
        return []
    empty_brokers = ", ".join(f"broker {number} ({names[number]})" for number in empty)
    verb = "has" if len(empty) == 1 else "have"
    command = f"run reassign.yml -e add={','.join(empty)} {LIMIT}"
    return [
        f"{empty_brokers} {verb} no replicas: {command} to move {'its' if len(empty) == 1 else 'their'} share there"
    ]


def outside(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[str]:
    """Return brokers that run with all their disks and yet have replicas out of sync, and what to do if that lasts."""
    failed = {str(log_dir["broker"]) for log_dir in cluster.get("log_dirs", []) if log_dir["given_up"]}
    names = names_of(hosts)
    found = {n: count for n, count in cluster.get("out_of_sync", {}).items() if n in names and n not in failed}
    told = [
        f"broker {number} ({names[number]}) runs, but its replicas of {count} partitions are out of sync. It catches "
        f"up by itself; if the number does not fall for minutes, run restart.yml -l {names[number]} "
        "(docs/reliability.md)"
        for number, count in found.items()
    ]
    several = (
        "several brokers stay out of sync: if the gate refuses to restart each because of the others, swap two "
        "followers of each partition with kafka-reassign-partitions.sh; that needs no restart (docs/reliability.md)"
    )
    return [*told, *([several] if len(told) > 1 else [])]


def throttled(cluster: Mapping[str, Any]) -> list[str]:
    """Return brokers with a left-over throttle, under which a replica may never catch up.

    While a broker fills a new disk, brokers report no reassignment, so that throttle is listed too.
    """
    interrupted = "that was interrupted (run it again, or with -e cancel=true), or remove"
    null = "by setting it to null in kafka_dynamic_config_overrides of its host"
    return [
        *(
            f"broker {number} throttles replication to {rate} bytes a second, but no reassignment runs: wait if "
            f"replace_disk.yml runs; else finish the run of reassign.yml or replace_disk.yml {interrupted} "
            f"leader.replication.throttled.rate and follower.replication.throttled.rate {null}"
            for number, rate in cluster.get("throttled", {}).items()
        ),
        *(
            f"broker {number} throttles copies between its log dirs to {rate} bytes a second, but copies nothing: "
            f"finish the run of reassign.yml {interrupted} replica.alter.log.dirs.io.max.bytes.per.second {null}"
            for number, rate in cluster.get("copies_throttled", {}).items()
        ),
    ]


def undeclared_broker(number: str, endpoints: str, replicas: int) -> str:
    """Return the problem of a broker id that no host of the inventory has, and what to do."""
    back = "add its host to the group kafka again"
    move = f"move its replicas to the others (reassign.yml -e drain={number} {LIMIT})"
    if not endpoints:
        return (
            f"broker {number} is neither in the inventory nor registered, but {replicas} partitions have a replica "
            f"on it: {back}, or {move}"
        )
    what = f"broker {number} is registered ({endpoints}) but not in the inventory"
    if replicas:
        return f"{what}, and has {replicas} replicas: {back}; or {move}, then stop and disable its kafka.service"
    return f"{what}, and has no replicas: stop and disable its kafka.service, or {back}"


def racks(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> Section:
    """Return leaders, replicas and bytes by rack, if there are several racks; never a problem."""
    found = by_rack(cluster) if hosts else {}
    if len(found) < 2:
        return [], []
    rows = [
        (rack, one["brokers"], one["leaders"], one["replicas"], readable_size(one["bytes"]))
        for rack, one in found.items()
    ]
    return ["Racks", *table(("rack", "brokers", "leads", "holds", "bytes"), rows), *uneven_racks(found)], []


def by_rack(cluster: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return {brokers, leaders, replicas, bytes} of each rack, as numbers; unknown bytes are None.

    Brokers without a rack are left out.
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
    """Return the bytes in all log dirs of each broker that reported them, by broker id (as text)."""
    found: Counter[str] = Counter()
    for one in cluster.get("log_dirs") or ():
        found[str(one["broker"])] += one["bytes"]
    return dict(found)


def uneven_racks(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the rack with far more than its share of leaders and the command that balances them, if there is one."""
    brokers, total = (sum(one[name] for one in found.values()) for name in ("brokers", "leaders"))
    shares = {rack: total * one["brokers"] / brokers for rack, one in found.items()}
    most = max(found, key=lambda rack: found[rack]["leaders"] / max(1, shares[rack]))
    led, share = found[most]["leaders"], shares[most]
    if led <= RACK_SKEW * share or led - share <= brokers:
        return []
    return [
        f"  leader skew {led / share:.2f} in rack {most}: run reassign.yml -e leaders=true if Kafka's own "
        "election does not correct it"
    ]


WORTH = 2**30
"""The least excess, in bytes, that is worth a copy."""
ALIKE = 1.1
"""File systems whose sizes differ by no more than this factor should hold the same."""
NEAR = 0.01
"""How far free bytes of one file system may differ between two questions, as a fraction of its size."""
SHOWN = 3

Devices = Mapping[tuple[str, str], int]
"""The device of each log dir that a host reported, by broker id (as text) and log dir."""


def log_dirs(hosts: Mapping[str, Any], cluster: Mapping[str, Any], probes: Mapping[str, Any]) -> Section:
    """Return replicas and bytes of each log dir, their skew with the command that balances them, and stray replicas.

    Skew is no problem; a full disk is one, reported in the section on disks. There is no section without an answer.
    """
    names = names_of(hosts)
    shown = {*names, *cluster.get("undeclared", {})}
    rows: list[tuple[object, ...]] = [
        (
            one["broker"],
            names.get(str(one["broker"]), "-"),
            one["path"],
            one["replicas"],
            "offline" if one["given_up"] else readable_size(one["bytes"]),
        )
        for one in cluster.get("log_dirs", ())
        if str(one["broker"]) in shown
    ]
    silent = {number: why for number, why in cluster.get("silent", {}).items() if number in shown}
    rows += [(number, names.get(number, "-"), "?", "?", "?") for number in silent]
    problems = [f"{broker_name(number, names)} does not list its log dirs: {why}" for number, why in silent.items()]
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
    """Return the skew of bytes over brokers; if it is large, with the command that balances them.

    `rebalance` balances the number of replicas, so it does not help if the fullest broker has no more than others.
    """
    held = bytes_of(cluster)
    if len(held) < 2 or not sum(held.values()):
        return []
    fullest = max(held, key=lambda number: held[number])
    skew, too_much = skewed(list(held.values()))
    text = f"  bytes skew {skew:.2f} over brokers (1.00 is balanced)"
    if not too_much:
        return [text]
    replicas = {number: cluster.get("replicas", {}).get(number, 0) for number in held}
    more = replicas[fullest] - sum(replicas.values()) / len(replicas) > 1
    mend = f"run reassign.yml -e rebalance=true {LIMIT} to balance them, as far as racks permit"
    if not more:
        mend = (
            "its partitions are larger, not more: run reassign.yml -e topic=<the largest> -e rebalance=true "
            f"{LIMIT} to balance one topic"
        )
    return [f"{text}, most on {broker_name(fullest, names)}: {mend}"]


def over_log_dirs(names: Mapping[str, str], of: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return the skew of bytes over the log dirs of the most skewed broker; if large, with the command for it."""
    found = {number: skewed([one["bytes"] for one in dirs]) for number, dirs in of.items()}
    if not found:
        return []
    worst = max(found, key=lambda number: found[number][0])
    text = f"  bytes skew {found[worst][0]:.2f} over the log dirs of {broker_name(worst, names)}"
    mended = [number for number, dirs in of.items() if found[number][1] and movable(dirs)]
    if not mended:
        return [text]
    return [f"{text}: run reassign.yml -e disks={','.join(sorted(mended, key=int))} {LIMIT} to balance them"]


def comparable(cluster: Mapping[str, Any], devices: Devices) -> dict[str, list[Mapping[str, Any]]]:
    """Return the log dirs of each broker that should hold the same: on file systems of their own, all of one size.

    Brokers with an offline log dir are left out: they move nothing to their other log dirs.
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
    """Return the devices that hosts of brokers reported. Brokers name log dirs without a trailing slash."""
    return {
        (number, os.path.normpath(path)): mount["device"]
        for number, host in names.items()
        for path, mount in probes.get(host, {}).get("mounts", {}).items()
        if "device" in mount
    }


def together(one: Mapping[str, Any], other: Mapping[str, Any], devices: Devices) -> bool:
    """Tell whether two log dirs of a broker are on one file system: by device, else by size and free bytes.

    The broker writes between the two questions, so free bytes may differ a little.
    """
    first, second = (devices.get((str(log_dir["broker"]), log_dir["path"])) for log_dir in (one, other))
    if first is not None and second is not None:
        return first == second
    size = one["size"]
    return size is not None and size == other["size"] and bool(abs(one["free"] - other["free"]) <= NEAR * size)


def skewed(held: Sequence[int]) -> tuple[float, bool]:
    """Return how many times its share the fullest holds, and whether that is far enough to act on."""
    share = sum(held) / len(held)
    most = max(held)
    return most / share, most > SKEW * share and most - share >= WORTH


def movable(dirs: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether moving a replica off the fullest log dir helps: a replica may be larger than the difference."""
    fullest = max(dirs, key=lambda one: int(one["bytes"]))
    gap = fullest["bytes"] - min(one["bytes"] for one in dirs)
    return bool(fullest["largest"] < gap or fullest["bytes"] - fullest["largest"] >= WORTH)


def strays(names: Mapping[str, str], cluster: Mapping[str, Any]) -> list[str]:
    """Return stray replicas: files of partitions that are not assigned to their broker, and how to remove them.

    Kafka never deletes them. If a topic of that name is created again, the broker rejects its replica.
    """
    found = []
    for one in cluster.get("strays") or ():
        partitions = one["partitions"]
        more = f" and {len(partitions) - SHOWN} more, all in -e check_output=json" if len(partitions) > SHOWN else ""
        host = names.get(str(one["broker"]))
        stop, start = (f"{verb}.yml -l {host}" if host else f"{verb} its kafka.service" for verb in ("stop", "start"))
        found.append(
            f"{broker_name(one['broker'], names)} holds {len(partitions)} stray replica{'s' * (len(partitions) > 1)} "
            f"in {one['path']} ({', '.join(partitions[:SHOWN])}{more}), {readable_size(one['bytes'])}: their topic was "
            "deleted or reassigned while the broker or its disk was down, and Kafka keeps them. To remove them: "
            f"{stop}, move these folders out of {one['path']}, {start}"
        )
    return found
