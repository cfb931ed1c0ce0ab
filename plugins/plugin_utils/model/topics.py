"""Rules on topics: names, profiles, properties, what deletes records, and the loss that their replicas survive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import STRETCHED, Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_limits import limit
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.replication import (
    MIN_ISRS,
    TOPICS,
    goes_on,
    settings,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import (
    most_in_one_rack,
    most_replicas,
    neither,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import DEFAULTS, Topic, once, topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import slip
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import seconds, tiny, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.amounts import units_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.topics import mapping, profiles

# Topic.LEGAL_CHARS and Topic.MAX_NAME_LENGTH of org.apache.kafka.common.internals.
NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
# Kafka's own topics.
INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
# Where Schema Registry, Connect and MirrorMaker keep what they know, by their usual names.
KEPT = re.compile(
    r"(?P<single>_schemas|(?:.*[._-])?(?:connect|mm2)-configs?(?:\..*)?)"
    r"|(?:.*[._-])?(?:connect|mm2)-(?:offsets?|status|offset-syncs)(?:\..*)?|.*\.checkpoints\.internal"
)
POLICY = "cleanup.policy"
THROTTLES = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
SPANS = ("retention.ms", "local.retention.ms", "segment.ms", "delete.retention.ms", "max.compaction.lag.ms")
TINY = ("retention.ms", "local.retention.ms", "segment.ms")
# What topics say for remote storage alone, and the least of an index, with which a segment ends before it is full.
REMOTE, LOCAL = "remote.storage.enable", ("local.retention.ms", "local.retention.bytes")
INDEX, LEAST_INDEX = "segment.index.bytes", 2**16
MESSAGE = "max.message.bytes"
# What has to hold a topic's largest batch: a property of brokers, one of topics that goes before it, what comes of it.
HOLDING = (
    ("socket.request.max.bytes", "", "a batch comes in one request, and brokers end the connection of a larger one"),
    ("log.segment.bytes", "segment.bytes", "a batch has to fit into a segment: larger ones are refused"),
)
MOST_PARTITIONS = 2**31 - 1
MANY_PARTITIONS = 10_000
MARGIN, ACCEPTS = "kafka_restart_margin", "kafka_restart_accepts"


def topic_names(model: Model) -> Iterator[Problem]:
    """Every topic has a name that Kafka takes, of its own, and is none of Kafka's."""
    where, seen, plain = names(model.brokers), set[str](), dict[str, str]()
    for topic in topics_of(model):
        name, place = topic.name, topic.variable
        if not NAME.fullmatch(name) or name in (".", ".."):
            wrong = "no topic can have this name: up to 249 letters, figures, . _ and -"
            yield Problem(where, f"{place}.name", "TOPIC_NAME", name, wrong, "correct the name")
            continue
        other = plain.setdefault(name.replace(".", "_"), name)
        if name in seen:
            yield Problem(where, place, "TOPIC_DUPLICATE", None, "declared twice", "keep one of the two")
        elif other != name:
            wrong = f"the same as {other} in the names of metrics, where . becomes _, and Kafka refuses the second"
            yield Problem(where, place, "TOPIC_COLLISION", None, wrong, "use either . or _ in names of topics")
        seen.add(name)
        if topic.managed and name in INTERNAL:
            wrong, advice = "Kafka's own topic, which the brokers make and keep", "take it out"
            yield Problem(where, place, "TOPIC_INTERNAL", None, wrong, advice)
        elif topic.made and (kept := KEPT.fullmatch(name)):
            single = kept["single"] is not None and whole(topic.get("partitions")) != 1
            if topic.policy != {"compact"} or single:
                wrong = "another product keeps its state there, and would lose it"
                needed = "cleanup.policy: compact" + (" and partitions: 1" if kept["single"] else "")
                yield Problem(
                    where, place, "TOPIC_STATE", None, wrong, f"declare it with {needed}, or let that make it"
                )
        elif topic.managed and name.startswith("_"):
            wrong = "names that begin so are those of products' own topics, which they make and keep"
            advice = "give another name, or say manage: false"
            yield Problem(where, place, "TOPIC_UNDERSCORE", None, wrong, advice)


