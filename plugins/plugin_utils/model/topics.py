"""Checks kafka_topics: names, partitions, profiles, properties, and settings that delete records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.definitions import Definitions, nearest
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.broker_limits import MOST_INT, limit
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import (
    DEFAULTS,
    Topic,
    distinct,
    topics_of,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import seconds, tiny, whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.amounts import units_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.topics import mapping, profiles

# Topic.LEGAL_CHARS and Topic.MAX_NAME_LENGTH of org.apache.kafka.common.internals.
VALID_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
# Topics that brokers create for themselves.
INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
# The usual names of the topics in which Schema Registry, Connect and MirrorMaker keep their state.
STATE_TOPIC = re.compile(
    r"(?P<single>_schemas|(?:.*[._-])?(?:connect|mm2)-configs?(?:\..*)?)"
    r"|(?:.*[._-])?(?:connect|mm2)-(?:offsets?|status|offset-syncs)(?:\..*)?|.*\.checkpoints\.internal"
)
POLICIES = {"compact", "delete"}
POLICY, UNCLEAN = "cleanup.policy", "unclean.leader.election.enable"
THROTTLES = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
DURATIONS = ("retention.ms", "local.retention.ms", "segment.ms", "delete.retention.ms", "max.compaction.lag.ms")
# Durations that make no sense below one second.
TINY = ("retention.ms", "local.retention.ms", "segment.ms")
# Properties that need remote storage, and the smallest index that does not end segments before they are full.
REMOTE, LOCAL = "remote.storage.enable", ("local.retention.ms", "local.retention.bytes")
INDEX, LEAST_INDEX = "segment.index.bytes", 2**16
MESSAGE = "max.message.bytes"
MOST_PARTITIONS = 2**31 - 1
MANY_PARTITIONS = 10_000

TOPIC_NAME = ProblemKind(
    "TOPIC_NAME", "no topic can have this name: at most 249 letters, digits, . _ and -", "correct the name"
)
TOPIC_DUPLICATE = ProblemKind("TOPIC_DUPLICATE", "declared twice", "keep one of the two")
TOPIC_COLLISION = ProblemKind(
    "TOPIC_COLLISION",
    "has the same metric name as {other}, because metrics replace . by _: Kafka rejects the second topic",
    "use either . or _ in names of topics",
)
TOPIC_INTERNAL = ProblemKind(
    "TOPIC_INTERNAL", "an internal topic of Kafka, which the brokers create", "remove it from kafka_topics"
)
TOPIC_STATE = ProblemKind(
    "TOPIC_STATE",
    "another product keeps its state in this topic, and would lose the state",
    "declare it with cleanup.policy: compact, or let the product create it",
)
TOPIC_STATE_SINGLE = TOPIC_STATE.variant(
    advice="declare it with cleanup.policy: compact and partitions: 1, or let the product create it"
)
TOPIC_UNDERSCORE = ProblemKind(
    "TOPIC_UNDERSCORE",
    "names that start with _ belong to topics that products create for themselves",
    "use another name, or set manage: false",
)


def topic_names(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic name that Kafka rejects, that is declared twice, or that other software uses.

    Also yield a problem for each topic of Kafka Connect's state that has the wrong cleanup.policy or partitions.
    """
    hosts, seen, metrics = names(model.brokers), set[str](), dict[str, str]()
    for topic in topics_of(model):
        name, variable = topic.name, topic.variable
        if not VALID_NAME.fullmatch(name) or name in (".", ".."):
            yield TOPIC_NAME.problem(hosts, f"{variable}.name", name, name=name)
            continue
        other = metrics.setdefault(name.replace(".", "_"), name)
        if name in seen:
            yield TOPIC_DUPLICATE.problem(hosts, variable)
        elif other != name:
            yield TOPIC_COLLISION.problem(hosts, variable, other=other)
        seen.add(name)
        if topic.managed and name in INTERNAL:
            yield TOPIC_INTERNAL.problem(hosts, variable)
        elif topic.present and (state := STATE_TOPIC.fullmatch(name)):
            single = state["single"] is not None
            if topic.policy != {"compact"} or (single and whole(topic.get("partitions")) != 1):
                yield (TOPIC_STATE_SINGLE if single else TOPIC_STATE).problem(hosts, variable)
        elif topic.managed and name.startswith("_"):
            yield TOPIC_UNDERSCORE.problem(hosts, variable)


