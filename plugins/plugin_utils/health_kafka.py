"""What the page of check.yml says of brokers, who leads and holds, and limits that were left; no Ansible import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.health_lines import (
    LIMIT,
    SKEW,
    Section,
    names_of,
    said,
    table,
)

# A rack leads too much from this many times its share: brokers of it that lead a little more add up.
RACK_SKEW = 1.25


def kafka(hosts: Mapping[str, Any], cluster: Mapping[str, Any]) -> Section:
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
