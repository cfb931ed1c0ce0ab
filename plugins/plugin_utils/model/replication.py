"""Rules on replication: what the cluster promises when a server, a rack or a datacenter is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import STRETCHED, Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import most_replicas, neither
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topology import odd_racks, of_uneven_racks
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of

TOPICS, OFFSETS, TRANSACTIONS = FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
)
MIN_ISRS = ("min.insync.replicas", "transaction.state.log.min.isr")
KAFKA_DEFAULTS = dict(zip((*FACTORS, *MIN_ISRS), (1, 3, 3, 1, 2), strict=True))
INPUTS = {**dict.fromkeys(FACTORS, "kafka_replication_factor"), **dict.fromkeys(MIN_ISRS, "kafka_min_insync_replicas")}
# What belongs to the cluster.
SAME = (
    "kafka_replication_factor",
    "kafka_min_insync_replicas",
    "kafka_zookeeper_chroot",
    "kafka_inter_broker_listener",
    "kafka_version",
    "kafka_super_users",
    # What playbooks take from the first broker.
    "kafka_cluster_id",
    "kafka_topic_defaults",
    "kafka_topics",
    "kafka_users",
    "kafka_acls",
    "kafka_quotas",
    "kafka_prune",
)
# Properties of brokers that belong to records and groups, wherever these are led.
OF_ALL = re.compile(
    r"log\.retention\.(ms|minutes|hours|bytes)|log\.cleanup\.policy|log\.cleaner\.(min|max|delete)\..*\.ms"
    r"|log\.message\.timestamp\..*|message\.max\.bytes|compression\.type|auto\.create\.topics\.enable|num\.partitions"
    r"|delete\.topic\.enable|group\..*|offsets\.(retention|topic)\..*(minutes|partitions)|transaction(al)?\..*"
)
LONG = ("kafka_topic_defaults", "kafka_topics", "kafka_users", "kafka_acls", "kafka_quotas", "kafka_prune")


@dataclass(frozen=True)
class Setting:
    """A property of replication in a broker's file, and the variable that says it."""

    value: int | None
    variable: str


def settings(broker: Broker) -> dict[str, Setting]:
    """Return what a broker's file says of replication."""
    found = {name: Setting(broker.inputs.whole(variable), variable) for name, variable in INPUTS.items()}
    for variable, layer in broker.layers:
        for name in INPUTS.keys() & layer.keys():
            # A key that is removed leaves Kafka's own default.
            value = KAFKA_DEFAULTS[name] if layer[name] is None else layer[name]
            found[name] = Setting(whole(value), f"{variable}[{name}]")
    return found


def factors(model: Model) -> Iterator[Problem]:
    """Replication factors fit the brokers, and a lost disk loses nothing."""
    brokers = len(model.brokers)
    for broker in model.brokers:
        found = settings(broker)
        for setting in dict.fromkeys(found[name] for name in FACTORS):
            factor, variable = setting.value, setting.variable
            if factor is not None and factor > brokers:
                wrong = f"more replicas than the {brokers} brokers, so no topic could be created"
                advice = f"use {brokers} at most, or add brokers"
                yield broker.problem(variable, "REPLICATION_TOO_HIGH", factor, wrong, advice)
            elif factor == 1 and brokers > 1:
                wrong = "one copy: a lost disk loses acknowledged records, whatever min.insync.replicas says"
                yield broker.problem(variable, "REPLICATION_ONE", factor, wrong, "use 3", warning=broker.available)


def least_in_sync(model: Model) -> Iterator[Problem]:
    """Writes survive one broker, and so do acknowledged records."""
    for broker in model.brokers:
        found = settings(broker)
        told = set()
        for name, of in ((MIN_ISRS[0], TOPICS), (MIN_ISRS[1], TRANSACTIONS)):
            setting, factor = found[name], found[of].value
            if setting.value is not None and factor is not None and setting not in told:
                told.add(setting)
                yield from _least(model, broker, setting.variable, setting.value, factor)


