"""Checks the flows of MirrorMaker: mirror_maker_flows.

MirrorMaker ignores keys that it does not know, and copies in circles without an error. So these rules reject what would
have no effect, and what would copy records twice or to where they must not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.mirrors import copy_of
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts
from ansible_collections.millrace.kafka.plugins.plugin_utils import mirrors
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Machine
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.logins import super_users
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.permissions import covers
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.regular_expressions import (
    meant_by_wildcard,
    mistake_in,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.grants import acls_of_grant, listed
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.topics import mapping

FLOWS, CONFIG = "mirror_maker_flows", "mirror_maker_config"
# Inputs that have to be the same for all workers of a cluster.
SHARED = (FLOWS, CONFIG, *(f"mirror_maker_{name}" for name in ("cluster", "residency", "exactly_once", "version")))
REST = "dedicated.mode.enable.internal.rest"
# Beginnings of properties that MirrorMaker reads without a prefix.
TOP_LEVEL = (
    "clusters", "config.providers", "config.storage.", "offset.storage.", "status.storage.", "replication.",
    "checkpoints.", "heartbeats.", "offset-syncs.", "listeners", "rest.", "ssl.", "dedicated.mode.", "topics",
    "groups", "tasks.max", "refresh.", "sync.", "emit.", "offset.lag.max", "admin.", "consumer.", "producer.",
    "metric.reporters", "metrics.", "auto.include.jmx.reporter", "key.converter", "value.converter",
    "header.converter",
)  # fmt: skip
# Settings of topics that MirrorMaker does not copy; at the target, the brokers' values apply.
NOT_COPIED = ("min.insync.replicas", "message.timestamp.type", "unclean.leader.election.enable")
# Delays that add up, each of at most sync_interval: a group's commit, the checkpoint, and the copy of the offset.
INTERVALS_AGAIN = 3


def flows_of(machine: Machine) -> list[tuple[str, Mapping[str, Any]]]:
    """Return [(place, flow)] of the flows of a host, in order; a place is mirror_maker_flows[west]."""
    return [(f"{FLOWS}[{flow.get('source')}]", flow) for flow in machine.inputs.entries(FLOWS)]


def _workers(model: Model) -> list[Machine]:
    return [model.machines[name] for name in model.groups.get("mirror_maker", ())]


MIRROR_DIFFERS = ProblemKind(
    "MIRROR_DIFFERS",
    "differs from the value of {other}: the workers of a cluster share their tasks, so all need the same",
    "set it once, in the group mirror_maker",
)
MIRROR_ALONE = ProblemKind(
    "MIRROR_ALONE",
    "the only host in the group mirror_maker: nothing is copied while it is down",
    "add a second host, or keep it if that is intended",
    warning=True,
)


def workers(model: Model) -> Iterator[Problem]:
    """Yield a problem for each worker whose settings differ from those of the first, and for a single worker."""
    hosts = _workers(model)
    for host in hosts[1:]:
        for name in SHARED:
            if host.inputs.get(name) != hosts[0].inputs.get(name):
                yield MIRROR_DIFFERS.problem((host.name,), name, other=hosts[0].name)
    if len(hosts) == 1:
        yield MIRROR_ALONE.problem(names(hosts), "")


MIRROR_SOURCE = ProblemKind(
    "MIRROR_SOURCE",
    "another flow has this source, too, and MirrorMaker would read only one of them",
    "join their topics in one flow",
)
MIRROR_SOURCE_OWN = MIRROR_SOURCE.variant(
    message="the alias of this cluster (mirror_maker_cluster): a flow copies from another cluster",
    advice="write the alias of the other cluster",
)
MIRROR_SOURCE_NAME = MIRROR_SOURCE.variant(
    message="not usable as an alias: names of topics and properties begin with it",
    advice="use letters, digits, _ and -",
)
MIRROR_ITSELF = ProblemKind(
    "MIRROR_ITSELF",
    "a broker of this cluster, and copies of this cluster's topics could be copied again, in a circle",
    "write the brokers of {source}",
)
MIRROR_PATTERN = ProblemKind(
    "MIRROR_PATTERN", "not a regular expression: {why}", "correct it, for example orders\\..* for orders.eu"
)
MIRROR_PATTERN_COMMA = MIRROR_PATTERN.variant(
    message="MirrorMaker splits the text at the comma", advice="write two entries, or the expression without a comma"
)
MIRROR_PATTERN_STAR = MIRROR_PATTERN.variant(
    message="a wildcard of file names: in a regular expression, the star repeats the character before it",
    advice="write {near}",
)
MIRROR_PATTERN_JAVA = MIRROR_PATTERN.variant(
    message="flags, back references and quotations act on the other patterns, too, which MirrorMaker joins",
    advice="write it without them",
)
MIRROR_INTERNAL = ProblemKind(
    "MIRROR_INTERNAL",
    "never copied: the state of a stream application, or a topic of Kafka or MirrorMaker",
    "remove it (applications create these topics again at the other side)",
)
MIRROR_FIXED = ProblemKind(
    "MIRROR_FIXED",
    "set by the role from inputs of the flow, which preflight checks (borders, circles, internal topics)",
    "remove it, and use topics, topics_exclude or policy of the flow",
)


def flows(model: Model) -> Iterator[Problem]:
    """Yield a problem for each flow with an unusable source, and for each pattern that selects no topic as meant."""
    for host in _workers(model)[:1]:
        hosts, seen = names(_workers(model)), set[str]()
        own = {item.advertised for broker in model.brokers for item in broker.listeners}
        for place, flow in flows_of(host):
            source = str(flow.get("source"))
            if source == str(host.inputs.get("mirror_maker_cluster")):
                yield MIRROR_SOURCE_OWN.problem(hosts, f"{place}.source", source)
            elif source in seen:
                yield MIRROR_SOURCE.problem(hosts, f"{place}.source", source)
            elif not re.fullmatch(r"[A-Za-z0-9_-]+", source):
                yield MIRROR_SOURCE_NAME.problem(hosts, f"{place}.source", source)
            seen.add(source)
            for address in str(flow.get("bootstrap")).split(","):
                if address.strip() in own:
                    yield MIRROR_ITSELF.problem(hosts, f"{place}.bootstrap", address.strip(), source=source)
                    break
            for key in ("topics", "topics_exclude", "groups", "groups_exclude"):
                for text in listed(flow.get(key)):
                    yield from _pattern(hosts, f"{place}.{key}", text)
            for text in listed(flow.get("topics")):
                if not mirrors.selected({"topics": [".*"]}, [text]):
                    yield MIRROR_INTERNAL.problem(hosts, f"{place}.topics", text)
            for name in ("config", "client"):
                for key in mapping(flow.get(name)):
                    if mirrors.FIXED.fullmatch(str(key)):
                        yield MIRROR_FIXED.problem(hosts, f"{place}.{name}[{key}]")
            yield from _values(hosts, place, flow)


MIRROR_VALUE = ProblemKind("MIRROR_VALUE", "a user needs a password", "set password of the flow, in a vaulted file")
MIRROR_VALUE_BANDWIDTH = MIRROR_VALUE.variant(message="not a number of bytes a second", advice="write it like 100MB")


def _values(hosts: Sequence[str], place: str, flow: Mapping[str, Any]) -> Iterator[Problem]:
    if flow.get("user") and not flow.get("password"):
        yield MIRROR_VALUE.problem(hosts, f"{place}.password")
    try:
        amounts.bytes_of(str(flow.get("bandwidth") or "1MB"))
    except ValueError:
        yield MIRROR_VALUE_BANDWIDTH.problem(hosts, f"{place}.bandwidth", flow["bandwidth"])


def _pattern(hosts: Sequence[str], place: str, text: str) -> Iterator[Problem]:
    if "," in text:
        yield MIRROR_PATTERN_COMMA.problem(hosts, place, text)
    elif re.search(r"\(\?(?!:)|\\[1-9QE]", text):
        yield MIRROR_PATTERN_JAVA.problem(hosts, place, text)
    elif near := meant_by_wildcard(text):
        yield MIRROR_PATTERN_STAR.problem(hosts, place, text, near=near)
    elif why := mistake_in(text):
        yield MIRROR_PATTERN.problem(hosts, place, text, why=why)


MIRROR_KEY = ProblemKind(
    "MIRROR_KEY",
    "MirrorMaker does not read this key without a prefix, and would not report that",
    "put it into config of a flow, or write {near}",
)
MIRROR_REST = ProblemKind(
    "MIRROR_REST",
    "without requests between the workers, several of them can copy nothing",
    "remove it, or keep one host in the group mirror_maker",
)


def keys(model: Model) -> Iterator[Problem]:
    """Yield a problem for each key of mirror_maker_config without the prefix that it needs, and for a disabled REST."""
    hosts = _workers(model)
    for host in hosts[:1]:
        cluster = str(host.inputs.get("mirror_maker_cluster"))
        aliases = [cluster, *(str(flow.get("source")) for _, flow in flows_of(host))]
        pairs = tuple(f"{alias}->{cluster}." for alias in aliases[1:])
        prefixes = tuple(f"{alias}." for alias in aliases) + pairs
        for key, value in host.inputs.mapping(CONFIG).items():
            place = f"{CONFIG}[{key}]"
            if key == REST and len(hosts) > 1 and switch(value) is not True:
                yield MIRROR_REST.problem(names(hosts), place, value)
            elif mirrors.FIXED.fullmatch(_unprefixed(str(key), prefixes)) or (
                "->" in str(key) and not str(key).startswith(pairs)
            ):
                yield MIRROR_FIXED.problem(names(hosts), place)
            elif not str(key).startswith((*TOP_LEVEL, *prefixes)):
                yield MIRROR_KEY.problem(names(hosts), place, near=f"{cluster}.{key}")


def _unprefixed(key: str, prefixes: Sequence[str]) -> str:
    """Return a key of mirror_maker_config without the alias or pair before it."""
    return next((key.removeprefix(prefix) for prefix in prefixes if key.startswith(prefix)), key)


MIRROR_SAME_TOPIC = ProblemKind(
    "MIRROR_SAME_TOPIC",
    "the flows from {first} and {second} would both write to the topic {topic}",
    "exclude it from one flow (topics_exclude), or use policy: default",
)
MIRROR_SAME_TOPIC_PATTERN = MIRROR_SAME_TOPIC.variant(
    message="the flows from {first} and {second} keep names of topics, and both select {topic}",
    advice="write source_topics of both flows, other patterns, or policy: default",
)
MIRROR_OVERWRITES = ProblemKind(
    "MIRROR_OVERWRITES",
    "the flow from {source} keeps names of topics, so it would write to this topic, which producers here write to",
    "exclude it from the flow (topics_exclude), use policy: default, or declare the topic with manage: false",
)


def overlaps(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic that two flows, or a flow and producers of this cluster, would write to."""
    for host in _workers(model)[:1]:
        hosts = names(_workers(model))
        identity = [flow for _, flow in flows_of(host) if flow.get("policy") == "identity"]
        for one, other in combinations(identity, 2):
            both = sorted({*_carried(one)} & {*_carried(other)})
            known = one.get("source_topics") and other.get("source_topics")
            same = sorted({*listed(one.get("topics"))} & {*listed(other.get("topics"))})
            kind = MIRROR_SAME_TOPIC if both else MIRROR_SAME_TOPIC_PATTERN
            if both or (same and not known):
                first, second = one.get("source"), other.get("source")
                yield kind.problem(hosts, FLOWS, topic=(both or same)[0], first=first, second=second)
        for flow in identity:
            for topic in topics_of(model):
                if topic.present and mirrors.selected(flow, [topic.name]):
                    yield MIRROR_OVERWRITES.problem(names(model.brokers), topic.variable, source=flow.get("source"))


