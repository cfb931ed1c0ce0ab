"""Settings of running brokers: what is wanted and what is found become changes and refusals.

Pure; who reads and writes is the facade.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.change import Change, Plan, human

KIND = "settings of"
ALL = ""
"""Kafka's own name for what holds for each broker that has no setting of its own."""
Wanted = Mapping[str, Mapping[str, Any]]
"""By scope (ALL, or the id of a broker as a text), settings; None takes one back."""
THROTTLES = re.compile(r"(leader|follower)\.replication\.throttled\..+|replica\.alter\.log\.dirs\.io\.max\..+")
"""Set while replicas move, by whom moves them."""
LOSING = (
    "log.cleaner.delete.retention.ms",
    "log.cleanup.policy",
    "log.local.retention.bytes",
    "log.local.retention.ms",
    "log.retention.bytes",
    "log.retention.ms",
    "log.roll.jitter.ms",
    "log.roll.ms",
    "min.insync.replicas",
    "unclean.leader.election.enable",
)
"""They decide of every topic without a value of its own which records are lost."""
LOSES = "decides of all topics without a value of their own which records are lost"
ALLOWED = "allow_data_loss: true if that is meant"
LEAST: Mapping[str, tuple[int, str]] = {
    "log.cleaner.io.max.bytes.per.second": (1, "compacted topics, __consumer_offsets among them, would only grow"),
    "log.segment.bytes": (1 << 20, "each few records would be a file, until a broker may open no more"),
    "max.connection.creation.rate": (1, "nobody could connect any more"),
    "max.connections": (1, "no client could connect any more"),
    "max.connections.per.ip": (1, "nobody could connect any more, other brokers neither"),
    "message.max.bytes": (1 << 14, "batches of producers, and what groups commit, would be refused"),
    "num.io.threads": (1, "no request would be answered any more"),
    "num.network.threads": (1, "no request would be answered any more"),
    "num.replica.fetchers": (1, "no replica would follow its leader"),
    "producer.id.expiration.ms": (
        120_000,
        "producers that try again within their delivery.timeout.ms would have records stored twice",
    ),
}
"""Values below these Kafka takes, most of them, and a cluster does not stand."""
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
"""As all programs read one: neither 0x10 nor nan, of which nobody could say whether they are too low."""
MESSAGE = "message.max.bytes"
OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.")


@dataclass(frozen=True)
class Known:
    """What brokers say of a setting."""

    read_only: bool = False
    """Read when a broker starts, and never again."""
    secret: bool = False
    """Its value is not shown, as those of names that brokers do not know."""
    value: str | None = None
    """The one that holds; of several brokers the largest message.max.bytes."""


@dataclass(frozen=True)
class Found:
    """What brokers know, and what was set while they ran."""

    settings: Mapping[str, Mapping[str, str | None]]
    """By scope, those that were set there; None is the value of a secret. Brokers that are not there have none."""
    known: Mapping[str, Known]


def scope_name(scope: str) -> str:
    """Return a scope as a person says it."""
    return f"broker {scope}" if scope else "all brokers"


def text(value: Any) -> str | None:
    """Return a value as brokers take it; None takes the setting back."""
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value).strip()


def same(one: str | None, other: str | None) -> bool:
    """Tell whether two texts mean the same value."""
    if one is None or other is None or one == other:
        return one == other
    try:
        return float(one) == float(other)
    except ValueError:
        if {one.lower(), other.lower()} <= {"true", "false"}:
            return one.lower() == other.lower()
        return [item.strip() for item in one.split(",")] == [item.strip() for item in other.split(",")]


def line(key: str, value: str | None) -> str:
    """Return a setting that is there as it is shown: brokers keep secrets, and what they do not know, to themselves."""
    return f"{key}: not shown" if value is None else human(key, value)


def differing(wanted: Mapping[str, str | None], there: Mapping[str, str | None]) -> list[str]:
    """Return the settings that are not as wanted, those among them that are still there and are to be gone."""
    return sorted(
        key
        for key, value in wanted.items()
        if (value is None and key in there) or (value is not None and not same(value, there.get(key)))
    )