def _least(model: Model, broker: Broker, variable: str, least: int, factor: int) -> Iterator[Problem]:
    if least > factor:
        wrong = f"more than the {factor} replicas there are: Kafka would cap it in silence"
        advice = f"use {factor - 1}" if factor > 2 else "replicate 3 times (kafka_replication_factor), and use 2"
        yield broker.problem(variable, "MIN_ISR_TOO_HIGH", least, wrong, advice)
    elif least == factor > 1:
        wrong = "one broker down stops all writes with acks=all"
        # With two replicas there is no number that is right: 1 loses what one broker alone has.
        advice = (
            f"use {factor - 1}" if factor > 2 else "replicate 3 times (kafka_replication_factor), on 3 brokers at least"
        )
        most = most_replicas(model, factor) if _spread(model) else None
        if most is not None and factor - 1 <= most and not broker.available:
            advice = f"replicate {_enough(model, factor)} times (kafka_replication_factor): "
            advice += f"{factor - 1} would be one datacenter's"
        yield broker.problem(variable, "MIN_ISR_EQUAL", least, wrong, advice)
    elif least == 1 and factor > 1:
        wrong = "a record is acknowledged when one broker has it, and is lost with that broker"
        yield broker.problem(variable, "MIN_ISR_ONE", least, wrong, "use 2 at least", warning=broker.available)


def _enough(model: Model, factor: int) -> int:
    """Return how many replicas more than a datacenter gets, with one to spare, the brokers can have; else what does."""
    known = ((number, most_replicas(model, number)) for number in range(factor + 1, len(model.brokers) + 1))
    return next((number for number, most in known if most is not None and most + 1 < number), factor + 2)


def internal_topics(model: Model) -> Iterator[Problem]:
    """Offsets and transactions are as safe as the records they belong to."""
    for broker in model.brokers:
        found = settings(broker)
        for name, profile in ((OFFSETS, TOPICS), (TRANSACTIONS, TOPICS), (MIN_ISRS[1], MIN_ISRS[0])):
            value, wanted = found[name].value, found[profile].value
            if value is not None and wanted is not None and value != wanted:
                wrong = f"an internal topic with {value} where {profile} is {wanted}"
                wrong += _hurts(name, value, wanted, found[MIN_ISRS[1]].value)
                advice = f"leave {name} out, the role sets it"
                yield broker.problem(found[name].variable, "INTERNAL_TOPICS_DIFFER", value, wrong, advice)


def _hurts(name: str, value: int, wanted: int, in_sync: int | None) -> str:
    """Return what comes of fewer replicas, or of more in sync, than records have."""
    if name == TRANSACTIONS and in_sync is not None and value <= in_sync:
        when = "" if value < in_sync else " while one of the brokers that have it is away"
        return f": {in_sync} have to be in sync, so no transaction would begin or end{when}"
    if name in (OFFSETS, TRANSACTIONS) and value < wanted:
        return f": {'how far groups are is' if name == OFFSETS else 'transactions are'} lost sooner than records"
    return ""


def unclean(model: Model) -> Iterator[Problem]:
    """No replica that lacks acknowledged records becomes leader."""
    name = "unclean.leader.election.enable"
    for broker in model.brokers:
        for variable, layer in broker.layers:
            if str(layer.get(name)).lower() == "true":
                wrong = "a replica that lags may become leader, and acknowledged records are lost"
                advice = "leave it out; elect uncleanly by hand, for one partition"
                yield broker.problem(f"{variable}[{name}]", "UNCLEAN_ELECTION", True, wrong, advice)


def _spread(model: Model) -> bool:
    return model.layout in STRETCHED and len(datacenters(model.brokers)) > 1


def datacenter_loss(model: Model) -> Iterator[Problem]:
    """In a stretched cluster an acknowledged record is in more than one datacenter."""
    if not _spread(model) or odd_racks(model):
        return
    found = settings(model.brokers[0])
    factor, least, variable = found[TOPICS].value, found[MIN_ISRS[0]].value, found[MIN_ISRS[0]].variable
    most = most_replicas(model, factor) if factor else None
    if factor is None or least is None or most is None:
        return
    if of_uneven_racks(model, factor, least):
        return  # said as RACK_UNEVEN
    where, wanted = names(model.brokers), most + 1
    both = neither(model, factor) if model.layout == "stretch3" and not model.brokers[0].available else None
    if both and factor > least:
        code = "MIN_ISR_TOO_LOW" if least <= most else "MIN_ISR_STOPS"
        yield Problem(where, found[TOPICS].variable, code, factor, *both)
        return
    if least <= most:
        enough = max(factor if wanted < factor else 2 * most, wanted + 1)
        wrong = f"up to {most} of {factor} replicas are in one datacenter, so losing it can lose acknowledged records"
        advice = f"use {wanted} with a replication factor of {enough}"
        warning = model.brokers[0].available
        advice += "; promise: available takes it so" if warning else ", or declare promise: available"
        yield Problem(where, variable, "MIN_ISR_TOO_LOW", least, wrong, advice, warning=warning)
    if model.layout == "stretch3" and factor > least > factor - most:
        left = factor - most
        wrong = f"with a datacenter {left} of {factor} replicas remain, and writes stop; the layout promises to go on"
        yield Problem(where, variable, "MIN_ISR_STOPS", least, wrong, f"use {left}")


