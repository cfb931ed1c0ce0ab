"""The sections of the health page about Kafka: brokers, racks and log dirs, with their problems."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import UNKNOWN
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts

# A broker or log dir with this many times its share is skewed, unless the difference is only rounding.
SKEW = 1.5
LIMIT = "-e rate=50MB"

Section = tuple[list[str], list[str]]
"""Lines of a section of the health page, and its problems."""


def table(headline: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a text table: a headline and rows, in left-aligned columns."""
    texts = [list(headline), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(headline))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts
    ]


def names_of(hosts: Mapping[str, Any]) -> dict[str, str]:
    """Return {broker id as text: host}; `hosts` is {host: {broker_id, ...}} as the inventory declares."""
    return {str(facts["broker_id"]): host for host, facts in hosts.items()}


def broker_name(number: object, names: Mapping[str, str]) -> str:
    """Return a broker for a message: `broker 3 (host)`, or `broker 3` if no host declares it.

    `names` is {broker id as text: host}.
    """
    host = names.get(str(number))
    return f"broker {number} ({host})" if host else f"broker {number}"


def readable_size(size: float | None) -> str:
    """Return a size in bytes as text with a unit; "?" if the size is None."""
    return "?" if size is None else amounts.size(size)


# A rack with this many times its share of leaders is skewed: small excesses of its brokers add up.
RACK_SKEW = 1.25


