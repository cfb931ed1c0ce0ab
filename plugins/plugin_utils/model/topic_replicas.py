"""Checks the replicas of topics whose replication settings differ from those of the cluster.

Also checks kafka_restart_margin and kafka_restart_accepts, which depend on the replicas of topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.layouts import STRETCHED
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.replication import (
    BALANCE,
    FACTORS_THAT_SURVIVE,
    MIN_ISRS,
    NO_COMPROMISE,
    TOPICS,
    correction,
    factors_that_survive,
    settings,
    writes_continue,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import (
    most_in_one_rack,
    most_replicas,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import Topic, distinct, topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import typo_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

MARGIN, ACCEPTS = "kafka_restart_margin", "kafka_restart_accepts"

TOPIC_REPLICATION_TOO_HIGH = ProblemKind(
    "TOPIC_REPLICATION_TOO_HIGH",
    "more replicas than the cluster has brokers ({brokers})",
    "use at most {brokers}, or add brokers",
)
TOPIC_REPLICATION_NONE = TOPIC_REPLICATION_TOO_HIGH.variant(
    message="a topic has at least one replica", advice="use 3, at most {brokers}"
)
TOPIC_REPLICATION_ONE = ProblemKind(
    "TOPIC_REPLICATION_ONE", "one replica: a lost disk loses acknowledged records", "use 3"
)
TOPIC_MIN_ISR_TOO_HIGH = ProblemKind(
    "TOPIC_MIN_ISR_TOO_HIGH",
    "min.insync.replicas is {least}, more than the {replicas} replicas: Kafka would reduce it without a message",
    "set {setting} to {correct}",
)
TOPIC_MIN_ISR_EQUAL = ProblemKind(
    "TOPIC_MIN_ISR_EQUAL", "one broker down stops all writes with acks=all", "set {setting} to {correct}"
)
TOPIC_MIN_ISR_ONE = ProblemKind(
    "TOPIC_MIN_ISR_ONE",
    "a record is acknowledged when one broker has it, and is lost with that broker",
    "set {setting} to at least {smallest}",
)
# The advice if no min.insync.replicas is right with the replicas of the topic: more replicas, or more brokers.
MORE_REPLICAS = "use {needed} replicas"
MORE_REPLICAS_IN_SYNC = "use {needed} replicas, and set {setting} to {correct}"
MORE_BROKERS = (
    "add brokers until there are at least {needed}, use {needed} replicas, and set {setting} to {correct}: with "
    "{brokers} brokers no value keeps both records and writes"
)


def replicas(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic with too many or too few replicas or in-sync replicas.

    The loss of one broker must neither lose records nor stop writes.
    """
    yield from distinct(
        problem
        for topic in _other_than_cluster(model)
        for problem in (*_replication_factor(model, topic), *_least_in_sync(model, topic))
    )


def _other_than_cluster(model: Model) -> list[Topic]:
    """Return the topics with another replication factor or min.insync.replicas than the cluster's."""
    return [
        topic for topic in topics_of(model) if topic.present and (topic.replicas, topic.least_in_sync) != topic.cluster
    ]


def _replication_factor(model: Model, topic: Topic) -> Iterator[Problem]:
    hosts, brokers, factor = names(model.brokers), len(model.brokers), topic.replicas
    variable = topic.place("replication_factor")
    if factor is None or topic.get("replication_factor") is None:  # the cluster's own is judged once (REPLICATION_*)
        return
    if factor < 1:
        yield TOPIC_REPLICATION_NONE.problem(hosts, variable, factor, brokers=brokers)
    elif factor > brokers:
        yield TOPIC_REPLICATION_TOO_HIGH.problem(hosts, variable, factor, brokers=brokers)
    elif factor == 1 and brokers > 1:
        warning = model.brokers[0].available or _may_stop(model, topic.name)
        yield TOPIC_REPLICATION_ONE.problem(hosts, variable, factor, warning=warning)


def _least_in_sync(model: Model, topic: Topic) -> Iterator[Problem]:
    hosts, least, factor, in_sync = names(model.brokers), topic.least_in_sync, topic.replicas, topic.in_sync_setting
    if least is None or factor is None or factor < 2:
        return
    if least > factor:
        kind, warning = TOPIC_MIN_ISR_TOO_HIGH, False
    elif least == factor:
        kind, warning = TOPIC_MIN_ISR_EQUAL, _may_stop(model, topic.name)
    elif least == 1:
        kind, warning = TOPIC_MIN_ISR_ONE, model.brokers[0].available
    else:
        return
    needed, smallest, correct = correction(model, factor, available=model.brokers[0].available)
    if needed != factor:
        advice = MORE_REPLICAS if correct == least else MORE_REPLICAS_IN_SYNC
        kind = kind.variant(advice=advice if needed <= len(model.brokers) else MORE_BROKERS)
    details: dict[str, Any] = {
        **{"setting": in_sync.setting, "least": least, "replicas": factor, "brokers": len(model.brokers)},
        **{"needed": needed, "smallest": smallest, "correct": correct},
    }
    yield kind.problem(hosts, in_sync.place, in_sync.value, warning=warning, **details)


