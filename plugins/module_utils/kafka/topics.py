"""Compares the declared topics (kafka_topics) with the cluster's, and returns changes and refusals. No I/O.

A refusal is a reason why nothing may be written.
"""

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
"""Throttles, set by the program that moves replicas. They are never drift, but are reported if they remain."""
RETENTION = ("retention.ms", "retention.bytes")
UNLIMITED = "-1"
LONGEST = 2**63 - 1
"""The largest number of Java's type long, with which some programs write that records are kept for ever."""


@dataclass(frozen=True)
class Found:
    """An existing topic of the cluster."""

    replicas: Sequence[tuple[int, ...]]
    """The replicas of each partition, in the order of partition numbers."""
    dynamic: Mapping[str, str] = field(default_factory=dict)
    """The topic's own settings."""


@dataclass(frozen=True)
class Cluster:
    """The facts about a cluster with which declared topics are compared, and by which new partitions are placed."""

    racks: Mapping[int, Rack]
    topics: Mapping[str, Found]
    defaults: Mapping[str, str] = field(default_factory=dict)
    """The brokers' num.partitions, default.replication.factor, and their defaults of topics' settings."""
    known: Set[str] = frozenset()
    """Names of settings that brokers know; empty if there is no topic whose settings can be read."""
    unplaceable: Sequence[str] = ()
    """Why no partition can be placed now."""
    moving: Set[str] = frozenset()
    """Topics whose replicas are being moved."""


def same(key: str, one: str | None, other: str | None) -> bool:
    """Tell whether two values of the setting `key` are equal as numbers, booleans, or policies in any order."""
    if one is None or other is None or one == other:
        return one == other
    if key == "cleanup.policy":
        return policies(one) == policies(other)
    try:
        return int(one) == int(other)  # numbers of 64 bits, which a float rounds
    except ValueError:
        pass
    try:
        return float(one) == float(other)
    except ValueError:
        return one.lower() == other.lower() if {one.lower(), other.lower()} <= {"true", "false"} else False


def policies(text: str | None) -> set[str]:
    """Return the policies in a value of cleanup.policy, as {'compact', 'delete'}."""
    return {word.strip() for word in (text or "").split(",") if word.strip()}