def shapes(model: Model) -> Iterator[Problem]:
    """Every topic has partitions, and a profile that there is."""
    where = names(model.brokers)
    for topic in (one for one in topics_of(model) if one.made):
        value = topic.get("partitions")
        number, place = whole(value), topic.place("partitions")
        if value is None:
            advice = f"say partitions, or {DEFAULTS}: {{partitions: 6}} for all topics"
            yield Problem(where, place, "TOPIC_PARTITIONS", None, "nobody says how many", advice)
        elif number is not None and not 0 < number <= MOST_PARTITIONS:
            yield Problem(where, place, "TOPIC_PARTITIONS", value, "no topic has so many", "use 1 at least")
        elif number is not None and number > MANY_PARTITIONS:
            wrong = "each is a folder, open files and a leader to elect, and there is no way back to fewer"
            yield Problem(where, place, "TOPIC_PARTITIONS", value, wrong, "use fewer", warning=True)
    said = [(topic.variable, topic.said) for topic in topics_of(model)]
    defaults = [(DEFAULTS, broker.inputs.mapping(DEFAULTS)) for broker in model.brokers[:1]]
    for place, entry in [*defaults, *said]:
        profile = entry.get("profile")
        if isinstance(profile, str) and profile and profile not in profiles():
            near = nearest(profile, profiles())
            advice = f"did you mean {near}?" if near else f"one of {', '.join(profiles())}"
            yield Problem(where, f"{place}.profile", "TOPIC_PROFILE", profile, "there is no such profile", advice)


def properties(model: Model) -> Iterator[Problem]:
    """Properties of topics are those of that Kafka, with values that it takes."""
    found = (problem for topic in topics_of(model) if topic.made for problem in _properties(model, topic))
    yield from once(found)


def _properties(model: Model, topic: Topic) -> Iterator[Problem]:
    first, where = model.brokers[0], names(model.brokers)
    definitions = Definitions.load("kafka", str(first.inputs.get("kafka_version")))
    known = {str(name) for name in first.inputs.sequence("known_properties")}
    config = {name: value for name, value in topic.config.items() if name not in known}
    for finding in definitions.judge("topic", config):
        kind = "UNKNOWN" if finding.kind == "unknown" else "VALUE"
        units = units_of(finding.name) if kind == "VALUE" else {}
        advice = f"write a number, or one with {', '.join(units)}" if units else finding.advice
        shown = topic.written.get(finding.name) if finding.shown is not None else None
        place = topic.property_place(finding.name)
        yield Problem(where, place, f"TOPIC_PROPERTY_{kind}", shown, finding.wrong, advice)
    yield from _policies(where, topic)
    yield from _idle(where, topic)
    for name in SPANS:
        shown = topic.written.get(name)
        if name in TINY and tiny(shown):
            wrong, place = "milliseconds, less than a second", topic.property_place(name)
            yield Problem(where, place, "TOPIC_TIME_MEANT", shown, wrong, f"write {shown}d if days were meant")
        if meant := seconds(shown):
            wrong = f"milliseconds, and as seconds it would be {meant}"
            advice, place = f"write {meant} if seconds were meant, or {shown}ms", topic.property_place(name)
            yield Problem(where, place, "TOPIC_TIME_MEANT", shown, wrong, advice)
    for name in THROTTLES:
        if name in config:
            wrong = "belongs to a move of replicas, which sets and removes it"
            yield Problem(where, topic.property_place(name), "TOPIC_THROTTLED", config[name], wrong, "take it out")
    if str(config.get("unclean.leader.election.enable")).lower() == "true":
        wrong = "a replica that lags may become leader, and acknowledged records are lost"
        place, advice = topic.property_place("unclean.leader.election.enable"), "leave it out"
        yield Problem(where, place, "TOPIC_UNCLEAN", True, wrong, advice)