def _source_topics(flow: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the declared topics of a flow's source."""
    entries = flow.get("source_topics")
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, (list, tuple)) else []


def _carried(flow: Mapping[str, Any]) -> list[str]:
    """Return the names of the source's declared topics that a flow selects, and of topics that it names itself."""
    declared = [str(topic.get("name")) for topic in _source_topics(flow)]
    plain = [text for text in listed(flow.get("topics")) if re.fullmatch(r"[A-Za-z0-9_-]+", text)]
    return mirrors.selected(flow, [*declared, *plain])


MIRROR_RESIDENCY = ProblemKind(
    "MIRROR_RESIDENCY",
    "the flow from {source} selects this topic, but its label is {label}: {cluster} may hold {target}, {source} {held}",
    "exclude it from the flow (topics_exclude), or correct the label",
)
MIRROR_RESIDENCY_NONE = MIRROR_RESIDENCY.variant(
    message="the flow from {source} selects this topic, which has no label, and the residency of both clusters differs",
    advice="give the topic a label (residency), or exclude it from the flow (topics_exclude)",
)
MIRROR_RESIDENCY_UNKNOWN = MIRROR_RESIDENCY.variant(
    message="missing, and the residency of {source} and {cluster} differs: the labels of the topics are not known",
    advice="set it to kafka_topics of {source}, with a label for each topic (residency)",
)