def brokers(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> Section:
    """Return (lines of the section on brokers, problems); both are texts.

    Problems are differences from the inventory, brokers without replicas or with replicas out of sync, left-over
    throttles, and an uneven spread of leaders. Only listeners that the admin host queried are compared. `hosts` is
    {host: {broker_id, rack, listeners}} as the inventory declares. `cluster` is the result of the module kafka_cluster.
    """
    if not hosts:
        return [], []
    registered, leaders, problems, rows = (
        cluster.get("brokers", {}),
        cluster.get("leaders", {}),
        list(cluster.get("problems", ["Kafka: no answer"])),
        [],
    )
    replica_counts = cluster.get("replicas", {})
    asked_listeners = {name for broker in registered.values() for name in broker}
    for host, facts in hosts.items():
        broker = registered.get(str(facts["broker_id"]))
        if broker is None:
            rows.append((facts["broker_id"], host, "-", "not registered", "-", "-"))
            continue
        if broker["rack"] == UNKNOWN:
            problems.append(f"broker {facts['broker_id']} ({host}) is registered, but does not report its rack")
        elif broker["rack"] != facts["rack"]:
            problems.append(
                f"broker {facts['broker_id']} ({host}) is registered with rack {broker['rack']}; the inventory "
                f"sets {facts['rack']}"
            )
        for name, endpoint in facts["listeners"].items():
            if name in asked_listeners and broker.get(name) != endpoint:
                problems.append(
                    f"broker {facts['broker_id']} ({host}) advertises {name} as {broker.get(name)}, "
                    f"but the inventory sets {endpoint}"
                )
        endpoints = " ".join(f"{name}://{broker[name]}" for name in facts["listeners"] if name in broker)
        number = str(facts["broker_id"])
        rows.append((number, host, broker["rack"], endpoints, leaders.get(number, 0), replica_counts.get(number, "?")))
    for number, replicas in cluster.get("undeclared", {}).items():
        broker = registered.get(number, {})
        endpoints_text = " ".join(f"{name}://{broker[name]}" for name in broker if name != "rack")
        if broker:
            rows.append((number, "-", broker["rack"], endpoints_text, leaders.get(number, 0), replicas))
        problems.append(undeclared_broker(number, endpoints_text, replicas))
    problems += outside(hosts, cluster) + unused(hosts, cluster) + throttled(cluster)
    total, share = cluster.get("partitions", 0), cluster.get("partitions", 0) / max(len(hosts), len(registered), 1)
    most = max(leaders.values(), default=0)
    skew = f"{most / share:.2f}" if share else "-"
    if share and most > SKEW * share and most - share > max(len(hosts), len(registered)):
        problems.append(
            f"leaders are skewed: one broker leads {most} of {total} partitions. Kafka corrects this in a few "
            "minutes, kafka-leader-election.sh at once; if neither does, run reassign.yml -e leaders=true"
        )
    return [
        "Kafka",
        *table(("id", "broker", "rack", "listeners", "leads", "holds"), rows),
        f"  controller {cluster.get('controller', -1)}, {total} partitions: {cluster.get('offline', '?')} offline, "
        f"{cluster.get('under_replicated', '?')} under-replicated; leader skew {skew} (1.00 is balanced)"
        f"{uneven(replica_counts)}",
    ], problems


def uneven(replica_counts: Mapping[str, int]) -> str:
    """Return the skew of replicas over brokers as text, with the command that balances them.

    Returns '' if the skew is small. `replica_counts` is {broker id: number of replicas}.
    """
    share = sum(replica_counts.values()) / max(1, len(replica_counts))
    most = max(replica_counts.values(), default=0)
    if most <= SKEW * share or most - share <= len(replica_counts):
        return ""
    command = f"run reassign.yml -e rebalance=true {LIMIT} to balance them, as far as racks permit"
    return f"; replica skew {most / share:.2f}: {command}"


def unused(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[str]:
    """Return [problem], a text, if some brokers have no replicas although the cluster has enough for all brokers.

    Otherwise returns []. Kafka itself does not move replicas to such brokers. `hosts` is {host: {broker_id, rack,
    listeners}} as the inventory declares. `cluster` is the result of the module kafka_cluster.
    """
    replica_counts = cluster.get("replicas", {})
    names = names_of(hosts)
    empty = sorted((number for number in names if replica_counts.get(number) == 0), key=int)
    if not empty or sum(replica_counts.values()) < len(replica_counts):
        return []
    empty_brokers = ", ".join(f"broker {number} ({names[number]})" for number in empty)
    verb = "has" if len(empty) == 1 else "have"
    command = f"run reassign.yml -e add={','.join(empty)} {LIMIT}"
    return [
        f"{empty_brokers} {verb} no replicas: {command} to move {'its' if len(empty) == 1 else 'their'} share there"
    ]


def outside(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[str]:
    """Return a problem, as text, for each broker that runs with all its disks but has replicas out of sync.

    If there are several such brokers, a last text is advice for all of them. `hosts` is {host: {broker_id, rack,
    listeners}} as the inventory declares. `cluster` is the result of the module kafka_cluster.
    """
    failed = {str(log_dir["broker"]) for log_dir in cluster.get("log_dirs", []) if log_dir["given_up"]}
    names = names_of(hosts)
    out_of_sync = {n: count for n, count in cluster.get("out_of_sync", {}).items() if n in names and n not in failed}
    problems = [
        f"broker {number} ({names[number]}) runs, but its replicas of {count} partitions are out of sync. It catches "
        f"up by itself; if the number does not fall for minutes, run restart.yml -l {names[number]} "
        "(docs/reliability.md)"
        for number, count in out_of_sync.items()
    ]
    advice = (
        "several brokers stay out of sync: if the gate refuses to restart each because of the others, swap two "
        "followers of each partition with kafka-reassign-partitions.sh; that needs no restart (docs/reliability.md)"
    )
    return [*problems, *([advice] if len(problems) > 1 else [])]


def throttled(cluster: Mapping[str, Any]) -> list[str]:
    """Return a problem, as text, for each broker whose replication is throttled although no reassignment runs.

    A left-over throttle may prevent a replica from catching up. The throttle of a running replace_disk.yml is listed
    too, since filling a new disk is not a reassignment. `cluster` is the result of the module kafka_cluster.
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
    """Return the text of the problem that no host of the inventory has the broker id `number`.

    `endpoints` are the endpoints that the broker registered, '' if it is not registered. `replicas` is the number of
    its replicas.
    """
    add_again = "add its host to the group kafka again"
    drain = f"move its replicas to the others (reassign.yml -e drain={number} {LIMIT})"
    if not endpoints:
        return (
            f"broker {number} is neither in the inventory nor registered, but {replicas} partitions have a replica "
            f"on it: {add_again}, or {drain}"
        )
    what = f"broker {number} is registered ({endpoints}) but not in the inventory"
    if replicas:
        return f"{what}, and has {replicas} replicas: {add_again}; or {drain}, then stop and disable its kafka.service"
    return f"{what}, and has no replicas: stop and disable its kafka.service, or {add_again}"


def racks(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> Section:
    """Return (lines of the section on racks, []): leaders, replicas and bytes of each rack; racks cause no problems.

    Returns ([], []) if there are fewer than two racks. `hosts` is {host: {broker_id, rack, listeners}} as the inventory
    declares. `cluster` is the result of the module kafka_cluster.
    """
    facts_by_rack = by_rack(cluster) if hosts else {}
    if len(facts_by_rack) < 2:
        return [], []
    rows = [
        (rack, facts["brokers"], facts["leaders"], facts["replicas"], readable_size(facts["bytes"]))
        for rack, facts in facts_by_rack.items()
    ]
    return ["Racks", *table(("rack", "brokers", "leads", "holds", "bytes"), rows), *uneven_racks(facts_by_rack)], []


def by_rack(cluster: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return {rack: {brokers, leaders, replicas, bytes}}: numbers, of which `bytes` is a size.

    `bytes` is None if a broker of the rack did not report its log dirs. Brokers without a rack are left out. `cluster`
    is the result of the module kafka_cluster.
    """
    bytes_by_broker = bytes_of(cluster)
    racks_found: dict[str, dict[str, Any]] = {}
    members: dict[str, list[str]] = {}
    for number, broker in cluster.get("brokers", {}).items():
        if broker["rack"] not in (None, UNKNOWN):
            members.setdefault(broker["rack"], []).append(number)
    for rack, numbers in sorted(members.items()):
        counts = {
            name: sum(cluster.get(name, {}).get(number, 0) for number in numbers) for name in ("leaders", "replicas")
        }
        all_known = all(number in bytes_by_broker for number in numbers)
        racks_found[rack] = {
            "brokers": len(numbers),
            **counts,
            "bytes": sum(bytes_by_broker[number] for number in numbers) if all_known else None,
        }
    return racks_found


def bytes_of(cluster: Mapping[str, Any]) -> dict[str, int]:
    """Return {broker id as text: bytes in all its log dirs}, for brokers that reported their log dirs.

    `cluster` is the result of the module kafka_cluster.
    """
    totals: Counter[str] = Counter()
    for log_dir in cluster.get("log_dirs") or ():
        totals[str(log_dir["broker"])] += log_dir["bytes"]
    return dict(totals)


def uneven_racks(facts_by_rack: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return [line] with the leader skew of the busiest rack, and the command that corrects the skew.

    Returns [] if the skew is small. `facts_by_rack` is the result of `by_rack`.
    """
    brokers, total = (sum(facts[name] for facts in facts_by_rack.values()) for name in ("brokers", "leaders"))
    shares = {rack: total * facts["brokers"] / brokers for rack, facts in facts_by_rack.items()}
    busiest = max(facts_by_rack, key=lambda rack: facts_by_rack[rack]["leaders"] / max(1, shares[rack]))
    leaders, share = facts_by_rack[busiest]["leaders"], shares[busiest]
    if leaders <= RACK_SKEW * share or leaders - share <= brokers:
        return []
    return [
        f"  leader skew {leaders / share:.2f} in rack {busiest}: run reassign.yml -e leaders=true if Kafka's own "
        "election does not correct it"
    ]


WORTH = 2**30
"""The smallest number of bytes above the average for which moving replicas is worthwhile."""
ALIKE = 1.1
"""File systems whose sizes differ by no more than this factor should contain equal amounts."""
NEAR = 0.01
"""How far free bytes of one file system may differ between two reports, as a fraction of its size."""
NAMED_PARTITIONS = 3

Devices = Mapping[tuple[str, str], int]
"""The device of each log dir that a host reported, by broker id (as text) and log dir."""


def log_dirs(hosts: Mapping[str, Any], cluster: Mapping[str, Any], probes: Mapping[str, Any]) -> Section:
    """Return (lines of the section on log dirs, problems): replicas and bytes of each log dir, and how even they are.

    Problems are stray replicas, and brokers that do not list their log dirs. `hosts` is {host: {broker_id, rack,
    listeners}} as the inventory declares. `cluster` is the result of the module kafka_cluster. `probes` is {host:
    result of the module host_probe}.
    """
    names = names_of(hosts)
    broker_ids = {*names, *cluster.get("undeclared", {})}
    rows: list[tuple[object, ...]] = [
        (
            log_dir["broker"],
            names.get(str(log_dir["broker"]), "-"),
            log_dir["path"],
            log_dir["replicas"],
            "offline" if log_dir["given_up"] else readable_size(log_dir["bytes"]),
        )
        for log_dir in cluster.get("log_dirs", ())
        if str(log_dir["broker"]) in broker_ids
    ]
    silent = {number: why for number, why in cluster.get("silent", {}).items() if number in broker_ids}
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
    """Return [line] with the skew of bytes over brokers; a large skew adds the command that corrects it.

    Returns [] if fewer than two brokers reported bytes. A rebalance balances numbers of replicas. If the fullest broker
    has no more replicas than other brokers, its partitions are larger, and the line advises to balance one topic.
    `names` is {broker id as text: host}. `cluster` is the result of the module kafka_cluster.
    """
    bytes_by_broker = bytes_of(cluster)
    if len(bytes_by_broker) < 2 or not sum(bytes_by_broker.values()):
        return []
    fullest = max(bytes_by_broker, key=lambda number: bytes_by_broker[number])
    skew, too_much = skewed(list(bytes_by_broker.values()))
    text = f"  bytes skew {skew:.2f} over brokers (1.00 is balanced)"
    if not too_much:
        return [text]
    replicas = {number: cluster.get("replicas", {}).get(number, 0) for number in bytes_by_broker}
    has_more_replicas = replicas[fullest] - sum(replicas.values()) / len(replicas) > 1
    advice = f"run reassign.yml -e rebalance=true {LIMIT} to balance them, as far as racks permit"
    if not has_more_replicas:
        advice = (
            "its partitions are larger, not more: run reassign.yml -e topic=<the largest> -e rebalance=true "
            f"{LIMIT} to balance one topic"
        )
    return [f"{text}, most on {broker_name(fullest, names)}: {advice}"]


def over_log_dirs(names: Mapping[str, str], dirs_by_broker: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return [line] with the skew of bytes over the log dirs of the broker where this skew is largest.

    The line also contains the command that balances the log dirs of all brokers with a large skew, if there are any.
    `names` is {broker id as text: host}, `dirs_by_broker` is the result of `comparable`.
    """
    skews = {number: skewed([log_dir["bytes"] for log_dir in dirs]) for number, dirs in dirs_by_broker.items()}
    if not skews:
        return []
    worst = max(skews, key=lambda number: skews[number][0])
    text = f"  bytes skew {skews[worst][0]:.2f} over the log dirs of {broker_name(worst, names)}"
    balanceable = [number for number, dirs in dirs_by_broker.items() if skews[number][1] and movable(dirs)]
    if not balanceable:
        return [text]
    return [f"{text}: run reassign.yml -e disks={','.join(sorted(balanceable, key=int))} {LIMIT} to balance them"]


def comparable(cluster: Mapping[str, Any], devices: Devices) -> dict[str, list[Mapping[str, Any]]]:
    """Return {broker id as text: its log dirs} of the brokers whose log dirs should contain equal amounts of data.

    Such a broker has several log dirs, each on its own file system, and the file systems have about the same size.
    Brokers with an offline log dir are left out: such a broker moves nothing to its other log dirs. `devices` is the
    result of `devices_of`. `cluster` is the result of the module kafka_cluster.
    """
    dirs_by_broker: dict[str, list[Mapping[str, Any]]] = {}
    for log_dir in cluster.get("log_dirs") or ():
        dirs_by_broker.setdefault(str(log_dir["broker"]), []).append(log_dir)
    comparable_dirs = {}
    for number, dirs in dirs_by_broker.items():
        sizes = [log_dir["size"] for log_dir in dirs if log_dir["size"] is not None]
        shared = any(on_one_file_system(*pair, devices) for pair in combinations(dirs, 2))
        same_size = max(sizes) <= ALIKE * min(sizes) if sizes else True
        has_offline = any(log_dir["given_up"] for log_dir in dirs)
        if len(dirs) > 1 and same_size and not shared and not has_offline and any(log_dir["bytes"] for log_dir in dirs):
            comparable_dirs[number] = dirs
    return comparable_dirs


def devices_of(names: Mapping[str, str], probes: Mapping[str, Any]) -> Devices:
    """Return {(broker id as text, log dir): device number (st_dev) of its file system}, as the hosts reported it.

    `names` is {broker id as text: host}, `probes` is {host: result of the module host_probe}. Trailing slashes of paths
    are removed.
    """
    return {
        (number, os.path.normpath(path)): mount["device"]
        for number, host in names.items()
        for path, mount in probes.get(host, {}).get("mounts", {}).items()
        if "device" in mount
    }


def on_one_file_system(first_dir: Mapping[str, Any], second_dir: Mapping[str, Any], devices: Devices) -> bool:
    """Tell whether two log dirs of a broker are on the same file system, by their device numbers.

    If `devices` has no number for one of the log dirs, the sizes and free bytes in the two dicts decide: equal sizes
    and almost equal free bytes mean the same file system, since the broker may have written between the two reports.
    """
    first, second = (devices.get((str(log_dir["broker"]), log_dir["path"])) for log_dir in (first_dir, second_dir))
    if first is not None and second is not None:
        return first == second
    size = first_dir["size"]
    return (
        size is not None
        and size == second_dir["size"]
        and bool(abs(first_dir["free"] - second_dir["free"]) <= NEAR * size)
    )


def skewed(amounts_held: Sequence[int]) -> tuple[float, bool]:
    """Return (largest amount divided by the average, whether this skew is large enough to act on).

    `amounts_held` are sizes in bytes.
    """
    share = sum(amounts_held) / len(amounts_held)
    most = max(amounts_held)
    return most / share, most > SKEW * share and most - share >= WORTH


def movable(dirs: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether moving replicas away from the fullest of a broker's log dirs can make the log dirs more equal.

    That is so if the largest replica in the fullest log dir is smaller than the difference between the fullest and the
    emptiest log dir, or if the other replicas in the fullest log dir have at least WORTH bytes. `dirs` are dicts with
    `bytes`, and `largest`: bytes of the largest replica.
    """
    fullest = max(dirs, key=lambda log_dir: int(log_dir["bytes"]))
    gap = fullest["bytes"] - min(log_dir["bytes"] for log_dir in dirs)
    return bool(fullest["largest"] < gap or fullest["bytes"] - fullest["largest"] >= WORTH)


def strays(names: Mapping[str, str], cluster: Mapping[str, Any]) -> list[str]:
    """Return a problem, as text, for each log dir with stray replicas: files of partitions not assigned to the broker.

    Kafka never deletes these files, and rejects a new replica of the same partition in that log dir. `names` is {broker
    id as text: host}. `cluster` is the result of the module kafka_cluster.
    """
    problems = []
    for stray in cluster.get("strays") or ():
        partitions = stray["partitions"]
        unnamed = len(partitions) - NAMED_PARTITIONS
        more = f" and {unnamed} more, all in -e check_output=json" if unnamed > 0 else ""
        host = names.get(str(stray["broker"]))
        stop, start = (f"{verb}.yml -l {host}" if host else f"{verb} its kafka.service" for verb in ("stop", "start"))
        problems.append(
            f"{broker_name(stray['broker'], names)} holds {len(partitions)} stray replica{'s' * (len(partitions) > 1)} "
            f"in {stray['path']} ({', '.join(partitions[:NAMED_PARTITIONS])}{more}), {readable_size(stray['bytes'])}: "
            "their topic was deleted or reassigned while the broker or its disk was down, and Kafka keeps them. To "
            f"remove them: {stop}, move these folders out of {stray['path']}, {start}"
        )
    return problems