TOPIC_RACK_LOSS = ProblemKind(
    "TOPIC_RACK_LOSS",
    "up to {most} of {replicas} replicas are in one rack: writes stop if that rack fails",
    "set {setting} to {left}, or use more racks",
    warning=True,
)
TOPIC_RACK_LOSS_FEW = TOPIC_RACK_LOSS.variant(advice="use more racks")
OF_PROFILE = (
    "the profile requires {least} of {replicas} in-sync replicas, and overrides kafka_min_insync_replicas ({cluster}), "
)
TOPIC_RACK_LOSS_PROFILE = TOPIC_RACK_LOSS.variant(
    message=f"{OF_PROFILE}but up to {{most}} replicas are in one rack: writes stop if that rack fails"
)
TOPIC_RACK_LOSS_PROFILE_FEW = TOPIC_RACK_LOSS_PROFILE.variant(advice=TOPIC_RACK_LOSS_FEW.advice)
TOPIC_DATACENTER_LOSS = ProblemKind(
    "TOPIC_DATACENTER_LOSS",
    "up to {most} of {replicas} replicas are in one datacenter: its loss can lose acknowledged records",
    "set {setting} to at least {correct}, with {needed} replicas, or declare promise: available",
)
TOPIC_DATACENTER_LOSS_ACCEPTED = TOPIC_DATACENTER_LOSS.variant(
    advice="set {setting} to at least {correct}, with {needed} replicas, or keep it: promise: available accepts this"
)
TOPIC_DATACENTER_LOSS_ALONE = TOPIC_DATACENTER_LOSS.variant(
    advice="set {setting} to at least {correct}, with {needed} replicas"
)
TOPIC_DATACENTER_LOSS_BROKERS = TOPIC_DATACENTER_LOSS.variant(
    advice="add brokers until there are at least {needed}, and set {setting} to {correct}, with {needed} replicas"
)
TOPIC_DATACENTER_LOSS_FACTOR = TOPIC_DATACENTER_LOSS.variant(message=NO_COMPROMISE, advice=FACTORS_THAT_SURVIVE)
TOPIC_DATACENTER_LOSS_BALANCE = TOPIC_DATACENTER_LOSS.variant(message=NO_COMPROMISE, advice=BALANCE)
TOPIC_DATACENTER_STOPS = ProblemKind(
    "TOPIC_DATACENTER_STOPS",
    "if a datacenter is lost, {left} of {replicas} replicas would be left, and writes stop, but {promise} requires "
    "them to continue",
    "set {setting} to {left}",
)
TOPIC_DATACENTER_STOPS_PROFILE = TOPIC_DATACENTER_STOPS.variant(
    message=f"{OF_PROFILE}but if a datacenter is lost, {{remain}}, and writes stop: {{promise}} "
    "requires them to continue"
)
TOPIC_DATACENTER_STOPS_FACTOR = TOPIC_DATACENTER_STOPS.variant(message=NO_COMPROMISE, advice=FACTORS_THAT_SURVIVE)
TOPIC_DATACENTER_STOPS_BALANCE = TOPIC_DATACENTER_STOPS.variant(message=NO_COMPROMISE, advice=BALANCE)


def failure_domains(model: Model) -> Iterator[Problem]:
    """Yield a problem for each topic that does not survive the loss of a rack or datacenter as the layout requires."""
    yield from distinct(problem for topic in _other_than_cluster(model) for problem in _failure_domains(model, topic))


def _failure_domains(model: Model, topic: Topic) -> Iterator[Problem]:
    least, factor, in_sync = topic.least_in_sync, topic.replicas, topic.in_sync_setting
    if least is None or factor is None or not 1 < least < factor <= len(model.brokers):
        return  # reported by the rule replicas
    details: dict[str, Any] = {
        "setting": in_sync.setting,
        "replicas": factor,
        "least": least,
        "cluster": topic.cluster[1],
    }
    of_profile = in_sync.of_profile and least != topic.cluster[1]
    if model.layout not in STRETCHED:
        most = most_in_one_rack(model, factor)
        if most is not None and factor - most < least:
            kinds = (TOPIC_RACK_LOSS, TOPIC_RACK_LOSS_FEW)
            kinds = (TOPIC_RACK_LOSS_PROFILE, TOPIC_RACK_LOSS_PROFILE_FEW) if of_profile else kinds
            kind = kinds[0] if factor - most > 1 else kinds[1]
            yield kind.problem(
                names(model.brokers), in_sync.place, in_sync.value, most=most, left=factor - most, **details
            )
        return
    most = most_replicas(model, factor) if len(datacenters(model.brokers)) > 1 else None
    if most is not None:
        yield from _datacenter_loss(model, topic, most, of_profile, details)


