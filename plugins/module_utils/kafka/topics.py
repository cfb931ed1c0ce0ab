"""Topics: what is wanted and what is found become changes and refusals. Pure; who reads and writes is admin.py."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import entry_checks as entries
from ansible_collections.millrace.kafka.plugins.module_utils.kafka import factors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import (
    Change,
    Plan,
    human,
    in_scope,
    too_many,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Placement, Rack

THROTTLES = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Set while replicas move, by whom moves them; never drift, and told where they are left."""
RETENTION = ("retention.ms", "retention.bytes")
UNLIMITED = "-1"


@dataclass(frozen=True)
class Found:
    """One topic of the cluster."""

    replicas: Sequence[tuple[int, ...]]
    """Of each partition, in the order of their numbers."""
    dynamic: Mapping[str, str] = field(default_factory=dict)
    """What was set for this topic."""


@dataclass(frozen=True)
class Cluster:
    """What topics are placed on and compared with."""

    racks: Mapping[int, Rack]
    topics: Mapping[str, Found]
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Of the brokers: num.partitions, default.replication.factor, and what holds where a topic says nothing."""
    known: Set[str] = frozenset()
    """Names of settings that brokers know; none where there is no topic to ask of."""
    unplaceable: Sequence[str] = ()
    """Why no partition can be placed now."""
    moving: Set[str] = frozenset()
    """Topics whose replicas are being moved."""


def same(key: str, one: str | None, other: str | None) -> bool:
    """Tell whether two texts mean the same value."""
    if one is None or other is None or one == other:
        return one == other
    if key == "cleanup.policy":
        return policies(one) == policies(other)
    try:
        return float(one) == float(other)
    except ValueError:
        return one.lower() == other.lower() if {one.lower(), other.lower()} <= {"true", "false"} else False


def policies(text: str | None) -> set[str]:
    """Return the cleanup policies."""
    return {word.strip() for word in (text or "").split(",") if word.strip()}


def diff(wanted: Sequence[Mapping[str, Any]], cluster: Cluster, prune: Mapping[str, Any] | None = None) -> Plan:
    """Return what is to be done that topics are as wanted, and everything that is refused."""
    declared = {topic["name"]: topic for topic in wanted}
    placement = Placement(cluster.racks, [replicas for found in cluster.topics.values() for replicas in found.replicas])
    wrong = entries.topics(wanted)
    changes, unchanged = [], []
    refusals = [*entries.scope(prune, "topics"), *(f"topic {name}: {why}" for name in wrong for why in wrong[name])]
    refusals += collisions(wanted, cluster.topics.keys())
    managed = {name for name, topic in declared.items() if topic.get("manage", True)} - cluster.moving - wrong.keys()
    replicas = {name: found.replicas for name, found in cluster.topics.items() if not name.startswith("_")}
    uncopied = factors.differing([declared[name] for name in sorted(managed)], replicas)
    for name in sorted(managed):
        topic, found = declared[name], cluster.topics.get(name)
        change, refused = one(topic, found, cluster, placement)
        refusals += [f"topic {name}: {text}" for text in refused]
        if change and name not in uncopied:
            changes.append(change)
        elif not refused and found and name not in uncopied:
            unchanged.append(name)
    refusals += factors.refusals(uncopied)
    if cluster.unplaceable and (placed := [one for one in changes if one.work and one.work["replicas"]]):
        changes = [one for one in changes if one not in placed]
        names = f"topic{'s' * (len(placed) > 1)} {', '.join(one.name for one in placed)}"
        refusals += [f"{names}: {why}" for why in cluster.unplaceable]
    others = sorted(name for name in cluster.topics.keys() - declared.keys() if not name.startswith("_"))
    pruned = [name for name in others if in_scope(name, (prune or {}).get("topics") or [])]
    refusals += too_many("topics", pruned, (prune or {}).get("max_deletes") or 0)
    changes += [Change("topic", name, "delete", described(cluster.topics[name])) for name in pruned]
    left = [name for name in others if name not in pruned]
    known = [name for name in declared if name not in managed and name in cluster.topics]
    throttles = [
        f"{name}: {key}"
        for name in sorted(managed & cluster.topics.keys())
        for key in THROTTLES
        if cluster.topics[name].dynamic.get(key)
    ]
    return Plan(changes, unchanged, [*left, *known, *throttles], refusals)


def collisions(wanted: Sequence[Mapping[str, Any]], there: Set[str]) -> list[str]:
    """Return topics that differ by . and _ alone: their metrics would have one name, and brokers refuse them."""
    found = []
    for topic in wanted:
        if topic.get("state") == "absent" or not topic.get("manage", True):
            continue
        name, others = topic["name"], there | {other["name"] for other in wanted if other.get("state") != "absent"}
        for other in sorted(others):
            if other != name and other.replace(".", "_") == name.replace(".", "_") and name not in there:
                found.append(
                    f"topic {name}: {other} differs from it by . and _ alone, which name one metric, so brokers "
                    "refuse it; choose another name"
                )
    return found


def one(
    topic: Mapping[str, Any], found: Found | None, cluster: Cluster, placement: Placement
) -> tuple[Change | None, list[str]]:
    """Return the change of one topic, None where there is none, and why it is refused."""
    name, absent = topic["name"], topic.get("state") == "absent"
    if name.startswith("_"):
        return None, ["names that begin with _ are the cluster's own; take it out of kafka_topics"]
    if absent:
        if found is None:
            return None, []
        if not topic.get("allow_delete"):
            return None, ["would be deleted with all its records; say allow_delete: true if that is meant"]
        return Change("topic", name, "delete", described(found)), []
    unknown = sorted((topic.get("config") or {}).keys() - cluster.known) if cluster.known else []
    wrong = [f"{key} is no setting of topics; correct its name" for key in unknown]
    if strange := [text for key, value in (topic.get("config") or {}).items() if (text := fault(key, value))]:
        return None, [*wrong, *strange]
    change, more = (created if found is None else updated)(topic, found or Found(()), cluster, placement)
    return (None if wrong else change), [*wrong, *more]


def fault(key: str, value: Any) -> str:
    """Return why a value is none, '' where it is one; brokers judge what is not compared here."""
    if value is None or isinstance(value, (list, dict)):
        return f"{key}: {json.dumps(value)} is no value; write a text or a number, or leave it out"
    numbers = (*RETENTION, "min.insync.replicas")
    if key in numbers and not re.fullmatch(r"-?\d{1,18}", str(value)):
        return f"{key}: {value} is no whole number; write one without a unit"
    return ""


def created(
    topic: Mapping[str, Any], _: Found, cluster: Cluster, placement: Placement
) -> tuple[Change | None, list[str]]:
    """Return the change that makes a topic."""
    partitions = topic.get("partitions") or int(cluster.defaults.get("num.partitions", 1))
    factor = topic.get("replication_factor") or int(cluster.defaults.get("default.replication.factor", 1))
    config = dict(topic.get("config") or {})
    minimum = config.get("min.insync.replicas", cluster.defaults.get("min.insync.replicas"))
    wrong = durability(factor, minimum)
    if factor > len(cluster.racks):
        wrong.append(
            f"{factor} replicas, and {len(cluster.racks)} brokers are there; start the others, or say fewer replicas"
        )
    if wrong:
        return None, wrong
    replicas = placement.place(partitions, factor)
    after = lines(partitions, factor, config)
    return Change("topic", topic["name"], "create", (), after, {"replicas": replicas, "config": config}), []


def updated(
    topic: Mapping[str, Any], found: Found, cluster: Cluster, placement: Placement
) -> tuple[Change | None, list[str]]:
    """Return the change that brings a topic to what is wanted."""
    config = {key: value for key, value in (topic.get("config") or {}).items() if key not in THROTTLES}
    before = {key: value for key, value in found.dynamic.items() if key not in THROTTLES}
    now, then = {**cluster.defaults, **before}, {**cluster.defaults, **config}
    sets = {key: value for key, value in config.items() if not same(key, value, before.get(key))}
    removes = sorted(before.keys() - config.keys())
    partitions, wrong = growth(topic, len(found.replicas), then)
    factor = topic.get("replication_factor") or max(map(len, found.replicas))
    wrong += durability(factor, then.get("min.insync.replicas"))
    wrong += [] if topic.get("allow_data_loss") else losses(now, then)
    if partitions and factor > len(cluster.racks):
        wrong.append(f"{factor} replicas for new partitions, and {len(cluster.racks)} brokers are there")
    if wrong or not (sets or removes or partitions):
        return None, wrong
    olds, news = [], []
    if partitions:
        olds.append(f"partitions: {len(found.replicas)}")
        news.append(f"partitions: {len(found.replicas) + partitions}")
    for key in sorted({*sets, *removes}):
        olds.append(setting(key, before, cluster.defaults))
        news.append(setting(key, sets, cluster.defaults))
    replicas = placement.place(partitions, factor, found.replicas)
    work = {"set": sets, "remove": removes, "total": len(found.replicas) + partitions, "replicas": replicas}
    return Change("topic", topic["name"], "update", tuple(olds), tuple(news), work), []


def setting(key: str, said: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return a setting as it is shown, also where nothing is said."""
    if key in said:
        return human(key, said[key])
    return f"{human(key, defaults[key])}, by default" if key in defaults else f"{key}: the default"


