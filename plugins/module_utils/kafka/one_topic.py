"""What people do with one topic by hand: look at it, find a record, empty it, make it anew."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import human
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import groups, records, topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    WRITE,
    Admin,
    AdminError,
    Metadata,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.topics import NewTopic
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Ends, Place, described, milliseconds
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import THROTTLES

Said = Mapping[str, Any]
Result = dict[str, Any]


def places(said: Said, metadata: Metadata) -> list[Place]:
    """Return the partitions that are meant. Raises Refused where there are none."""
    topic = said["topic"]
    partitions = metadata.topics.get(topic)
    if partitions is None:
        near = [name for name in sorted(metadata.topics) if topic.lower() in name.lower()][:5]
        raise Refused(f"there is no topic {topic}" + (f"; there is {', '.join(near)}" if near else ""))
    if said["partition"] is not None and not 0 <= said["partition"] < len(partitions):
        raise Refused(f"topic {topic} has no partition {said['partition']}; it has 0 to {len(partitions) - 1}")
    numbers = range(len(partitions)) if said["partition"] is None else [said["partition"]]
    return [(topic, number) for number in numbers]


def describe(said: Said, admin: Admin, metadata: Metadata) -> Result:
    """Return partitions, settings, and what the topic takes of each disk."""
    meant = places(said, metadata)
    ends = groups.ends(admin, meant)
    settings = topics.describe(admin, "TOPIC", [said["topic"]])[said["topic"]]
    partitions = [
        {
            "partition": one.number,
            "leader": one.leader,
            "replicas": list(one.replicas),
            "isr": list(one.isr),
            "earliest": ends.earliest[one.topic, one.number],
            "latest": ends.latest[one.topic, one.number],
        }
        for one in metadata.partitions
        if (one.topic, one.number) in set(meant)
    ]
    config = [human(name, one.value) for name, one in sorted(settings.items()) if one.dynamic]
    return {"partitions": partitions, "config": config, "disks": records.sizes(admin, said["topic"])}


def lag(said: Said, admin: Admin, metadata: Metadata) -> Result:
    """Return how far behind the groups are that read the topic."""
    meant = places(said, metadata)
    found = groups.groups(admin, groups.names(admin))
    ends = groups.ends(admin, meant)
    rows = []
    for group in found.values():
        own = {place: offset for place, offset in group.offsets.items() if place in ends.latest}
        if own:
            rows.append(described(type(group)(group.name, group.state, group.members, own), ends))
    return {"groups": rows}


def find(said: Said, admin: Admin, metadata: Metadata) -> Result:
    """Return records by key, from an offset or from a time on. Raises Refused where nothing is said."""
    meant = places(said, metadata)
    if said["offset"] is not None and len(meant) > 1:
        raise Refused("an offset is one of a partition: say partition, too")
    if said["limit"] < 1:
        raise Refused(f"limit {said['limit']}: no record would be returned; say 1 or more")
    if all(said[name] is None for name in ("key", "offset", "timestamp")):
        raise Refused("say which record: key, offset (with partition) or timestamp")
    try:
        at = milliseconds(said["timestamp"]) if said["timestamp"] is not None else None
    except ValueError as error:
        raise Refused(f"timestamp {said['timestamp']}: {error}") from error
    ends = groups.ends(admin, meant, at)
    begin = {place: _begin(said, place, ends) for place in meant}
    key = None if said["key"] is None else said["key"].encode()
    found = records.read(admin, begin, ends.latest, lambda message: key is None or message.key() == key, said["limit"])
    return {"records": sorted(found, key=lambda one: (one["partition"], one["offset"]))}


def _begin(said: Said, place: Place, ends: Ends) -> int:
    if said["offset"] is not None:
        return int(min(max(said["offset"], ends.earliest[place]), ends.latest[place]))
    if said["timestamp"] is not None:
        return ends.at[place] if ends.at[place] >= 0 else ends.latest[place]
    return ends.earliest[place]


def confirmed(said: Said, what: str, check_mode: bool = False) -> None:
    """Refuse what deletes records, unless the topic's name is said once more; check mode writes nothing without it."""
    if said["topic"].startswith("_"):
        raise Refused(f"topic {said['topic']}: names that begin with _ are the cluster's own")
    if said["confirm"] != said["topic"] and not check_mode:
        raise Refused(f"topic {said['topic']}: {what}; say confirm={said['topic']} if that is meant")