def _datacenter_loss(
    model: Model, topic: Topic, most: int, of_profile: bool, details: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield problems of a topic of which up to `most` replicas are in one datacenter.

    `of_profile`: a profile sets min.insync.replicas; `details` are details for the message.
    """
    hosts, in_sync, available = names(model.brokers), topic.in_sync_setting, model.brokers[0].available
    least, factor = details["least"], details["replicas"]
    if model.layout == "stretch3" and not available:
        factors = factors_that_survive(model, factor)
        if factors is not None:
            if topic.get("replication_factor") is not None:  # else reported for the cluster
                kinds = (TOPIC_DATACENTER_LOSS_FACTOR, TOPIC_DATACENTER_STOPS_FACTOR)
                kinds = kinds if factors else (TOPIC_DATACENTER_LOSS_BALANCE, TOPIC_DATACENTER_STOPS_BALANCE)
                kind = kinds[0] if least <= most else kinds[1]
                variable, others = topic.place("replication_factor"), " or ".join(map(str, factors))
                yield kind.problem(hosts, variable, factor, replicas=factor, brokers=len(model.brokers), factors=others)
            return
    if least <= most:
        needed, correct, _ = correction(model, factor)
        may_promise = model.layout != "stretch2" and least <= factor - most
        kind = TOPIC_DATACENTER_LOSS if may_promise else TOPIC_DATACENTER_LOSS_ALONE
        kind = kind if needed <= len(model.brokers) or may_promise else TOPIC_DATACENTER_LOSS_BROKERS
        kind = TOPIC_DATACENTER_LOSS_ACCEPTED if available else kind
        numbers: dict[str, Any] = {"most": most, "correct": correct, "needed": needed}
        yield kind.problem(hosts, in_sync.place, in_sync.value, warning=available, **numbers, **details)
    if writes_continue(model) and least > factor - most:
        kind = TOPIC_DATACENTER_STOPS_PROFILE if of_profile else TOPIC_DATACENTER_STOPS
        promise = "layout: stretch3" if model.layout == "stretch3" else "promise: available"
        left, remain = factor - most, f"{factor - most} remain{'s' if factor - most == 1 else ''}"
        yield kind.problem(hosts, in_sync.place, in_sync.value, left=left, remain=remain, promise=promise, **details)


RESTART_MARGIN = ProblemKind(
    "RESTART_MARGIN",
    "topics have {replicas} replicas, of which a restart leaves {left}, but min.insync.replicas plus this margin is "
    "{required}: no broker would ever be restarted",
    "set {margin}, or use {enough} replicas",
)
RESTART_MARGIN_TOPIC = RESTART_MARGIN.variant(
    message="topic {topic} has {replicas} replicas, of which a restart leaves {left}, but min.insync.replicas plus "
    "this margin is {required}: no broker would ever be restarted"
)


def restart_margin(model: Model) -> Iterator[Problem]:
    """Yield a problem if kafka_restart_margin requires more in-sync replicas than remain while a broker restarts.

    With such a margin, no broker would ever be restarted.
    """
    margin = model.brokers[0].inputs.whole(MARGIN) if model.brokers else None
    if not margin or margin < 1:
        return
    topics = [(topic.name, topic.replicas, topic.least_in_sync) for topic in topics_of(model) if topic.present]
    cluster = settings(model.brokers[0])
    for name, factor, least in [("", cluster[TOPICS].value, cluster[MIN_ISRS[0]].value), *topics]:
        if factor is None or least is None or not least < factor <= len(model.brokers):
            continue  # reported by the rule replicas; for the cluster, by replication.py
        required = least + margin
        if factor - 1 < required and not _may_stop(model, name):
            yield (RESTART_MARGIN_TOPIC if name else RESTART_MARGIN).problem(
                names(model.brokers),
                MARGIN,
                margin,
                topic=name,
                replicas=factor,
                left=factor - 1,
                required=required,
                margin=factor - 1 - least,
                enough=required + 1,
            )
            return  # the first one is enough


RESTART_ACCEPTS = ProblemKind(
    "RESTART_ACCEPTS",
    "matches no topic of kafka_topics, so it has an effect only if an undeclared topic has this name",
    "correct the name, or remove it if there is no such topic",
    warning=True,
)
RESTART_ACCEPTS_TYPO = RESTART_ACCEPTS.variant(advice="did you mean {near}?")


def restart_accepts(model: Model) -> Iterator[Problem]:
    """Yield a warning for each entry of kafka_restart_accepts that matches no declared topic.

    kafka_restart_accepts lists topics whose writes may stop during a restart.
    """
    known = [topic.name for topic in topics_of(model) if topic.entry.get("state") != "absent"]
    for name in model.brokers[0].inputs.sequence(ACCEPTS) if model.brokers and known else ():
        if isinstance(name, str) and not name.startswith("_") and not any(fnmatchcase(topic, name) for topic in known):
            near = typo_of(name, known)
            kind = RESTART_ACCEPTS_TYPO if near else RESTART_ACCEPTS
            yield kind.problem(names(model.brokers), ACCEPTS, name, near=near)


def _may_stop(model: Model, name: str) -> bool:
    """Tell whether kafka_restart_accepts allows the writes of a topic to stop while a broker restarts."""
    return any(fnmatchcase(name, str(pattern)) for pattern in model.brokers[0].inputs.sequence(ACCEPTS))