def goes_on(model: Model) -> bool:
    """Tell whether writes are to go on by themselves when a datacenter is lost."""
    wanted = bool(model.brokers) and model.brokers[0].available
    return model.layout == "stretch3" or (model.layout == "stretch2_5" and wanted)


def promise(model: Model) -> Iterator[Problem]:
    """That writes go on without a datacenter is promised where they can: of stretch3 MIN_ISR_STOPS says it."""
    if not _spread(model) or not model.brokers[0].available or odd_racks(model):
        return
    found = settings(model.brokers[0])
    factor, least = found[TOPICS].value, found[MIN_ISRS[0]]
    most = most_replicas(model, factor) if factor else None
    where, code = names(model.functional), "PROMISE_UNKEPT"
    if model.layout == "stretch2":
        wrong = "with either datacenter ZooKeeper stops, and writes with it until somebody acts"
        advice = "take it out: with stretch2 no acknowledged record is lost; a witness (stretch2_5) keeps it"
        yield Problem(where, "promise", code, "available", wrong, advice)
    elif model.layout == "stretch2_5" and factor and most and least.value and factor > least.value > factor - most:
        left = factor - most
        wrong = f"with a datacenter {left} of {factor} replicas remain, and {least.variable} is {least.value}: writes "
        advice = f"set {least.variable} to {left}, which gives up zero loss, or take promise out"
        yield Problem(where, "promise", code, "available", f"{wrong}stop until somebody acts", advice)


def same_everywhere(model: Model) -> Iterator[Problem]:
    """What belongs to the cluster is the same on every broker."""
    for name in SAME:
        told: dict[str, list[str]] = {}
        for broker in model.brokers:
            told.setdefault(str(_plain(broker.inputs.get(name))), []).append(broker.name)
        if len(told) > 1:
            value, few = min(told.items(), key=lambda item: len(item[1]))
            others = ", ".join(sorted(other for other in told if other != value))
            wrong, version = f"the other brokers have {others}, and it belongs to the cluster", name == "kafka_version"
            advice = "roll versions one by one" if version else "set it once, for all brokers"
            if name in LONG:
                wrong = "the other brokers have it otherwise, and it belongs to the cluster"
            shown = None if name in LONG else value
            yield Problem(tuple(few), name, "BROKERS_DIFFER", shown, wrong, advice, warning=version)


def apart(model: Model) -> Iterator[Problem]:
    """What decides which records are kept, and how groups live, is not another broker's word than the next one's."""
    said = {str(name) for broker in model.brokers for name in broker.config if OF_ALL.fullmatch(str(name))}
    for name in sorted(said):
        told: dict[str, list[Broker]] = {}
        for broker in model.brokers:
            value = broker.config.get(name)
            told.setdefault("none" if value is None else text_of(value), []).append(broker)
        value, few = min(told.items(), key=lambda item: len(item[1]))
        if len(told) > 1 and value != "none":  # what a host lost with the rest is said as CONFIG_REPLACED
            others = ", ".join(sorted(other for other in told if other != value))
            wrong = f"the other brokers have {others}, and each goes by its own: what holds changes with the leader"
            layer = next((one for one, found in reversed(few[0].layers) if name in found), "kafka_config_overrides")
            place, advice = f"{layer}[{name}]", "say it once, for all brokers, or for topics"
            yield Problem(names(few), place, "PROPERTY_APART", value, wrong, advice, warning=True)


def _plain(value: Any) -> Any:
    """Return what is declared without regard to how Ansible wraps it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in sorted(value.items(), key=lambda item: str(item[0]))}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