def _idle(where: tuple[str, ...], topic: Topic) -> Iterator[Problem]:
    """Nothing is said that does nothing, or undoes what else is said."""
    for name in LOCAL if switch(topic.config.get(REMOTE)) is not True else ():
        if name in topic.config and topic.config[name] is not None:
            wrong, place = f"does nothing without {REMOTE}: true", topic.property_place(name)
            advice = f"use {name.removeprefix('local.')}, or set {REMOTE}"
            yield Problem(where, place, "TOPIC_RETENTION", topic.written.get(name), wrong, advice, warning=True)
    number = topic.number(INDEX) if INDEX in topic.config else None
    if number is not None and 4 <= number < LEAST_INDEX:
        wrong = (
            f"its index is full after {number // 8 * 4} KiB, and the segment ends there, whatever segment.bytes says"
        )
        place, shown = topic.property_place(INDEX), topic.written.get(INDEX)
        yield Problem(where, place, "TOPIC_INDEX_SMALL", shown, wrong, "leave it out: 10MiB", warning=True)


def _policies(where: tuple[str, ...], topic: Topic) -> Iterator[Problem]:
    """A topic has a policy, and each once: a broker keeps everything for ever under none."""
    given = [item.strip() for item in text_of(topic.config.get(POLICY, "delete")).split(",")]
    if not any(given) or len(given) > len(topic.policy):
        wrong = "named twice" if any(given) else "no policy: nothing would ever be deleted"
        shown, advice = topic.written[POLICY], "write delete, compact, or [compact, delete]"
        yield Problem(where, topic.property_place(POLICY), "TOPIC_POLICY_NONE", shown, wrong, advice)


def contradictions(model: Model) -> Iterator[Problem]:
    """What a topic says fits together."""
    where = names(model.brokers)
    for topic in topics_of(model):
        if topic.said.get("state") == "absent" and not topic.managed:
            wrong = "state: absent deletes it, and manage: false says that it is never touched"
            yield Problem(where, topic.variable, "TOPIC_CONTRADICTION", None, wrong, "keep one of the two")
        elif topic.said.get("state") == "absent" and switch(topic.said.get("allow_delete")) is not True:
            wrong, advice = "its records would be deleted with it", "say allow_delete: true if that is meant"
            yield Problem(where, topic.variable, "TOPIC_DELETE", "absent", wrong, advice)
        if not topic.made:
            continue
        least, most = topic.number("min.compaction.lag.ms"), topic.number("max.compaction.lag.ms")
        if least is not None and most is not None and least > most:
            pair = ("min.compaction.lag.ms", "max.compaction.lag.ms")
            name = topic.own_of(*pair)
            other, than = (pair[1], "more") if name == pair[0] else (pair[0], "less")
            place, shown = topic.property_place(name), topic.written[name]
            wrong = f"{than} than {other} ({topic.written[other]}), and Kafka refuses it"
            yield Problem(where, place, "TOPIC_CONTRADICTION", shown, wrong, "correct one of the two")
        yield from _held(model, topic)
        yield from _retention(where, topic)
        yield from _keyless(where, topic)


def _held(model: Model, topic: Topic) -> Iterator[Problem]:
    """The largest batch of a topic fits into a request, and into a segment."""
    said = MESSAGE if MESSAGE in topic.config else None
    largest = topic.number(MESSAGE) if said else max(limit(broker, "message.max.bytes") for broker in model.brokers)
    for name, holder, wrong in HOLDING:
        own = holder in topic.config
        most = topic.number(holder) if own else min(limit(broker, name) for broker in model.brokers)
        if largest is None or most is None or largest <= most or not (own or said):
            continue
        which = topic.own_of(said, holder) if said and own else said or holder
        place, shown = topic.property_place(which), topic.written[which]
        told = f"{holder if own else name} is {most}" if said else f"message.max.bytes is {largest}"
        told = f"{said} is {largest}" if said and which != said else told
        if not place.endswith("]"):  # a profile's
            told, shown = f"{told}, and {which} {largest if which == said else most}", topic.get("profile")
        yield Problem(
            names(model.brokers),
            place,
            "TOPIC_MESSAGE",
            shown,
            f"{wrong} ({told})",
            "correct one of the two",
            warning=not said,  # nobody may write what Kafka lets in by default
        )