def kind_of(name: str, known: Mapping[str, Known]) -> Known | None:
    """Return what is known of a setting, by its own name where it is one listener's; None of one that nobody knows."""
    own = OF_LISTENER.sub("", name)
    return known.get(name) or known.get(own) or (known.get(own.partition(".")[2]) if own != name else None)


def dangerous(name: str, value: Any) -> str:
    """Return why a cluster would not stand a value that Kafka takes; '' where it would, or where it is no number."""
    least, why = LEAST.get(OF_LISTENER.sub("", name), (0, ""))
    number = str(value).strip()
    return f"{why}; say at least {least}" if why and NUMBER.fullmatch(number) and float(number) < least else ""


def no_number(name: str, value: Any) -> str:
    """Return why a value is none for a setting that is not to be below a number; '' where it is one."""
    least = LEAST.get(OF_LISTENER.sub("", name), (0, ""))[0]
    wrong = least and not NUMBER.fullmatch(str(value).strip()) and not str(value).startswith("${")
    return f"is no number; say one, in digits, of at least {least}" if wrong else ""


def warnings(wanted: Wanted, found: Found) -> list[str]:
    """Return what is to be known of changes that are made all the same."""
    has = found.known.get(MESSAGE, Known()).value
    told = []
    for scope, settings in wanted.items():
        value = text(settings.get(MESSAGE))
        if value and has and value.isdigit() and has.isdigit() and int(value) < int(has):
            why = f"lower than {has}: of topics without a max.message.bytes of their own, larger batches are refused"
            told.append(f"{scope_name(scope)}: {human(MESSAGE, value)} is {why} from then on")
    return told


def faults(scope: str, settings: Mapping[str, Any], found: Found, allow_data_loss: bool = False) -> Iterator[str]:
    """Yield why settings of a scope are refused; what nobody knows can be taken back."""
    there = found.settings.get(scope, {})
    for name, value in sorted(settings.items()):
        if value is None:
            if name in LOSING and name in there and not allow_data_loss:
                then = "what is set for all brokers, or what its file says" if scope else "what the brokers' files say"
                why = f"would give way to {then}, and that {LOSES}"
                yield f"{line(name, there[name])} {why}; say in kafka_config what is to hold, and {ALLOWED}"
            continue
        kind = kind_of(name, found.known)
        if kind is None:
            yield f"{name} is no setting of brokers; correct its name, or take it back with null"
        elif kind.read_only:
            yield f"{name}: brokers read it when they start; say it in kafka_config"
        elif kind.secret:
            yield f"{name} is a secret, and nobody could compare it; say it in kafka_config"
        elif isinstance(value, (list, dict)):
            shown = json.dumps(value)
            yield f"{name} {shown}: one value is wanted, and this is none; write a text or a number"
        elif why := no_number(name, value):
            yield f"{name} {value} {why}"
        elif why := dangerous(name, value):
            yield f"{name} {value}: {why}"
        elif name in LOSING and not allow_data_loss:
            yield f"{name} {LOSES}; say it in kafka_config, or {ALLOWED}"


def diff(wanted: Wanted, found: Found, allow_data_loss: bool = False) -> Plan:
    """Return what is to be done that settings are as wanted; what is set and not declared is left, and told."""
    changes, unchanged, refusals = [], [], []
    for scope, settings in wanted.items():
        name = scope_name(scope)
        if scope and scope not in found.settings:
            if settings:
                why = "is not there, and it alone knows its own settings"
                refusals.append(f"{name} {why}; start it, or correct the id")
            continue
        refusals += [f"{name}: {why}" for why in faults(scope, settings, found, allow_data_loss)]
        there = found.settings.get(scope, {})
        texts = {key: text(value) for key, value in settings.items()}
        work = {key: texts[key] for key in differing(texts, there)}
        if work:
            before = tuple(line(key, there[key]) for key in sorted(work) if key in there)
            after = tuple(human(key, work[key]) for key in sorted(work) if work[key] is not None)
            changes.append(Change(KIND, name, "update", before, after, (scope, work)))
        elif settings:
            unchanged.append(name)
    unmanaged = [
        f"{scope_name(scope)}: {key}"
        for scope, settings in found.settings.items()
        for key in settings
        if key not in wanted.get(scope, {})
    ]
    return Plan(changes, unchanged, sorted(unmanaged), refusals)