def growth(topic: Mapping[str, Any], has: int, then: Mapping[str, str]) -> tuple[int, list[str]]:
    """Return how many partitions a topic gets, and why not."""
    wanted = topic.get("partitions") or has
    if wanted < has:
        return 0, [f"has {has} partitions, {wanted} are declared, and Kafka cannot take partitions away; declare {has}"]
    if wanted == has or topic.get("allow_more_partitions"):
        return wanted - has, []
    why = "records with a key go to other partitions from then on, and their order is lost"
    if "compact" in policies(then.get("cleanup.policy")):
        why = "it is compacted, and a key in two partitions would keep two values"
    advice = f"say allow_more_partitions: true if that is meant, or declare {has}"
    return 0, [f"has {has} partitions, {wanted} are declared: {why}; {advice}"]


def durability(factor: int, minimum: str | None) -> list[str]:
    """Refuse what cannot be written, or cannot while one broker restarts; one replica is what it is."""
    if minimum is None or int(minimum) < max(factor, 2):
        return []
    broken = "nothing could be written" if int(minimum) > factor else "a restart of one broker would stop writes"
    return [
        f"min.insync.replicas {minimum} with {factor} replicas: {broken}; "
        f"say min.insync.replicas {max(1, factor - 1)}, or more replicas"
    ]