def _retention(where: tuple[str, ...], topic: Topic) -> Iterator[Problem]:
    """What is deleted is whole segments."""
    for unit, default, kept in (("ms", 604_800_000, "longer"), ("bytes", 2**30, "more")):
        name, segment = f"retention.{unit}", f"segment.{unit}"
        limit, size = topic.number(name), topic.number(segment) if segment in topic.config else default
        if name not in topic.config or limit is None or limit < 0 or size is None:
            continue
        said: dict[str, Any] = {"place": topic.property_place(name), "shown": topic.written[name]}
        if "delete" not in topic.policy:
            if name in mapping(topic.said.get("config")):
                wrong = "does nothing: cleanup.policy compact deletes by key alone"
                advice = "take it out, or use cleanup.policy [compact, delete]"
                yield _warned(where, said, wrong, advice)
        elif limit < size and not (seconds(topic.written[name]) or (name in TINY and limit < 1000)):
            shown = topic.written.get(segment, default)
            wrong = f"less than {segment} ({shown}), and whole segments are deleted: {kept} is kept than this says"
            advice = f"set {segment} to {topic.written[name]} or less, too"
            if segment in topic.config and topic.own_of(name, segment) == segment:
                said = {"place": topic.property_place(segment), "shown": shown}
                wrong = f"more than {name} ({topic.written[name]}), and whole segments are deleted: {kept} is kept"
                advice = f"set it to {topic.written[name]} or less"
            yield _warned(where, said, wrong, advice)


def _warned(where: tuple[str, ...], said: dict[str, Any], wrong: str, advice: str) -> Problem:
    return Problem(where, said["place"], "TOPIC_RETENTION", said["shown"], wrong, advice, warning=True)


def _keyless(where: tuple[str, ...], topic: Topic) -> Iterator[Problem]:
    """A profile keeps its policy: whether records need keys stands on it."""
    profile = profiles().get(str(topic.get("profile")))
    meant = str(profile["config"]["cleanup.policy"]) if profile else ""
    if topic.said.get("profile") is None and POLICY in mapping(topic.said.get("config")):
        return  # the topic's own word goes before what is usual
    if meant and ("compact" in topic.policy) != (meant == "compact"):
        keyed = "compacted, so every record needs a key, and records of the profile have none"
        wrong = keyed if meant == "delete" else "not compacted, and the profile is for the newest value of each key"
        advice = "use profile compacted_state" if meant == "delete" else "use another profile"
        place, shown = topic.property_place("cleanup.policy"), ", ".join(sorted(topic.policy))
        yield Problem(where, place, "TOPIC_POLICY", shown, wrong, advice, warning=True)


def replicas(model: Model) -> Iterator[Problem]:
    """Replicas fit the brokers, writes go on without one of them, and so do acknowledged records."""
    found = (problem for topic in _own(model) for problem in (*_factor(model, topic), *_least(model, topic)))
    yield from once(found)


def losses(model: Model) -> Iterator[Problem]:
    """A topic survives the loss of a rack or a datacenter as the layout promises."""
    found = (problem for topic in _own(model) for problem in _losses(model, topic))
    yield from once(found)