TOPIC_PARTITIONS = ProblemKind("TOPIC_PARTITIONS", "no topic can have this number of partitions", "use at least 1")
TOPIC_PARTITIONS_NONE = TOPIC_PARTITIONS.variant(
    message="the number of partitions is not set",
    advice=f"set partitions, or {DEFAULTS}: {{{{partitions: 6}}}} for all topics",
)
TOPIC_PARTITIONS_MANY = TOPIC_PARTITIONS.variant(
    message="each partition needs a folder, open files and a leader election, and partitions cannot be removed",
    advice=f"use at most {MANY_PARTITIONS} partitions",
)
TOPIC_PROFILE = ProblemKind("TOPIC_PROFILE", "this profile does not exist", "use one of {profiles}")
TOPIC_PROFILE_TYPO = TOPIC_PROFILE.variant(advice="did you mean {near}?")


def partitions_and_profiles(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic without a valid number of partitions, or with an unknown profile."""
    hosts = names(model.brokers)
    for topic in (topic for topic in topics_of(model) if topic.present):
        value = topic.get("partitions")
        number, variable = whole(value), topic.place("partitions")
        if value is None:
            yield TOPIC_PARTITIONS_NONE.problem(hosts, variable)
        elif number is not None and not 0 < number <= MOST_PARTITIONS:
            yield TOPIC_PARTITIONS.problem(hosts, variable, value)
        elif number is not None and number > MANY_PARTITIONS:
            yield TOPIC_PARTITIONS_MANY.problem(hosts, variable, value, warning=True)
    entries = [(topic.variable, topic.entry) for topic in topics_of(model)]
    defaults = [(DEFAULTS, broker.inputs.mapping(DEFAULTS)) for broker in model.brokers[:1]]
    for variable, entry in [*defaults, *entries]:
        profile = entry.get("profile")
        if isinstance(profile, str) and profile and profile not in profiles():
            near = nearest(profile, profiles())
            kind = TOPIC_PROFILE_TYPO if near else TOPIC_PROFILE
            yield kind.problem(hosts, f"{variable}.profile", profile, near=near, profiles=list(profiles()))


# The texts are those of definitions.Finding.
TOPIC_PROPERTY_UNKNOWN = ProblemKind("TOPIC_PROPERTY_UNKNOWN", "{finding}", "{advice}")
TOPIC_PROPERTY_VALUE = ProblemKind("TOPIC_PROPERTY_VALUE", "{finding}", "{advice}")
TOPIC_PROPERTY_VALUE_UNIT = TOPIC_PROPERTY_VALUE.variant(advice="write a number, or a number with a unit: {units}")
TOPIC_TIME_MEANT = ProblemKind(
    "TOPIC_TIME_MEANT",
    "the unit is milliseconds: as seconds it would be {duration}",
    "write {duration} if you mean seconds, else {number}ms",
)
TOPIC_TIME_MEANT_DAYS = TOPIC_TIME_MEANT.variant(
    message="the unit is milliseconds: this is less than a second", advice="write {number}d if you mean days"
)
TOPIC_THROTTLED = ProblemKind(
    "TOPIC_THROTTLED", "belongs to a reassignment, which sets and removes this throttle", "remove it"
)
TOPIC_UNCLEAN = ProblemKind(
    "TOPIC_UNCLEAN",
    "a replica that is not in sync may become leader, and acknowledged records are lost",
    "remove it (default: false)",
)


def properties(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic property that this version of Kafka does not know, or whose value is wrong."""
    yield from distinct(problem for topic in topics_of(model) if topic.present for problem in _properties(model, topic))


def _properties(model: Model, topic: Topic) -> Iterator[Problem]:
    first, hosts = model.brokers[0], names(model.brokers)
    definitions = Definitions.load("kafka", str(first.inputs.get("kafka_version")))
    known = {str(name) for name in first.inputs.sequence("known_properties")}
    config = {name: value for name, value in topic.config.items() if name not in known}
    for finding in definitions.judge("topic", config):
        kind = TOPIC_PROPERTY_UNKNOWN if finding.kind == "unknown" else TOPIC_PROPERTY_VALUE
        units = units_of(finding.name) if kind is TOPIC_PROPERTY_VALUE else {}
        kind = TOPIC_PROPERTY_VALUE_UNIT if units else kind
        value = topic.written.get(finding.name) if finding.shown is not None else None
        variable = topic.property_place(finding.name)
        yield kind.problem(hosts, variable, value, finding=finding.message, advice=finding.advice, units=list(units))
    yield from _policies(hosts, topic)
    yield from _ineffective(hosts, topic)
    for name in DURATIONS:
        value, variable = topic.written.get(name), topic.property_place(name)
        if name in TINY and tiny(value):
            yield TOPIC_TIME_MEANT_DAYS.problem(hosts, variable, value, number=value)
        if duration := seconds(value):
            yield TOPIC_TIME_MEANT.problem(hosts, variable, value, duration=duration, number=value)
    for name in THROTTLES:
        if name in config:
            yield TOPIC_THROTTLED.problem(hosts, topic.property_place(name), config[name])
    if str(config.get(UNCLEAN)).lower() == "true":
        yield TOPIC_UNCLEAN.problem(hosts, topic.property_place(UNCLEAN), True)


TOPIC_RETENTION = ProblemKind(
    "TOPIC_RETENTION",
    "less than {segment} ({size}): Kafka deletes whole segments only, so records are kept beyond this limit",
    "set {segment} to {limit} or less as well",
    warning=True,
)
TOPIC_RETENTION_SEGMENT = TOPIC_RETENTION.variant(
    message="more than {name} ({limit}): Kafka deletes whole segments only, so records are kept beyond that limit",
    advice="set it to {limit} or less",
)
TOPIC_RETENTION_COMPACT = TOPIC_RETENTION.variant(
    message="has no effect: cleanup.policy compact deletes by key only",
    advice="remove it, or use cleanup.policy [compact, delete]",
)
TOPIC_RETENTION_LOCAL = TOPIC_RETENTION.variant(
    message=f"has no effect without {REMOTE}: true", advice=f"use {{name}}, or set {REMOTE}: true"
)
TOPIC_INDEX_SMALL = ProblemKind(
    "TOPIC_INDEX_SMALL",
    "the index is full after {kib} KiB of records, and the segment ends there, whatever segment.bytes is",
    "remove it (default: 10MiB)",
    warning=True,
)


def _ineffective(hosts: tuple[str, ...], topic: Topic) -> Iterator[Problem]:
    """Yield a problem for each property of a topic that has no effect, or that defeats segment.bytes."""
    for name in LOCAL if switch(topic.config.get(REMOTE)) is not True else ():
        if name in topic.config and topic.config[name] is not None:
            variable, value = topic.property_place(name), topic.written.get(name)
            yield TOPIC_RETENTION_LOCAL.problem(hosts, variable, value, name=name.removeprefix("local."))
    number = topic.number(INDEX) if INDEX in topic.config else None
    if number is not None and 4 <= number < LEAST_INDEX:
        variable, value = topic.property_place(INDEX), topic.written.get(INDEX)
        yield TOPIC_INDEX_SMALL.problem(hosts, variable, value, kib=number // 8 * 4)


TOPIC_POLICY_NONE = ProblemKind(
    "TOPIC_POLICY_NONE", "no policy: no record would ever be deleted", "write delete, compact, or [compact, delete]"
)
TOPIC_POLICY_NONE_TWICE = TOPIC_POLICY_NONE.variant(message="a policy is named twice")


def _policies(hosts: tuple[str, ...], topic: Topic) -> Iterator[Problem]:
    """Yield a problem if cleanup.policy of a topic is empty or has duplicates.

    With an empty one, a broker keeps all records forever.
    """
    policies = [item.strip() for item in text_of(topic.config.get(POLICY, "delete")).split(",")]
    if not any(policies) or len(policies) > len(topic.policy):
        kind = TOPIC_POLICY_NONE_TWICE if any(policies) else TOPIC_POLICY_NONE
        yield kind.problem(hosts, topic.property_place(POLICY), topic.written[POLICY])


TOPIC_CONTRADICTION = ProblemKind(
    "TOPIC_CONTRADICTION",
    "state: absent deletes the topic, but with manage: false the playbook never changes it",
    "keep one of the two",
)
TOPIC_CONTRADICTION_MORE = TOPIC_CONTRADICTION.variant(
    message="more than {other} ({limit}): Kafka rejects it", advice="correct this property or {other}"
)
TOPIC_CONTRADICTION_LESS = TOPIC_CONTRADICTION_MORE.variant(message="less than {other} ({limit}): Kafka rejects it")
TOPIC_DELETE = ProblemKind(
    "TOPIC_DELETE", "the records of the topic would be deleted", "set allow_delete: true to delete them"
)
LAGS = ("min.compaction.lag.ms", "max.compaction.lag.ms")


def contradictions(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic with settings that contradict each other.

    Also yield a problem for each topic with state absent but without allow_delete, because it is deleted with its
    records.
    """
    hosts = names(model.brokers)
    for topic in topics_of(model):
        if topic.entry.get("state") == "absent" and not topic.managed:
            yield TOPIC_CONTRADICTION.problem(hosts, topic.variable)
        elif topic.entry.get("state") == "absent" and switch(topic.entry.get("allow_delete")) is not True:
            yield TOPIC_DELETE.problem(hosts, topic.variable, "absent")
        if not topic.present:
            continue
        least, most = map(topic.number, LAGS)
        if least is not None and most is not None and least > most:
            name = topic.own_property(*LAGS)
            is_least = name == LAGS[0]
            kind, other = (TOPIC_CONTRADICTION_MORE, LAGS[1]) if is_least else (TOPIC_CONTRADICTION_LESS, LAGS[0])
            variable, value = topic.property_place(name), topic.written[name]
            yield kind.problem(hosts, variable, value, other=other, limit=topic.written[other])
        yield from _largest_batch(model, topic)
        if topic.policy <= POLICIES:  # else reported as TOPIC_PROPERTY_VALUE
            yield from _retention(hosts, topic)
            yield from _policy_of_profile(hosts, topic)


TOPIC_MESSAGE = ProblemKind(
    "TOPIC_MESSAGE",
    "a batch is sent in one request, and brokers close the connection if a request is too large ({batch} is "
    "{largest}, {holder} is {most})",
    "lower {batch}, or raise {holder}",
)
TOPIC_MESSAGE_SEGMENT = TOPIC_MESSAGE.variant(
    message="a batch must fit into a segment, and brokers reject larger batches ({batch} is {largest}, {holder} is "
    "{most})"
)
TOPIC_MESSAGE_BOTH = TOPIC_MESSAGE.variant(
    message="a batch must fit into a request and into a segment ({batch} is {largest}, {holder} is {most}, {other} is "
    "{most_of_other})",
    advice="lower {batch}, or raise {holder} and {other}",
)
# Limits that have to hold the largest batch: a property of brokers, and the property of topics that overrides it.
HOLDERS = (
    (TOPIC_MESSAGE, "socket.request.max.bytes", ""),
    (TOPIC_MESSAGE_SEGMENT, "log.segment.bytes", "segment.bytes"),
)


def _largest_batch(model: Model, topic: Topic) -> Iterator[Problem]:
    """Yield a problem if the largest batch of a topic does not fit into a request or a segment.

    The problem is a warning if the topic does not set max.message.bytes: perhaps no producer writes such a batch.
    """
    is_set = MESSAGE in topic.config
    largest = topic.number(MESSAGE) if is_set else max(limit(broker, "message.max.bytes") for broker in model.brokers)
    if largest is None or largest > MOST_INT:
        return  # reported as TOPIC_PROPERTY_VALUE
    found: dict[str, list[tuple[ProblemKind, dict[str, Any]]]] = {}
    for kind, broker_property, topic_property in HOLDERS:
        own = topic_property in topic.config
        most = topic.number(topic_property) if own else min(limit(broker, broker_property) for broker in model.brokers)
        if most is None or largest <= most or not (own or is_set):
            continue
        name = topic.own_property(MESSAGE, topic_property) if is_set and own else MESSAGE if is_set else topic_property
        details: dict[str, Any] = {"holder": topic_property if own else broker_property, "most": most}
        found.setdefault(name, []).append((kind, details))
    for name, faults in found.items():
        (kind, details), variable = faults[0], topic.property_place(name)
        if len(faults) > 1:
            kind, other = TOPIC_MESSAGE_BOTH, faults[1][1]
            details = {**details, "other": other["holder"], "most_of_other": other["most"]}
        yield kind.problem(
            names(model.brokers),
            variable,
            topic.written[name] if variable.endswith("]") else topic.get("profile"),
            warning=not is_set,
            batch=MESSAGE if is_set else "message.max.bytes",
            largest=largest,
            **details,
        )


def _retention(hosts: tuple[str, ...], topic: Topic) -> Iterator[Problem]:
    """Yield a warning if the retention of a topic is less than a segment: Kafka deletes only whole segments.

    Also yield a warning for a retention that has no effect.
    """
    for unit, default in (("ms", 604_800_000), ("bytes", 2**30)):
        name, segment = f"retention.{unit}", f"segment.{unit}"
        retention, size = topic.number(name), topic.number(segment) if segment in topic.config else default
        if name not in topic.config or retention is None or retention < 0 or size is None:
            continue
        variable, value = topic.property_place(name), topic.written[name]
        if "delete" not in topic.policy:
            if name in mapping(topic.entry.get("config")):
                yield TOPIC_RETENTION_COMPACT.problem(hosts, variable, value)
        elif retention < size and not (seconds(value) or (name in TINY and retention < 1000)):
            written_size = topic.written.get(segment, default)
            if segment in topic.config and topic.own_property(name, segment) == segment:
                variable = topic.property_place(segment)
                yield TOPIC_RETENTION_SEGMENT.problem(hosts, variable, written_size, name=name, limit=value)
            else:
                yield TOPIC_RETENTION.problem(hosts, variable, value, segment=segment, size=written_size, limit=value)


TOPIC_POLICY = ProblemKind(
    "TOPIC_POLICY",
    "the topic is compacted, so every record needs a key, but records of profile {profile} have none",
    "use profile compacted_state, or a policy without compact",
    warning=True,
)
TOPIC_POLICY_DELETE = TOPIC_POLICY.variant(
    message="the topic is not compacted, but profile {profile} keeps the newest value of each key",
    advice="use another profile, such as event_log",
)


def _policy_of_profile(hosts: tuple[str, ...], topic: Topic) -> Iterator[Problem]:
    """Yield a warning if cleanup.policy of a topic is not that of its profile.

    Records in a compacted topic need keys.
    """
    profile = profiles().get(str(topic.get("profile")))
    policy = str(profile["config"][POLICY]) if profile else ""
    if topic.entry.get("profile") is None and POLICY in mapping(topic.entry.get("config")):
        return  # the topic's own policy overrides the default profile
    if policy and ("compact" in topic.policy) != (policy == "compact"):
        kind = TOPIC_POLICY if policy == "delete" else TOPIC_POLICY_DELETE
        variable, value = topic.property_place(POLICY), ", ".join(sorted(topic.policy))
        yield kind.problem(hosts, variable, value, profile=topic.get("profile"))