def losses(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    """Return the settings by which records can be lost that are safe now."""
    wrong = []
    advice = "say allow_data_loss: true if that is meant"
    for key in RETENTION:
        old, new = now.get(key, UNLIMITED), then.get(key, UNLIMITED)
        if int(new) < 0 or "delete" not in policies(then.get("cleanup.policy", "delete")):
            continue
        if int(old) < 0 or int(new) < int(old):
            wrong.append(f"{human(key, old)} would become {shown(key, new)}, and older records would be deleted")
    before, after = policies(now.get("cleanup.policy", "delete")), policies(then.get("cleanup.policy", "delete"))
    if after - before:
        becomes = f"{','.join(sorted(before))} would become {','.join(sorted(after))}"
        wrong.append(f"cleanup.policy {becomes}, and records that it keeps now would be deleted")
    key = "min.insync.replicas"
    if int(then.get(key, 1)) < int(now.get(key, 1)):
        becomes = f"{human(key, now[key])} would become {then.get(key, 1)}"
        wrong.append(f"{becomes}, and records that only so many brokers have can be lost")
    key = "unclean.leader.election.enable"
    if now.get(key, "false").lower() != "true" and then.get(key, "false").lower() == "true":
        wrong.append(f"{key}: false would become true, and a leader may lack records")
    return [f"{text}; {advice}" for text in wrong]


def shown(key: str, value: str) -> str:
    """Return a value as it is shown, without its name."""
    return human(key, value).partition(": ")[2]


def lines(partitions: int, factor: int, config: Mapping[str, str]) -> tuple[str, ...]:
    """Return a topic as it is shown."""
    settings = (human(key, value) for key, value in sorted(config.items()))
    return (f"partitions: {partitions}", f"replication_factor: {factor}", *settings)


def described(found: Found) -> tuple[str, ...]:
    """Return a topic that is there as it is shown."""
    factor = max((len(replicas) for replicas in found.replicas), default=0)
    return lines(len(found.replicas), factor, found.dynamic)
