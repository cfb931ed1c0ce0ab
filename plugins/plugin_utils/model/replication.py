"""Checks replication factors and min.insync.replicas of the cluster.

Records and writes must survive the loss of a disk, a broker or a datacenter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model, datacenters, names
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Broker
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.layouts import STRETCHED
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import most_replicas
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.topology import odd_racks, of_uneven_racks
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import text_of

TOPICS, OFFSETS, TRANSACTIONS = FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
)
MIN_ISRS = ("min.insync.replicas", "transaction.state.log.min.isr")
KAFKA_DEFAULTS = dict(zip((*FACTORS, *MIN_ISRS), (1, 3, 3, 1, 2), strict=True))
INPUTS = {**dict.fromkeys(FACTORS, "kafka_replication_factor"), **dict.fromkeys(MIN_ISRS, "kafka_min_insync_replicas")}
# Variables that belong to the cluster, so that all brokers have the same value.
SAME = (
    "kafka_replication_factor",
    "kafka_min_insync_replicas",
    "kafka_zookeeper_chroot",
    "kafka_inter_broker_listener",
    "kafka_version",
    "kafka_super_users",
    # Playbooks take the following from the first broker.
    "kafka_cluster_id",
    "kafka_topic_defaults",
    "kafka_topics",
    "kafka_users",
    "kafka_acls",
    "kafka_quotas",
    "kafka_prune",
)
LONG = ("kafka_topic_defaults", "kafka_topics", "kafka_users", "kafka_acls", "kafka_quotas", "kafka_prune")
# Properties of brokers that apply to records and groups of whichever broker is the leader.
OF_ALL = re.compile(
    r"log\.retention\.(ms|minutes|hours|bytes)|log\.cleanup\.policy|log\.cleaner\.(min|max|delete)\..*\.ms"
    r"|log\.message\.timestamp\..*|message\.max\.bytes|compression\.type|auto\.create\.topics\.enable|num\.partitions"
    r"|delete\.topic\.enable|group\..*|offsets\.(retention|topic)\..*(minutes|partitions)|transaction(al)?\..*"
)
MANY = 10  # replicas: a larger factor is suggested only if it is the number of brokers


@dataclass(frozen=True)
class Setting:
    """The value of a replication property of a broker, and the variable that sets it, such as kafka_config[name]."""

    value: int | None
    variable: str


def settings(broker: Broker) -> dict[str, Setting]:
    """Return {property: Setting} of the properties of a broker that set replication factors and min.insync.replicas."""
    replication = {name: Setting(broker.inputs.whole(variable), variable) for name, variable in INPUTS.items()}
    for variable, layer in broker.layers:
        for name in INPUTS.keys() & layer.keys():
            # A key that is removed leaves Kafka's own default.
            value = KAFKA_DEFAULTS[name] if layer[name] is None else layer[name]
            replication[name] = Setting(whole(value), f"{variable}[{name}]")
    return replication


REPLICATION_TOO_HIGH = ProblemKind(
    "REPLICATION_TOO_HIGH",
    "more replicas than the cluster has brokers ({brokers}), so no topic could be created",
    "use at most {brokers}, or add brokers",
)
REPLICATION_ONE = ProblemKind(
    "REPLICATION_ONE",
    "one replica: a lost disk loses acknowledged records, whatever min.insync.replicas is",
    "use 3",
)


def factors(model: Model) -> Iterator[Problem]:
    """Yield a problem for each replication factor above the number of brokers, or of 1 although there are several."""
    brokers = len(model.brokers)
    for broker in model.brokers:
        replication = settings(broker)
        for setting in dict.fromkeys(replication[name] for name in FACTORS):
            factor, variable = setting.value, setting.variable
            if factor is not None and factor > brokers:
                yield broker.report(REPLICATION_TOO_HIGH, variable, factor, brokers=brokers)
            elif factor == 1 and brokers > 1:
                yield broker.report(REPLICATION_ONE, variable, factor, warning=broker.available)


MIN_ISR_TOO_HIGH = ProblemKind(
    "MIN_ISR_TOO_HIGH",
    "more than the {replicas} replicas: Kafka would reduce it without a message",
    "use {correct}",
)
MIN_ISR_EQUAL = ProblemKind("MIN_ISR_EQUAL", "one broker down stops all writes with acks=all", "use {correct}")
MIN_ISR_ONE = ProblemKind(
    "MIN_ISR_ONE",
    "a record is acknowledged when one broker has it, and is lost with that broker",
    "use at least {smallest}",
)
# The advice if no min.insync.replicas is right with the replication factor: another factor, or more brokers.
ANOTHER_FACTOR = "use {correct}, and set {factor_setting} to {needed}"
ONLY_FACTOR = "set {factor_setting} to {needed}"
MORE_BROKERS = (
    "add brokers until there are at least {needed}, use {correct}, and set {factor_setting} to {needed}: with "
    "{brokers} brokers no value keeps both records and writes"
)


def least_in_sync(model: Model) -> Iterator[Problem]:
    """Yield a problem for each min.insync.replicas with which one lost broker loses records or stops writes."""
    for broker in model.brokers:
        replication = settings(broker)
        seen = set()
        same = [replication[name].value for name in (MIN_ISRS[0], TOPICS)]
        for name, factor_name in ((MIN_ISRS[0], TOPICS), (MIN_ISRS[1], TRANSACTIONS)):
            setting, factor = replication[name], replication[factor_name]
            if name == MIN_ISRS[1] and [setting.value, factor.value] != same:
                continue  # reported as INTERNAL_TOPICS_DIFFER
            if setting.value is not None and factor.value is not None and setting not in seen:
                seen.add(setting)
                yield from _least(model, broker, setting, factor)


def _least(model: Model, broker: Broker, setting: Setting, factor_setting: Setting) -> Iterator[Problem]:
    least, factor = setting.value or 0, factor_setting.value or 0
    if least <= factor and (factor < 2 or 1 < least < factor):
        return
    kind = MIN_ISR_TOO_HIGH if least > factor else MIN_ISR_EQUAL if least == factor else MIN_ISR_ONE
    needed, smallest, correct = correction(model, factor, available=broker.available)
    if needed != factor:
        advice = ANOTHER_FACTOR if correct != least else ONLY_FACTOR
        kind = kind.variant(advice=advice if needed <= len(model.brokers) else MORE_BROKERS)
    yield broker.report(
        kind,
        setting.variable,
        least,
        warning=broker.available if kind.code == MIN_ISR_ONE.code else None,
        replicas=factor,
        correct=correct,
        smallest=smallest,
        needed=needed,
        factor_setting=factor_setting.variable,
        brokers=len(model.brokers),
    )


def correction(model: Model, factor: int, *, available: bool = False) -> tuple[int, int, int]:
    """Return (replication factor, smallest, largest min.insync.replicas): values that no rule rejects.

    The factor is the smallest from `factor` on, or from 2 on if there are fewer brokers than `factor`. If the brokers
    are too few for any, the factor is larger than their number. `available` is whether acknowledged records may be
    lost (promise: available).
    """
    brokers = len(model.brokers)
    for smallest in (2, 1) if available else (2,):
        for number in range(factor if 2 <= factor <= brokers else 2, brokers + 1):
            right = [least for least in range(smallest, number) if _is_right(model, number, least, available)]
            if right:
                return number, right[0], right[-1]
    needed = max(4 if _is_stretched(model) and model.layout != "stretch3" else 3, len(model.brokers) + 1)
    return needed, needed - 1, needed - 1


def _is_right(model: Model, factor: int, least: int, available: bool) -> bool:
    """Tell whether a min.insync.replicas below the replication factor survives the loss of a datacenter as required."""
    most = most_replicas(model, factor) if _is_stretched(model) else 0
    keeps_records = most is not None and (most < least or available)
    keeps_writes = most is not None and (least <= factor - most or not writes_continue(model))
    return keeps_records and keeps_writes


INTERNAL_TOPICS_DIFFER = ProblemKind(
    "INTERNAL_TOPICS_DIFFER",
    "{name} is {number}, but {reference} is {expected}",
    "remove {name}: the role sets it",
)
INTERNAL_TOPICS_DIFFER_NEVER = INTERNAL_TOPICS_DIFFER.variant(
    message=f"{INTERNAL_TOPICS_DIFFER.message}: {{in_sync}} replicas have to be in sync, so no transaction would begin "
    "or end"
)
INTERNAL_TOPICS_DIFFER_DOWN = INTERNAL_TOPICS_DIFFER.variant(
    message=f"{INTERNAL_TOPICS_DIFFER_NEVER.message} while one broker with a replica is down"
)
INTERNAL_TOPICS_DIFFER_OFFSETS = INTERNAL_TOPICS_DIFFER.variant(
    message=f"{INTERNAL_TOPICS_DIFFER.message}: a failure that loses no records could lose offsets of consumer groups"
)
INTERNAL_TOPICS_DIFFER_TRANSACTIONS = INTERNAL_TOPICS_DIFFER.variant(
    message=f"{INTERNAL_TOPICS_DIFFER.message}: a failure that loses no records could lose transactions"
)


def internal_topics(model: Model) -> Iterator[Problem]:
    """Yield a problem if the topics of consumer offsets or transactions replicate otherwise than new topics.

    Their replication factors and min.insync.replicas should be the broker's defaults for topics.
    """
    for broker in model.brokers:
        replication = settings(broker)
        in_sync = replication[MIN_ISRS[1]].value
        for name, reference in ((OFFSETS, TOPICS), (TRANSACTIONS, TOPICS), (MIN_ISRS[1], MIN_ISRS[0])):
            value, expected = replication[name].value, replication[reference].value
            if value is not None and expected is not None and value != expected:
                yield broker.report(
                    _internal_topic_kind(name, value, expected, in_sync),
                    replication[name].variable,
                    value,
                    name=name,
                    number=value,
                    reference=reference,
                    expected=expected,
                    in_sync=in_sync,
                )


def _internal_topic_kind(name: str, value: int, expected: int, in_sync: int | None) -> ProblemKind:
    """Return the kind of problem of an internal topic's property `name` that is `value` instead of `expected`.

    `in_sync` is the number of in-sync replicas that transactions require.
    """
    if name == TRANSACTIONS and in_sync is not None and value <= in_sync:
        return INTERNAL_TOPICS_DIFFER_NEVER if value < in_sync else INTERNAL_TOPICS_DIFFER_DOWN
    if name in (OFFSETS, TRANSACTIONS) and value < expected:
        return INTERNAL_TOPICS_DIFFER_OFFSETS if name == OFFSETS else INTERNAL_TOPICS_DIFFER_TRANSACTIONS
    return INTERNAL_TOPICS_DIFFER


UNCLEAN_ELECTION = ProblemKind(
    "UNCLEAN_ELECTION",
    "a replica that is not in sync may become leader, and acknowledged records are lost",
    "remove it (default: false). If you must, run an unclean election by hand, for one partition",
)


def unclean_election(model: Model) -> Iterator[Problem]:
    """Yield a problem for each broker with unclean.leader.election.enable.

    With this property, a replica without all acknowledged records may become leader.
    """
    name = "unclean.leader.election.enable"
    for broker in model.brokers:
        for variable, layer in broker.layers:
            if str(layer.get(name)).lower() == "true":
                yield broker.report(UNCLEAN_ELECTION, f"{variable}[{name}]", True)


def _is_stretched(model: Model) -> bool:
    return model.layout in STRETCHED and len(datacenters(model.brokers)) > 1


# If no min.insync.replicas keeps both records and writes: what is wrong, and two ways to correct it.
NO_COMPROMISE = (
    "no min.insync.replicas keeps both records and writes with {replicas} replicas on {brokers} brokers "
    "if a datacenter is lost"
)
FACTORS_THAT_SURVIVE = "use {factors} replicas"
BALANCE = "use the same number of brokers in each datacenter"
MIN_ISR_TOO_LOW = ProblemKind(
    "MIN_ISR_TOO_LOW",
    "up to {most} of {replicas} replicas are in one datacenter, so its loss can lose acknowledged records",
    "use {correct} with a replication factor of {needed}, or declare promise: available",
)
MIN_ISR_TOO_LOW_ALONE = MIN_ISR_TOO_LOW.variant(advice="use {correct} with a replication factor of {needed}")
MIN_ISR_TOO_LOW_BROKERS = MIN_ISR_TOO_LOW.variant(
    advice="add brokers until there are at least {needed}, and use {correct} with a replication factor of {needed}"
)
MIN_ISR_TOO_LOW_ACCEPTED = MIN_ISR_TOO_LOW.variant(
    advice="use {correct} with a replication factor of {needed}, or keep it: promise: available accepts this"
)
MIN_ISR_TOO_LOW_FACTOR = MIN_ISR_TOO_LOW.variant(message=NO_COMPROMISE, advice=FACTORS_THAT_SURVIVE)
MIN_ISR_TOO_LOW_BALANCE = MIN_ISR_TOO_LOW.variant(message=NO_COMPROMISE, advice=BALANCE)
MIN_ISR_STOPS = ProblemKind(
    "MIN_ISR_STOPS",
    "if a datacenter is lost, {left} of {replicas} replicas would be left, and writes stop, but the layout requires "
    "them to continue",
    "use {left}",
)
MIN_ISR_STOPS_FACTOR = MIN_ISR_STOPS.variant(message=NO_COMPROMISE, advice=FACTORS_THAT_SURVIVE)
MIN_ISR_STOPS_BALANCE = MIN_ISR_STOPS.variant(message=NO_COMPROMISE, advice=BALANCE)


def datacenter_loss(model: Model) -> Iterator[Problem]:
    """Yield a problem if, in a stretched cluster, the loss of a datacenter loses records or stops writes.

    Every acknowledged record must be in two datacenters. Writes must continue only with the layout stretch3.
    """
    if not _is_stretched(model) or odd_racks(model):
        return
    replication = settings(model.brokers[0])
    factor, least, variable = (
        replication[TOPICS].value,
        replication[MIN_ISRS[0]].value,
        replication[MIN_ISRS[0]].variable,
    )
    most = most_replicas(model, factor) if factor else None
    if factor is None or least is None or most is None:
        return
    if of_uneven_racks(model, factor, least):
        return  # reported as RACK_UNEVEN
    hosts, brokers, available = names(model.brokers), len(model.brokers), model.brokers[0].available
    others = factors_that_survive(model, factor) if model.layout == "stretch3" and not available else None
    if others is not None and factor > least:
        kinds = (MIN_ISR_TOO_LOW_FACTOR, MIN_ISR_STOPS_FACTOR)
        kinds = kinds if others else (MIN_ISR_TOO_LOW_BALANCE, MIN_ISR_STOPS_BALANCE)
        kind = kinds[0] if least <= most else kinds[1]
        numbers = " or ".join(map(str, others))
        yield kind.problem(
            hosts, replication[TOPICS].variable, factor, replicas=factor, brokers=brokers, factors=numbers
        )
        return
    if least <= most:
        needed, correct, _ = correction(model, factor)
        # With stretch2, ZooKeeper cannot keep this promise; with fewer replicas left, writes cannot.
        may_promise = model.layout != "stretch2" and least <= factor - most
        kind = MIN_ISR_TOO_LOW if may_promise else MIN_ISR_TOO_LOW_ALONE
        kind = kind if needed <= brokers or may_promise else MIN_ISR_TOO_LOW_BROKERS
        kind = MIN_ISR_TOO_LOW_ACCEPTED if available else kind
        details: dict[str, Any] = {"needed": needed, "correct": correct}
        yield kind.problem(hosts, variable, least, warning=available, most=most, replicas=factor, **details)
    if model.layout == "stretch3" and factor > least > factor - most:
        yield MIN_ISR_STOPS.problem(hosts, variable, least, left=factor - most, replicas=factor)


def factors_that_survive(model: Model, factor: int) -> list[int] | None:
    """Return the smallest and the largest replication factor that survives the loss of a datacenter.

    A replication factor survives if some min.insync.replicas keeps both records and writes. The list has one number if
    the smallest is also the largest, and is empty if no factor survives. Return None if `factor` itself survives.
    """
    if _survives(model, factor):
        return None
    brokers = len(model.brokers)
    known = sorted(number for number in {*range(3, min(brokers, MANY)), brokers} if _survives(model, number))
    return list(dict.fromkeys((*known[:1], *known[-1:])))


def _survives(model: Model, factor: int) -> bool:
    most = most_replicas(model, factor)
    return most is not None and most + 1 <= factor - most


def writes_continue(model: Model) -> bool:
    """Tell whether `layout` and `promise` require that writes continue without help after the loss of a datacenter."""
    available = bool(model.brokers) and model.brokers[0].available
    return model.layout == "stretch3" or (model.layout == "stretch2_5" and available)


PROMISE_UNKEPT = ProblemKind(
    "PROMISE_UNKEPT",
    "if a datacenter is lost, {left} of {replicas} replicas would be left, and {setting} is {least}: writes stop until "
    "an operator acts",
    "set {setting} to {left}, which gives up zero loss, or remove promise (default: zero_loss)",
)
PROMISE_UNKEPT_ZOOKEEPER = PROMISE_UNKEPT.variant(
    message="if either datacenter is lost, ZooKeeper stops, and writes stop until an operator acts",
    advice="remove promise (with stretch2 no acknowledged record is lost), or add a witness (layout: stretch2_5), "
    "which keeps the promise",
)


def promise(model: Model) -> Iterator[Problem]:
    """Yield a problem if `promise` is "available", but writes would stop after the loss of a datacenter.

    The rule datacenter_loss reports this for the layout stretch3.
    """
    if not _is_stretched(model) or not model.brokers[0].available or odd_racks(model):
        return
    replication = settings(model.brokers[0])
    factor, least = replication[TOPICS].value, replication[MIN_ISRS[0]]
    most = most_replicas(model, factor) if factor else None
    hosts = names(model.functional)
    if model.layout == "stretch2":
        yield PROMISE_UNKEPT_ZOOKEEPER.problem(hosts, "promise", "available")
    elif model.layout == "stretch2_5" and factor and most and least.value and factor > least.value > factor - most:
        details: dict[str, Any] = {
            "left": factor - most,
            "replicas": factor,
            "least": least.value,
            "setting": least.variable,
        }
        yield PROMISE_UNKEPT.problem(hosts, "promise", "available", **details)


BROKERS_DIFFER = ProblemKind(
    "BROKERS_DIFFER",
    "the other brokers have {others}, but all brokers of a cluster must have one value",
    "set one value for all brokers",
)
BROKERS_DIFFER_LONG = BROKERS_DIFFER.variant(
    message="the other brokers have another value, but all brokers of a cluster must have one value"
)
BROKERS_DIFFER_VERSION = BROKERS_DIFFER.variant(
    message="the other brokers have {others}: two versions are only for the time of an upgrade",
    advice="continue the upgrade until all brokers have one version",
)


def same_everywhere(model: Model) -> Iterator[Problem]:
    """Yield a problem for each variable of the whole cluster (listed in SAME) that differs between brokers."""
    for name in SAME:
        brokers_by_value: dict[str, list[str]] = {}
        for broker in model.brokers:
            brokers_by_value.setdefault(str(_plain(broker.inputs.get(name))), []).append(broker.name)
        if len(brokers_by_value) > 1:
            value, minority = min(brokers_by_value.items(), key=lambda item: len(item[1]))
            kind, version = BROKERS_DIFFER_LONG if name in LONG else BROKERS_DIFFER, name == "kafka_version"
            others = ", ".join(sorted(other for other in brokers_by_value if other != value))
            yield (BROKERS_DIFFER_VERSION if version else kind).problem(
                minority, name, None if name in LONG else value, warning=version, others=others
            )


PROPERTY_APART = ProblemKind(
    "PROPERTY_APART",
    "the other brokers have {others}: each leader applies its own value, so the effect changes with the leader",
    "set one value for all brokers, or set it for topics",
    warning=True,
)


def differing_properties(model: Model) -> Iterator[Problem]:
    """Yield a warning for each property that the leader of a partition applies, and that differs between brokers.

    Examples are the retention of records and settings of consumer groups: their effect depends on which broker leads.
    """
    declared = {str(name) for broker in model.brokers for name in broker.config if OF_ALL.fullmatch(str(name))}
    for name in sorted(declared):
        brokers_by_value: dict[str, list[Broker]] = {}
        for broker in model.brokers:
            value = broker.config.get(name)
            brokers_by_value.setdefault("none" if value is None else text_of(value), []).append(broker)
        value, minority = min(brokers_by_value.items(), key=lambda item: len(item[1]))
        if len(brokers_by_value) > 1 and value != "none":  # a host that has no kafka_config: CONFIG_REPLACED
            others = sorted(other for other in brokers_by_value if other != value)
            layers = reversed(minority[0].layers)
            variable = next((variable for variable, layer in layers if name in layer), "kafka_config_overrides")
            yield PROPERTY_APART.problem(names(minority), f"{variable}[{name}]", value, others=others)


def _plain(value: Any) -> Any:
    """Return a value with Python's own dicts and lists instead of Ansible's types, so that values can be compared."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in sorted(value.items(), key=lambda item: str(item[0]))}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