def residency(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic that a flow selects, but that must not leave its source or enter this cluster."""
    for host in _workers(model)[:1]:
        hosts, own = names(_workers(model)), host.inputs.sequence("mirror_maker_residency")
        for place, flow in flows_of(host):
            if not mirrors.has_border(flow, own):
                continue
            facts: dict[str, Any] = {"source": flow.get("source"), "cluster": host.inputs.get("mirror_maker_cluster")}
            entries = _source_topics(flow)
            if not entries:
                yield MIRROR_RESIDENCY_UNKNOWN.problem(hosts, f"{place}.source_topics", **facts)
            for entry in entries:
                name, label = str(entry.get("name")), entry.get("residency")
                if mirrors.selected(flow, [name]) and not mirrors.may_cross(label, flow, own):
                    kind = MIRROR_RESIDENCY if label else MIRROR_RESIDENCY_NONE
                    facts |= {"target": list(own) or "everything", "held": flow.get("residency") or "everything"}
                    yield kind.problem(hosts, f"{place}.source_topics[{name}]", label=label, **facts)


MIRROR_NOT_COPIED = ProblemKind(
    "MIRROR_NOT_COPIED",
    "the source sets {name}, which MirrorMaker does not copy: at this cluster, the brokers' value applies",
    "declare the topic {copy} here with this setting",
)


def settings(model: Model) -> Iterator[Problem]:
    """Yield a problem for each setting of a source's topic that matters and that MirrorMaker does not copy."""
    declared = {topic.name: topic for topic in topics_of(model)}
    for host in _workers(model)[:1]:
        for place, flow in flows_of(host):
            for entry in _source_topics(flow):
                name, config = str(entry.get("name")), mapping(entry.get("config"))
                copy = copy_of({"source": None, **flow}, name)
                if not mirrors.selected(flow, [name]):
                    continue
                here = declared[copy].config if copy in declared else {}
                for key in NOT_COPIED:
                    if config.get(key) is not None and str(here.get(key)) != str(config[key]):
                        variable = f"{place}.source_topics[{name}].config[{key}]"
                        hosts = names(_workers(model))
                        yield MIRROR_NOT_COPIED.problem(hosts, variable, config[key], name=key, copy=copy)


MIRROR_READ_AGAIN = ProblemKind(
    "MIRROR_READ_AGAIN",
    "after a switch, a group could read {seconds} seconds of records again (three times sync_interval)",
    "set sync_interval to at most {most}, or raise it",
)
MIRROR_USER = ProblemKind(
    "MIRROR_USER",
    "the user has no right to {operation} on {resource}, which the flow from {source} needs",
    "add {{mirror_maker: target, source: {source}}} to its grants in kafka_users",
)


def promises(model: Model) -> Iterator[Problem]:
    """Yield a problem for each flow that cannot keep its max_read_again, or whose user may not write what it writes."""
    for host in _workers(model)[:1]:
        for place, flow in flows_of(host):
            interval = whole(flow.get("sync_interval")) or mirrors.SYNC_INTERVAL
            most = whole(flow.get("max_read_again"))
            if most is not None and 1 <= most < INTERVALS_AGAIN * interval:
                yield MIRROR_READ_AGAIN.problem(
                    names(_workers(model)),
                    f"{place}.max_read_again",
                    most,
                    seconds=INTERVALS_AGAIN * interval,
                    most=most // INTERVALS_AGAIN,
                )
            yield from _rights(model, host, flow)


def _rights(model: Model, host: Machine, flow: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for the first right that the user of the workers needs for a flow, and does not have."""
    principal = f"User:{host.inputs.get('mirror_maker_user')}"
    supers = {name for broker in model.brokers for name, _ in super_users(broker)}
    if not supers or principal in supers:
        return
    own = [entry for entry in model.acls if entry.get("principal") in (principal, "User:*")]
    grant: dict[str, Any] = {"mirror_maker": "target", "source": flow.get("source"), "groups": []}
    for needed in acls_of_grant(grant):
        name, pattern = str(needed.get("name") or ""), needed.get("pattern", "literal")
        identity = needed["resource"] == "topic" and name.endswith(".") and flow.get("policy") == "identity"
        if identity or (needed["resource"], name) == ("group", "*"):
            continue  # topics and groups that are named elsewhere
        for operation in needed["operations"]:
            if not any(covers(entry, operation, needed["resource"], name, pattern) for entry in own):
                yield MIRROR_USER.problem(
                    names(_workers(model)),
                    "mirror_maker_user",
                    host.inputs.get("mirror_maker_user"),
                    source=flow.get("source"),
                    operation=operation,
                    resource=f"{needed['resource']} {name}".strip(),
                )
                return
