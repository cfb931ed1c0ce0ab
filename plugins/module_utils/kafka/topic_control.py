"""Plans and writes topics through the facade; brokers validate all changes before the first one is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import factors
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import (
    Change,
    Done,
    Look,
    PartlyWritten,
    Plan,
    Unsure,
    batches,
    carry_out,
    in_scope,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import moves, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.topics import (
    BATCH,
    MorePartitions,
    NewTopic,
    Settings,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Rack, unplaceable
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import Cluster, Found, diff

Declared = Sequence[Mapping[str, Any]]
Prune = Mapping[str, Any] | None


def read(
    admin: Admin, metadata: Metadata, wanted: Declared, prune: Prune, brokers: Mapping[int, Rack] | None = None
) -> Cluster:
    """Return the facts about the cluster that diff() (topics.py) needs: about declared topics and topics to be pruned.

    `wanted` are entries of kafka_topics, `prune` is kafka_prune, `brokers` is {declared broker: rack}. Raises
    AdminError if the cluster does not answer.
    """
    declared = {topic["name"]: topic for topic in wanted if topic.get("manage", True)}
    there = metadata.topics
    asked = sorted(name for name in there if name in declared or in_scope(name, (prune or {}).get("topics") or []))
    settings = topics.describe(admin, "TOPIC", asked or sorted(there)[:1])
    known = {key for found in settings.values() for key in found}
    found = {
        name: Found(replicas, {key: one.value or "" for key, one in settings.get(name, {}).items() if one.dynamic})
        for name, replicas in there.items()
    }
    present = {name: topic for name, topic in declared.items() if topic.get("state") != "absent"}
    placed = any(
        name not in there or (topic.get("partitions") or 0) > len(there[name]) for name, topic in present.items()
    )
    racks: dict[int, Rack] = topics.racks(admin, metadata.brokers) if placed else dict.fromkeys(metadata.brokers)
    odd = factors.differing(present.values(), there).keys()
    return Cluster(
        racks,
        found,
        topics.defaults(admin, metadata.brokers) if declared else {},
        known,
        unplaceable(brokers or {}, metadata.brokers, racks) if placed else [],
        odd & moves.moving(admin) if odd else set(),
    )


def plan(
    admin: Admin,
    metadata: Metadata,
    wanted: Declared,
    prune: Prune,
    brokers: Mapping[int, Rack] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Return the changes of topics, with the refusals of diff() and of the brokers; writes nothing.

    `wanted` are entries of kafka_topics, `brokers` is {declared broker: rack}. `warn` is called for topics that are not
    changed because their replicas are being moved. Raises AdminError if the cluster does not answer.
    """
    cluster = read(admin, metadata, wanted, prune, brokers)
    for name in sorted(cluster.moving):
        warn(f"topic {name}: is not changed, its replicas are being moved; run again afterwards")
    compared = diff(wanted, cluster, prune)
    rejected = validated(admin, compared.changes)
    return Plan(compared.changes, compared.unchanged, compared.unmanaged, [*compared.refusals, *rejected])


def validated(admin: Admin, changes: Sequence[Change]) -> list[str]:
    """Have brokers validate changes without making them; return one message for each topic that they reject.

    Raises AdminError if a request is not answered.
    """
    if any(change.verb == "create" or change.work["replicas"] for change in changes if change.verb != "delete"):
        admin.reach_controller()
    reasons: dict[str, str] = {}
    for write in (create, grow, configure):
        reasons |= write(admin, changes, True)
    return [f"topic {name}: {why}" for name, why in reasons.items()]


def create(admin: Admin, changes: Sequence[Change], validate_only: bool = False) -> dict[str, str]:
    """Create the new topics among `changes`, or only validate them; return {topic: why it failed}."""
    new = [NewTopic(one.name, one.work["replicas"], one.work["config"]) for one in changes if one.verb == "create"]
    return topics.create(admin, new, validate_only)


def grow(admin: Admin, changes: Sequence[Change], validate_only: bool = False) -> dict[str, str]:
    """Add the new partitions in `changes` to existing topics, or only validate this; return {topic: why it failed}."""
    more = [
        MorePartitions(one.name, one.work["total"], one.work["replicas"])
        for one in changes
        if one.verb == "update" and one.work["replicas"]
    ]
    return topics.grow(admin, more, validate_only)


def configure(admin: Admin, changes: Sequence[Change], validate_only: bool = False) -> dict[str, str]:
    """Write the settings of existing topics in `changes`, or only validate them; return {topic: why it failed}."""
    settings = [
        Settings(one.name, one.work["set"], one.work["remove"])
        for one in changes
        if one.verb == "update" and (one.work["set"] or one.work["remove"])
    ]
    return topics.configure(admin, settings, validate_only)


def apply(admin: Admin, changes: Sequence[Change], look: Look) -> Done:
    """Write changes in batches: new topics, then updates, then deletions; after a batch that failed, no other is tried.

    For changes whose write got no answer, `look` reads from the cluster whether they were made.
    """

    partly: list[Change] = []

    def update(batch: Sequence[Change]) -> dict[str, str]:
        failed = configure(admin, batch)
        more = grow(admin, [change for change in batch if change.name not in failed])
        for change in batch:
            if change.name in more and (change.work["set"] or change.work["remove"]):
                partly.append(change)
                why = more[change.name]
                written = f"its settings were written, but no partitions were added: {why}"
                more[change.name] = Unsure(why) if isinstance(why, Unsure) else PartlyWritten(written)
        return failed | more

    def delete(batch: Sequence[Change]) -> dict[str, str]:
        return topics.delete(admin, [change.name for change in batch])

    writers = {"create": lambda batch: create(admin, batch), "update": update, "delete": delete}
    steps = [
        (batch, write)
        for verb, write in writers.items()
        for batch in batches([change for change in changes if change.verb == verb], BATCH)
    ]
    outcome = carry_out(steps, look)
    return replace(outcome, done=[*outcome.done, *(one for one in partly if one not in outcome.done)])
