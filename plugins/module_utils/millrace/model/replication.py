"""Rules on replication: what the cluster promises when a server, a rack or a datacenter is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..problems import Problem
from .base import STRETCHED, Model, whole
from .layout import most_replicas

FACTORS = ("default.replication.factor", "offsets.topic.replication.factor", "transaction.state.log.replication.factor")
MIN_ISRS = ("min.insync.replicas", "transaction.state.log.min.isr")
KAFKA_DEFAULTS = dict(zip((*FACTORS, *MIN_ISRS), (1, 3, 3, 1, 2), strict=True))
INPUTS = {**dict.fromkeys(FACTORS, "kafka_replication_factor"), **dict.fromkeys(MIN_ISRS, "kafka_min_insync_replicas")}


def settings(model: Model, host: str) -> dict[str, Any]:
    """Return what a broker's file says of replication, and where each value comes from: {property: (value, variable)}."""
    found: dict[str, Any] = {name: (model.whole(host, variable), variable) for name, variable in INPUTS.items()}
    for variable in ("kafka_config", "kafka_config_overrides"):
        for name, value in model.mapping(host, variable).items():
            if name in INPUTS:
                # A key that is removed leaves Kafka's own default.
                found[name] = (whole(KAFKA_DEFAULTS[name] if value is None else value), f"{variable}[{name}]")
    return found


def factors(model: Model) -> Iterator[Problem]:
    """Replication factors fit the brokers, and writes survive one of them."""
    brokers = len(model.kafka)
    for host in model.kafka:
        found = settings(model, host)
        told: set[tuple[str, int]] = set()
        for name in FACTORS:
            factor, variable = found[name]
            if factor is None or (variable, factor) in told:
                continue
            told.add((variable, factor))
            if factor > brokers:
                wrong = f"more replicas than the {brokers} brokers, so no topic could be created"
                yield Problem((host,), variable, "REPLICATION_TOO_HIGH", factor, wrong, f"use {brokers} at most, or add brokers")
            elif factor == 1 and brokers > 1:
                wrong = "one copy: a lost disk loses acknowledged records, whatever min.insync.replicas says"
                yield Problem((host,), variable, "REPLICATION_ONE", factor, wrong, "use 3", warning=model.get(host, "promise") == "available")
        pairs = (("min.insync.replicas", FACTORS[0]), ("transaction.state.log.min.isr", FACTORS[2]))
        for name, of in pairs:
            (least, variable), (factor, _) = found[name], found[of]
            if least is None or factor is None or (variable, least) in told:
                continue
            told.add((variable, least))
            if least > factor:
                wrong = f"more than the {factor} replicas there are: Kafka would cap it in silence"
                yield Problem((host,), variable, "MIN_ISR_TOO_HIGH", least, wrong, f"use {max(factor - 1, 1)}")
            elif least == factor > 1:
                yield Problem((host,), variable, "MIN_ISR_EQUAL", least, "one broker down stops all writes with acks=all", f"use {factor - 1}")
            elif least == 1 and factor > 1:
                wrong = "a record is acknowledged when one broker has it, and is lost with that broker"
                yield Problem((host,), variable, "MIN_ISR_ONE", least, wrong, "use 2 at least", warning=model.get(host, "promise") == "available")


def internal_topics(model: Model) -> Iterator[Problem]:
    """Offsets and transactions are as safe as the records they belong to."""
    for host in model.kafka:
        found = settings(model, host)
        for name, profile in (*((factor, FACTORS[0]) for factor in FACTORS[1:]), (MIN_ISRS[1], MIN_ISRS[0])):
            (value, variable), (wanted, _) = found[name], found[profile]
            if value is not None and wanted is not None and value != wanted:
                wrong = f"an internal topic with {value} where {profile} is {wanted}"
                yield Problem((host,), variable, "INTERNAL_TOPICS_DIFFER", value, wrong, f"leave {name} out, the role sets it")


def unclean(model: Model) -> Iterator[Problem]:
    """No replica that lacks acknowledged records becomes leader."""
    for host in model.kafka:
        for variable in ("kafka_config", "kafka_config_overrides"):
            name = "unclean.leader.election.enable"
            if str(model.mapping(host, variable).get(name)).lower() == "true":
                wrong = "a replica that lags may become leader, and acknowledged records are lost"
                yield Problem(
                    (host,), f"{variable}[{name}]", "UNCLEAN_ELECTION", True, wrong, "leave it out; elect uncleanly by hand, for one partition"
                )


def datacenter_loss(model: Model) -> Iterator[Problem]:
    """In a stretched cluster an acknowledged record is in more than one datacenter."""
    if model.layout not in STRETCHED or not model.kafka:
        return
    host = model.kafka[0]
    found = settings(model, host)
    factor = found[FACTORS[0]][0]
    least, least_variable = found[MIN_ISRS[0]]
    most = most_replicas(model, factor) if factor else None
    if factor is None or least is None or most is None or len(model.datacenters(model.kafka)) < 2:
        return
    wanted = most + 1
    if least <= most:
        factor_wanted = factor if wanted < factor else 2 * most
        wrong = f"up to {most} of {factor} replicas are in one datacenter, so losing it can lose acknowledged records"
        yield Problem(
            tuple(model.kafka),
            least_variable,
            "MIN_ISR_TOO_LOW",
            least,
            wrong,
            f"use {wanted} with a replication factor of {max(factor_wanted, wanted + 1)}, or declare promise: available",
            warning=model.get(host, "promise") == "available",
        )
    if model.layout == "stretch3" and least > factor - most:
        wrong = f"with a datacenter {factor - most} of {factor} replicas remain, and writes stop; the layout promises to go on"
        yield Problem(tuple(model.kafka), least_variable, "MIN_ISR_STOPS", least, wrong, f"use {factor - most}")


def same_everywhere(model: Model) -> Iterator[Problem]:
    """What belongs to the cluster is the same on every broker."""
    for name in ("kafka_replication_factor", "kafka_min_insync_replicas", "kafka_zookeeper_chroot", "kafka_inter_broker_listener", "kafka_version"):
        told: dict[str, list[str]] = {}
        for host in model.kafka:
            told.setdefault(str(model.get(host, name)), []).append(host)
        if len(told) > 1:
            value, few = min(told.items(), key=lambda item: len(item[1]))
            others = ", ".join(sorted(other for other in told if other != value))
            wrong = f"the other brokers have {others}, and it belongs to the cluster"
            advice = "roll versions one by one" if name == "kafka_version" else "set it once, in group_vars/kafka.yml"
            yield Problem(tuple(few), name, "BROKERS_DIFFER", value, wrong, advice, warning=name == "kafka_version")