def restart_margin(model: Model) -> Iterator[Problem]:
    """While a broker is restarted, as many replicas stay as the gate wants: else it never opens, and every run ends."""
    margin = model.brokers[0].inputs.whole(MARGIN) if model.brokers else None
    if not margin or margin < 1:
        return
    found = [(topic.name, topic.replicas, topic.least_in_sync) for topic in topics_of(model) if topic.made]
    said = settings(model.brokers[0])
    every = [("", said[TOPICS].value, said[MIN_ISRS[0]].value), *found]
    for name, factor, least in every:
        if factor is None or least is None or not least < factor <= len(model.brokers):
            continue  # said by replicas, and of the cluster by replication
        if factor - 1 < least + margin and not _accepted(model, name):
            whose = f"topic {name} has" if name else "topics have"
            wrong = (
                f"{whose} {factor} replicas, of which a restart leaves {factor - 1}, and min.insync.replicas with "
                f"this are {least + margin}: no broker would ever be restarted"
            )
            advice = f"use {factor - 1 - least}, or replicate {least + margin + 1} times"
            yield Problem(names(model.brokers), MARGIN, "RESTART_MARGIN", margin, wrong, advice)
            return  # one is enough to say it


def accepted(model: Model) -> Iterator[Problem]:
    """What may stand still in a restart is there, or somebody else makes it: a name that fits no topic is a warning."""
    known = [topic.name for topic in topics_of(model) if topic.said.get("state") != "absent"]
    for name in model.brokers[0].inputs.sequence(ACCEPTS) if model.brokers and known else ():
        if isinstance(name, str) and not name.startswith("_") and not any(fnmatchcase(topic, name) for topic in known):
            near = slip(name, known)
            wrong = "no topic of kafka_topics, so nothing is accepted by it"
            advice = f"did you mean {near}?" if near else "correct the name, or take it out"
            yield Problem(names(model.brokers), ACCEPTS, "RESTART_ACCEPTS", name, wrong, advice, warning=True)


def _accepted(model: Model, name: str) -> bool:
    """Tell whether a topic may stand still while a broker is restarted."""
    return any(fnmatchcase(name, str(one)) for one in model.brokers[0].inputs.sequence(ACCEPTS))


def _own(model: Model) -> list[Topic]:
    """Return the topics that differ from the cluster, which is judged by itself."""
    return [
        topic for topic in topics_of(model) if topic.made and (topic.replicas, topic.least_in_sync) != topic.cluster
    ]


def _place(topic: Topic) -> tuple[str, Any, str]:
    """Return where it is decided how many replicas have a record, what is said there, and how advice begins.

    That is min.insync.replicas, unless it follows from the replicas, or the topic says of the two only how many.
    """
    name, factor = MIN_ISRS[0], topic.replicas
    if name in topic.config and topic.get("replication_factor") is None and _of_profile(topic):
        place = topic.property_place(name)  # the replicas are the cluster's: nobody says them of the topic
        said = topic.said.get("profile") if place.startswith(topic.variable) else topic.defaults.get("profile")
        return place, said, f"set config[{name}] to"
    if name in topic.config and whole(topic.written.get(name)) is not None:
        place = topic.property_place(name)
        if topic.said.get("replication_factor") is None or place.startswith(topic.variable):
            return place, topic.least_in_sync, "use"
    return topic.place("replication_factor"), factor, f"set {name} to"


def _of_profile(topic: Topic) -> bool:
    """Tell whether a profile says how many replicas are in sync, and no number."""
    name = MIN_ISRS[0]
    return topic.property_place(name).endswith(".profile") and whole(topic.written.get(name)) is None


def _asked(topic: Topic, use: str) -> str:
    """Return what a profile asks for, where that is said of it and is not what the cluster says."""
    if not use.startswith("set config[") or topic.least_in_sync == topic.cluster[1]:
        return ""
    wrong = f"it asks for {topic.least_in_sync} of {topic.replicas} replicas in sync, whatever "
    return f"{wrong}kafka_min_insync_replicas ({topic.cluster[1]}) says: "


