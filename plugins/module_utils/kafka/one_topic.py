"""Operations of the module kafka_topic: describe a topic, find its records, purge or recreate the topic."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
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
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import (
    Ends,
    Place,
    described,
    milliseconds,
    shown,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused, Unfinished
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.topics import THROTTLES

Options = Mapping[str, Any]
Result = dict[str, Any]


def places(options: Options, metadata: Metadata) -> list[Place]:
    """Return the (topic, partition) pairs that the options `topic` and `partition` select.

    Raises Refused if the topic or the partition does not exist.
    """
    topic = options["topic"]
    partitions = metadata.topics.get(topic)
    if partitions is None:
        near = [name for name in sorted(metadata.topics) if topic.lower() in name.lower()][:5]
        raise Refused(f"there is no topic {topic}" + (f"; did you mean {', '.join(near)}?" if near else ""))
    if options["partition"] is not None and not 0 <= options["partition"] < len(partitions):
        raise Refused(f"topic {topic} has no partition {options['partition']}; use 0 to {len(partitions) - 1}")
    numbers = range(len(partitions)) if options["partition"] is None else [options["partition"]]
    return [(topic, number) for number in numbers]


def led(selected: Collection[Place], metadata: Metadata) -> list[Place]:
    """Return those of the partitions `selected` that have a leader; the others report no offsets."""
    without = {(one.topic, one.number) for one in metadata.partitions if one.leader not in metadata.brokers}
    return [place for place in selected if place not in without]


def describe(options: Options, admin: Admin, metadata: Metadata) -> Result:
    """Return {partitions, config, disks} of the topic in the options.

    `partitions`: the selected partitions; the offsets of one without a leader are None. `config`: the topic's own
    settings. `disks`: its bytes in each log dir.
    Raises Refused if the topic or the partition does not exist.
    """
    selected = places(options, metadata)
    ends = groups.ends(admin, led(selected, metadata))
    settings = topics.describe(admin, "TOPIC", [options["topic"]])[options["topic"]]
    partitions = [
        {
            "partition": one.number,
            "leader": one.leader,
            "replicas": list(one.replicas),
            "isr": list(one.isr),
            "offline": [broker for broker in one.replicas if broker not in metadata.brokers],
            "earliest": ends.earliest.get((one.topic, one.number)),
            "latest": ends.latest.get((one.topic, one.number)),
        }
        for one in metadata.partitions
        if (one.topic, one.number) in set(selected)
    ]
    config = [human(name, one.value) for name, one in sorted(settings.items()) if one.dynamic]
    return {"partitions": partitions, "config": config, "disks": records.sizes(admin, options["topic"])}


def lag(options: Options, admin: Admin, metadata: Metadata) -> Result:
    """Return {'groups': consumer groups that read the selected partitions, each with its lag by partition}.

    A group reads a partition if it has a committed offset there, or a member to which the partition is assigned. This
    member is in the row of the partition; without a committed offset, `offset` and `lag` of the row are None. Without a
    leader, `end` and `lag` of a partition are None.
    """
    selected = set(places(options, metadata))
    found = groups.groups(admin, groups.names(admin))
    ends = groups.ends(admin, led(sorted(selected), metadata))
    rows = []
    for group in found.values():
        own = {place: offset for place, offset in group.offsets.items() if place in selected}
        readers = {place: member for member in group.members for place in member["assigned"] if place in selected}
        if own or readers:
            row = described(replace(group, offsets=own), ends)
            for topic, number in readers.keys() - own.keys():
                end = ends.latest.get((topic, number))
                row["partitions"].append({"topic": topic, "partition": number, "offset": None, "end": end, "lag": None})
            row["partitions"].sort(key=lambda one: (one["topic"], one["partition"]))
            for one in row["partitions"]:
                reader = readers.get((one["topic"], one["partition"]))
                one["member"] = shown(reader) if reader else None
            rows.append(row)
    return {"groups": rows}


def find(options: Options, admin: Admin, metadata: Metadata) -> Result:
    """Return {'records': at most `limit` records}, selected by the options key, offset and timestamp.

    Raises Refused if none of these three options is set, or if an option is invalid.
    """
    selected = places(options, metadata)
    if options["offset"] is not None and len(selected) > 1:
        raise Refused("offset requires a partition; set partition, too")
    if options["limit"] < 1:
        raise Refused(f"limit {options['limit']}: no record would be returned; set 1 or more")
    if all(options[name] is None for name in ("key", "offset", "timestamp")):
        raise Refused("no record is selected; set key, offset (with partition) or timestamp")
    try:
        at = milliseconds(options["timestamp"]) if options["timestamp"] is not None else None
    except ValueError as error:
        raise Refused(f"timestamp {options['timestamp']}: {error}") from error
    ends = groups.ends(admin, selected, at)
    begin = {place: _begin(options, place, ends) for place in selected}
    key = None if options["key"] is None else options["key"].encode()
    found = records.read(
        admin, begin, ends.latest, lambda message: key is None or message.key() == key, options["limit"]
    )
    return {"records": sorted(found, key=lambda record: (record["partition"], record["offset"]))}


def _begin(options: Options, place: Place, ends: Ends) -> int:
    """Return the offset at which reading begins: from the option offset or timestamp, else the first offset."""
    if options["offset"] is not None:
        return int(min(max(options["offset"], ends.earliest[place]), ends.latest[place]))
    if options["timestamp"] is not None:
        return ends.at[place] if ends.at[place] >= 0 else ends.latest[place]
    return ends.earliest[place]


def confirmed(options: Options, what: str, check_mode: bool = False) -> None:
    """Raise Refused unless the option `confirm` is the name of the topic; `what` is the effect, for the message.

    With `check_mode`, no confirmation is needed. Internal topics are always refused.
    """
    if options["topic"].startswith("_"):
        raise Refused(f"topic {options['topic']}: is internal, as all names that begin with _; it cannot be deleted")
    if options["confirm"] != options["topic"] and not check_mode:
        raise Refused(f"topic {options['topic']}: {what}; set confirm={options['topic']} to do it")


def purge(options: Options, admin: Admin, metadata: Metadata, check_mode: bool) -> Result:
    """Delete all present records of the selected partitions; return {'changed', 'deleted': number of records}.

    Raises Refused before anything is deleted, AdminError if the request failed and nothing was deleted, and Unfinished
    if some records were deleted, or may have been.
    """
    selected = places(options, metadata)
    ends = groups.ends(admin, selected)
    counts = {place: ends.latest[place] - ends.earliest[place] for place in selected}
    number = sum(counts.values())
    confirmed(options, f"up to {number} records would be deleted", check_mode or not number)
    full = {place: ends.latest[place] for place, count in counts.items() if count}
    failed = records.delete(admin, full) if full and not check_mode else {}
    if failed:
        reasons = "; ".join(f"{name}: {why}" for name, why in failed.items())
        if len(failed) == len(full) and all(map(certain, failed.values())):
            raise AdminError(f"nothing was deleted: {reasons}")
        done = sum(count for (topic, one), count in counts.items() if f"{topic}-{one}" not in failed)
        left = "records of these partitions may be deleted, too; correct the cause and run again"
        raise Unfinished(f"{done} records were deleted; {reasons}; {left}", {"changed": True, "deleted": done})
    return {"changed": number > 0, "deleted": number}


REFUSALS = (
    "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TOPIC_DELETION_DISABLED",
    "POLICY_VIOLATION",
    "INVALID_REQUEST",
    "NOT_CONTROLLER",
)
"""Errors after which nothing was deleted; after any other error, above all a timeout, a deletion may be in progress."""


def certain(why: str) -> bool:
    """Tell whether `why`, the error of a broker that should delete records, means that nothing was deleted."""
    return why.endswith(tuple(f"({name})" for name in REFUSALS))


def undeletable(name: str, metadata: Metadata) -> str:
    """Return why brokers could not delete a topic at once: replicas that are down or out of sync; '' if they could."""
    reasons = []
    for one in metadata.partitions:
        if one.topic == name:
            reasons += [f"broker {broker} is down" for broker in one.replicas if broker not in metadata.brokers]
            reasons += [
                f"broker {broker} is not in the ISR of {one}"
                for broker in one.replicas
                if broker in metadata.brokers and broker not in one.isr
            ]
    return ", ".join(dict.fromkeys(reasons))


def recreate(options: Options, admin: Admin, metadata: Metadata, check_mode: bool) -> Result:
    """Delete a topic and create it again on the same brokers, with the same settings; ACLs stay.

    Each replica has to be in sync: otherwise Kafka deletes the other replicas, and waits for the replica out of sync.
    Raises Refused before anything is changed, AdminError if the request failed and nothing was changed, and Unfinished
    if the topic was not created again.
    """
    places({**options, "partition": None}, metadata)
    name = options["topic"]
    if options["partition"] is not None:
        raise Refused(f"topic {name}: only a whole topic can be recreated; remove partition")
    confirmed(options, "it would be deleted with all its records and committed offsets", check_mode)
    if why := undeletable(name, metadata):
        raise Refused(f"topic {name}: {why}, so it could not be deleted completely; correct that first")
    replicas = metadata.topics[name]
    settings = topics.describe(admin, "TOPIC", [name])[name]
    config = {key: one.value or "" for key, one in settings.items() if one.dynamic and key not in THROTTLES}
    pairs = ", ".join(f"{key}={value}" for key, value in sorted(config.items()))
    made = f"{len(replicas)} partitions, {pairs or 'no settings'}"
    declared = {"name": name, "partitions": len(replicas), "replication_factor": len(replicas[0]), "config": config}
    result = {"changed": True, "made": made, "declaration": {**declared, "replicas": [list(ids) for ids in replicas]}}
    if check_mode:
        return result
    refused = topics.delete(admin, [name]).get(name, "")
    if refused and certain(refused):
        raise AdminError(f"nothing was changed: {refused}")
    deadline, tick = time.monotonic() + WRITE, threading.Event()
    while failed := topics.create(admin, [NewTopic(name, replicas, config)]):
        if time.monotonic() > deadline:
            deleted = f"its deletion may be in progress ({refused})" if refused else "it was deleted"
            how = f"declare it as {json.dumps(declared)} in kafka_topics, and run resources.yml when it is deleted"
            raise Unfinished(f"{deleted}, but it was not created again: {failed[name]}; {how}", result)
        tick.wait(1)  # brokers are still deleting the old one
    return result