def purge(said: Said, admin: Admin, metadata: Metadata, check_mode: bool) -> Result:
    """Delete all records that are there now. Raises Refused, AdminError, Unfinished."""
    meant = places(said, metadata)
    ends = groups.ends(admin, meant)
    counts = {place: ends.latest[place] - ends.earliest[place] for place in meant}
    number = sum(counts.values())
    confirmed(said, f"up to {number} records would be deleted", check_mode or not number)
    full = {place: ends.latest[place] for place, count in counts.items() if count}
    failed = records.delete(admin, full) if full and not check_mode else {}
    if failed:
        words = "; ".join(f"{name}: {why}" for name, why in failed.items())
        if len(failed) == len(full) and all(map(certain, failed.values())):
            raise AdminError(f"nothing was deleted: {words}")
        done = sum(count for (topic, one), count in counts.items() if f"{topic}-{one}" not in failed)
        left = "of the others records may be gone, too; run again when it is mended"
        raise Unfinished(f"{done} records were deleted; {words}; {left}", {"changed": True, "deleted": done})
    return {"changed": number > 0, "deleted": number}


REFUSALS = (
    "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TOPIC_DELETION_DISABLED",
    "POLICY_VIOLATION",
    "INVALID_REQUEST",
    "NOT_CONTROLLER",
)
"""Answers after which nothing was begun; after any other, a timeout above all, a delete may be under way."""


def certain(why: str) -> bool:
    """Tell whether an error of a broker means that nothing was deleted."""
    return why.endswith(tuple(f"({name})" for name in REFUSALS))


def lacking(name: str, metadata: Metadata) -> str:
    """Return why brokers could not delete a topic at once, '' where nothing keeps them from it."""
    wrong = []
    for one in metadata.partitions:
        if one.topic == name:
            wrong += [f"broker {broker} is not there" for broker in one.replicas if broker not in metadata.brokers]
            wrong += [
                f"broker {broker} is not in the ISR of {one}"
                for broker in one.replicas
                if broker in metadata.brokers and broker not in one.isr
            ]
    return ", ".join(dict.fromkeys(wrong))


def recreate(said: Said, admin: Admin, metadata: Metadata, check_mode: bool) -> Result:
    """Delete a topic and make it anew on the same brokers, with the same settings; ACLs stay. Raises as purge does.

    Only while each replica is there and in sync: without one of them the delete would wait for it, and the others'
    records be gone.
    """
    places({**said, "partition": None}, metadata)
    name = said["topic"]
    if said["partition"] is not None:
        raise Refused(f"topic {name}: a partition cannot be made anew, the whole topic would go; leave partition out")
    confirmed(said, "it would be deleted with all its records and what groups committed", check_mode)
    if wrong := lacking(name, metadata):
        raise Refused(f"topic {name}: {wrong}, so it could not be deleted as a whole; mend that first")
    replicas = metadata.topics[name]
    settings = topics.describe(admin, "TOPIC", [name])[name]
    config = {key: one.value or "" for key, one in settings.items() if one.dynamic and key not in THROTTLES}
    shown = ", ".join(f"{key}={value}" for key, value in sorted(config.items()))
    words = f"{len(replicas)} partitions, {shown or 'no settings'}"
    declared = {"name": name, "partitions": len(replicas), "replication_factor": len(replicas[0]), "config": config}
    result = {"changed": True, "made": words, "declaration": {**declared, "replicas": [list(ids) for ids in replicas]}}
    if check_mode:
        return result
    refused = topics.delete(admin, [name]).get(name, "")
    if refused and certain(refused):
        raise AdminError(f"nothing was changed: {refused}")
    deadline, tick = time.monotonic() + WRITE, threading.Event()
    while failed := topics.create(admin, [NewTopic(name, replicas, config)]):
        if time.monotonic() > deadline:
            deleted = f"its deletion may be under way ({refused})" if refused else "it was deleted"
            how = f"declare it as {json.dumps(declared)} in kafka_topics, and run resources.yml when it is gone"
            raise Unfinished(f"{deleted}, and it was not made anew: {failed[name]}; {how}", result)
        tick.wait(1)  # brokers still delete the old one
    return result