def diff(wanted: Sequence[Mapping[str, Any]], cluster: Cluster, prune: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan that makes the cluster's topics match `wanted` (kafka_topics); a refusal blocks all writes.

    `prune` is kafka_prune. Topics with `manage: false`, and topics whose replicas are being moved, are not changed.
    """
    declared = {topic["name"]: topic for topic in wanted}
    placement = Placement(cluster.racks, [replicas for found in cluster.topics.values() for replicas in found.replicas])
    mistakes = entries.topics(wanted)
    changes, unchanged = [], []
    refusals = [*entries.scope(prune, "topics")]
    refusals += [f"topic {name}: {why}" for name in mistakes for why in mistakes[name]]
    refusals += collisions(wanted, cluster.topics.keys())
    managed = {name for name, topic in declared.items() if topic.get("manage", True)} - cluster.moving - mistakes.keys()
    replicas = {name: found.replicas for name, found in cluster.topics.items() if not name.startswith("_")}
    uncopied = factors.differing([declared[name] for name in sorted(managed)], replicas)
    for name in sorted(managed):
        topic, found = declared[name], cluster.topics.get(name)
        change, refused = change_of(topic, found, cluster, placement)
        refusals += [f"topic {name}: {text}" for text in refused]
        if change and name not in uncopied:
            changes.append(change)
        elif not refused and found and name not in uncopied:
            unchanged.append(name)
    refusals += factors.refusals(uncopied)
    if cluster.unplaceable and (placed := [change for change in changes if change.work and change.work["replicas"]]):
        changes = [change for change in changes if change not in placed]
        names = f"topic{'s' * (len(placed) > 1)} {', '.join(change.name for change in placed)}"
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
    """Return messages about new topics whose name equals the name of another topic if `.` and `_` count as equal.

    Their metrics would have the same name, so brokers reject such a topic. `there` are the names of existing topics.
    """
    refusals = []
    for topic in wanted:
        if topic.get("state") == "absent" or not topic.get("manage", True):
            continue
        name, others = topic["name"], there | {other["name"] for other in wanted if other.get("state") != "absent"}
        for other in sorted(others):
            if other != name and other.replace(".", "_") == name.replace(".", "_") and name not in there:
                refusals.append(
                    f"topic {name}: {other} differs from it only in . and _, so their metrics would have the same name "
                    "and brokers reject it; choose another name"
                )
    return refusals


def change_of(
    topic: Mapping[str, Any], found: Found | None, cluster: Cluster, placement: Placement
) -> tuple[Change | None, list[str]]:
    """Return (change of one topic, refusals); the change is None if nothing differs, or if the change is refused.

    `found` is None if the topic does not exist.
    """
    name, absent = topic["name"], topic.get("state") == "absent"
    if name.startswith("_"):
        return None, ["is internal, as all names that begin with _; remove it from kafka_topics"]
    if absent:
        if found is None:
            return None, []
        if not topic.get("allow_delete"):
            return None, ["would be deleted with all its records; set allow_delete: true to allow it"]
        return Change("topic", name, "delete", described(found)), []
    unknown = sorted((topic.get("config") or {}).keys() - cluster.known) if cluster.known else []
    refusals = [f"{key} is not a setting of topics; correct its name" for key in unknown]
    if invalid := [text for key, value in (topic.get("config") or {}).items() if (text := fault(key, value))]:
        return None, [*refusals, *invalid]
    change, more = (created if found is None else updated)(topic, found or Found(()), cluster, placement)
    return (None if refusals else change), [*refusals, *more]


def fault(key: str, value: Any) -> str:
    """Return why the value of a setting is invalid, '' if it is valid or if brokers have to validate it."""
    if value is None or isinstance(value, (list, dict)):
        return f"{key}: {json.dumps(value)} is not a single value; write a string or a number, or remove it"
    numbers = (*RETENTION, "min.insync.replicas")
    if key in numbers and not re.fullmatch(r"-?[0-9]{1,19}", str(value)):
        return f"{key}: {value} is not an integer; write an integer without a unit"
    if key in numbers and not -LONGEST <= int(value) <= LONGEST:
        return f"{key}: {value} is too large; write at most {LONGEST}"
    return ""


def created(
    topic: Mapping[str, Any], _: Found, cluster: Cluster, placement: Placement
) -> tuple[Change | None, list[str]]:
    """Return (change that creates a topic, refusals); the change is None if it is refused.

    If the numbers of partitions or replicas are not declared, the brokers' defaults are used.
    """
    partitions = topic.get("partitions") or int(cluster.defaults.get("num.partitions", 1))
    factor = topic.get("replication_factor") or int(cluster.defaults.get("default.replication.factor", 1))
    config = dict(topic.get("config") or {})
    minimum = config.get("min.insync.replicas", cluster.defaults.get("min.insync.replicas"))
    refusals = durability(factor, minimum)
    if factor > len(cluster.racks):
        count = len(cluster.racks)
        refusals.append(f"{factor} replicas, but {count} brokers are running; start the others, or set fewer replicas")
    if refusals:
        return None, refusals
    replicas = placement.place(partitions, factor)
    after = lines(partitions, factor, config)
    return Change("topic", topic["name"], "create", (), after, {"replicas": replicas, "config": config}), []


def updated(
    topic: Mapping[str, Any], found: Found, cluster: Cluster, placement: Placement
) -> tuple[Change | None, list[str]]:
    """Return (change of an existing topic, refusals).

    The change is None if the topic is as declared, or if the change is refused.
    """
    config = {key: value for key, value in (topic.get("config") or {}).items() if key not in THROTTLES}
    before = {key: value for key, value in found.dynamic.items() if key not in THROTTLES}
    now, then = {**cluster.defaults, **before}, {**cluster.defaults, **config}
    sets = {key: value for key, value in config.items() if not same(key, value, before.get(key))}
    removes = sorted(before.keys() - config.keys())
    partitions, refusals = growth(topic, len(found.replicas), then)
    factor = topic.get("replication_factor") or max(map(len, found.replicas))
    refusals += durability(factor, then.get("min.insync.replicas"))
    refusals += [] if topic.get("allow_data_loss") else losses(now, then)
    if partitions and factor > len(cluster.racks):
        count = len(cluster.racks)
        refusals.append(f"{factor} replicas for new partitions, but {count} brokers are running; start the others")
    if refusals or not (sets or removes or partitions):
        return None, refusals
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


def setting(key: str, values: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return a setting as a line `KEY: VALUE`, from `values`, else from `defaults`, else as `KEY: the default`."""
    if key in values:
        return human(key, values[key])
    return f"{human(key, defaults[key])}, by default" if key in defaults else f"{key}: the default"


def growth(topic: Mapping[str, Any], has: int, then: Mapping[str, str]) -> tuple[int, list[str]]:
    """Return (number of partitions to add to a topic, refusals); `has` is the present number of partitions.

    `then` are the settings after the change. Adding partitions may require `allow_more_partitions`; removing partitions
    is impossible.
    """
    declared = topic.get("partitions") or has
    if declared < has:
        return 0, [f"has {has} partitions, {declared} are declared, and Kafka cannot remove partitions; declare {has}"]
    if declared == has or topic.get("allow_more_partitions"):
        return declared - has, []
    why = "records with a key would go to other partitions, and their order would be lost"
    if "compact" in policies(then.get("cleanup.policy")):
        why = "it is compacted, and a key in two partitions would keep two values"
    advice = f"set allow_more_partitions: true to allow it, or declare {has}"
    return 0, [f"has {has} partitions, {declared} are declared: {why}; {advice}"]


def durability(factor: int, minimum: str | None) -> list[str]:
    """Return [] or a list with one refusal: min.insync.replicas is too high for a topic with `factor` replicas.

    A topic with several replicas must stay writable while one broker restarts. `minimum` is min.insync.replicas.
    """
    if minimum is None or int(minimum) < max(factor, 2):
        return []
    effect = "no record could be written" if int(minimum) > factor else "a restart of one broker would stop writes"
    return [
        f"min.insync.replicas {minimum} with {factor} replicas: {effect}; "
        f"set min.insync.replicas {max(1, factor - 1)}, or more replicas"
    ]


def losses(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    """Return the refusals of changes that could lose records which are safe now.

    `now` and `then` are {setting: value} before and after. Examples are a shorter retention and a lower
    min.insync.replicas.
    """
    wrong = []
    advice = "set allow_data_loss: true to allow it"
    for key in RETENTION:
        old, new = now.get(key, UNLIMITED), then.get(key, UNLIMITED)
        if int(new) < 0 or int(new) == LONGEST or "delete" not in policies(then.get("cleanup.policy", "delete")):
            continue
        if int(old) < 0 or int(new) < int(old):
            wrong.append(f"{human(key, old)} would become {without_name(key, new)}, and older records would be deleted")
    before, after = policies(now.get("cleanup.policy", "delete")), policies(then.get("cleanup.policy", "delete"))
    if after - before:
        becomes = f"{','.join(sorted(before))} would become {','.join(sorted(after))}"
        wrong.append(f"cleanup.policy {becomes}, and records that it keeps now would be deleted")
    key = "min.insync.replicas"
    if int(then.get(key, 1)) < int(now.get(key, 1)):
        becomes = f"{human(key, now[key])} would become {then.get(key, 1)}"
        wrong.append(f"{becomes}, and records that are on that few brokers could be lost")
    key = "unclean.leader.election.enable"
    if now.get(key, "false").lower() != "true" and then.get(key, "false").lower() == "true":
        wrong.append(f"{key}: false would become true, and a leader without all records could be elected")
    return [f"{text}; {advice}" for text in wrong]


def without_name(key: str, value: str) -> str:
    """Return the value of a setting in a readable unit, without the setting's name: `604800000 (7 d)`."""
    return human(key, value).partition(": ")[2]


def lines(partitions: int, factor: int, config: Mapping[str, str]) -> tuple[str, ...]:
    """Return a topic as lines: its number of partitions, its number of replicas (`factor`), and its settings."""
    settings = (human(key, value) for key, value in sorted(config.items()))
    return (f"partitions: {partitions}", f"replication_factor: {factor}", *settings)


def described(found: Found) -> tuple[str, ...]:
    """Return an existing topic as lines for a diff: numbers of partitions and replicas, and its own settings."""
    factor = max((len(replicas) for replicas in found.replicas), default=0)
    return lines(len(found.replicas), factor, found.dynamic)