def _factor(model: Model, topic: Topic) -> Iterator[Problem]:
    where, brokers, factor = names(model.brokers), len(model.brokers), topic.replicas
    place = topic.place("replication_factor")
    if factor is None:
        return
    if factor < 1:
        wrong = "no topic is without a replica"
        yield Problem(where, place, "TOPIC_REPLICATION_TOO_HIGH", factor, wrong, f"use 3, or {brokers} at most")
    elif factor > brokers:
        wrong = f"more replicas than the {brokers} brokers"
        advice = f"use {brokers} at most, or add brokers"
        yield Problem(where, place, "TOPIC_REPLICATION_TOO_HIGH", factor, wrong, advice)
    elif factor == 1 and brokers > 1:
        wrong = "one copy: a lost disk loses acknowledged records"
        warning = model.brokers[0].available or _accepted(model, topic.name)
        yield Problem(where, place, "TOPIC_REPLICATION_ONE", factor, wrong, "use 3", warning=warning)


def _least(model: Model, topic: Topic) -> Iterator[Problem]:
    where, least, factor = names(model.brokers), topic.least_in_sync, topic.replicas
    place, value, use = _place(topic)
    if least is None or factor is None or factor < 2:
        return
    if least > factor:
        wrong = f"more than the {factor} replicas there are: Kafka would cap it in silence"
        wrong = wrong if use == "use" else f"min.insync.replicas is {least}, {wrong}"
        yield Problem(where, place, "TOPIC_MIN_ISR_TOO_HIGH", value, wrong, f"{use} {factor - 1}")
    elif least == factor:
        wrong = "one broker down stops all writes with acks=all"
        advice = f"{use} {factor - 1}" if factor > 2 else "replicate 3 times"
        warning = _accepted(model, topic.name)
        yield Problem(where, place, "TOPIC_MIN_ISR_EQUAL", value, wrong, advice, warning=warning)
    elif least == 1:
        wrong = "a record is acknowledged when one broker has it, and is lost with that broker"
        advice = f"{use} 2 at least" if factor > 2 else "replicate 3 times"
        warning = model.brokers[0].available
        yield Problem(where, place, "TOPIC_MIN_ISR_ONE", value, wrong, advice, warning=warning)


def _losses(model: Model, topic: Topic) -> Iterator[Problem]:
    least, factor = topic.least_in_sync, topic.replicas
    if least is None or factor is None or not 1 < least < factor <= len(model.brokers):
        return  # said by replicas
    where, racks = names(model.brokers), model.layout not in STRETCHED
    place, value, use = _place(topic)
    if racks:
        most = most_in_one_rack(model, factor)
        if most is not None and factor - most < least:
            wrong = f"{_asked(topic, use)}a rack has up to {most} of its {factor} replicas: with it, writes stop"
            advice = f"{use} {factor - most}, or more racks" if factor - most > 1 else "use more racks"
            yield Problem(where, place, "TOPIC_RACK_LOSS", value, wrong, advice, warning=True)
        return
    most = most_replicas(model, factor) if len(datacenters(model.brokers)) > 1 else None
    both = None
    if most is not None and model.layout == "stretch3" and not model.brokers[0].available:
        both = neither(model, factor)
    if both and most is not None:
        code = "TOPIC_DATACENTER_LOSS" if least <= most else "TOPIC_DATACENTER_STOPS"
        if topic.get("replication_factor") is not None:  # else said of the cluster
            yield Problem(where, topic.place("replication_factor"), code, factor, *both)
        return
    if most is not None and least <= most:
        wrong = f"up to {most} of its {factor} replicas are in one datacenter: losing it can lose acknowledged records"
        warning = model.brokers[0].available
        needed = "" if most + 1 < factor else f" with {2 * most} replicas"
        advice = f"{use} {most + 1} or more{needed}"
        advice += "; promise: available takes it so" if warning else ", or declare promise: available"
        yield Problem(where, place, "TOPIC_DATACENTER_LOSS", value, wrong, advice, warning=warning)
    if most is not None and goes_on(model) and least > factor - most:
        left = factor - most
        wrong = f"{_asked(topic, use)}with a datacenter {left} of its {factor} replicas remain, and writes stop; "
        wrong += f"{'the layout' if model.layout == 'stretch3' else 'promise: available'} promises to go on"
        yield Problem(where, place, "TOPIC_DATACENTER_STOPS", value, wrong, f"{use} {left}")
