"""Rules on replicas of topics: what each survives, where it says otherwise than the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import STRETCHED, Model, datacenters, names
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
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topic_types import Topic, once, topics_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.typos import slip
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

MARGIN, ACCEPTS = "kafka_restart_margin", "kafka_restart_accepts"


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
