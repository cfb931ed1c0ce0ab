"""Compares declared dynamic settings of brokers with the existing ones, and returns changes and refusals. No I/O.

The package facade reads and writes the settings.
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
"""Kafka's name for the scope of all brokers; a setting of a single broker overrides it."""
Wanted = Mapping[str, Mapping[str, Any]]
"""By scope (ALL, or the id of a broker as a string), the declared value of each setting; None removes the setting."""
THROTTLES = re.compile(r"(leader|follower)\.replication\.throttled\..+|replica\.alter\.log\.dirs\.io\.max\..+")
"""Settings that throttle the copying of replicas; the program that moves the replicas sets them."""
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
"""Settings that decide which records are lost, in each topic that has no value of its own."""
LOSES = "decides which records are lost, for all topics without a value of their own"
ALLOWED = "set allow_data_loss: true"
LEAST: Mapping[str, tuple[int, str]] = {
    "log.cleaner.io.max.bytes.per.second": (1, "compacted topics, __consumer_offsets among them, would only grow"),
    "log.segment.bytes": (1 << 20, "a few records would fill a segment, until a broker runs out of file descriptors"),
    "max.connection.creation.rate": (1, "no client and no broker could connect any more"),
    "max.connections": (1, "no client could connect any more"),
    "max.connections.per.ip": (1, "no client and no other broker could connect any more"),
    "message.max.bytes": (1 << 14, "batches of producers, and offset commits of groups, would be rejected"),
    "num.io.threads": (1, "no request would be answered any more"),
    "num.network.threads": (1, "no request would be answered any more"),
    "num.replica.fetchers": (1, "no replica would follow its leader"),
    "producer.id.expiration.ms": (
        120_000,
        "producers that retry within their delivery.timeout.ms would write records twice",
    ),
}
"""The least values with which a cluster can run, and what happens below them. Kafka accepts most lower values."""
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
"""A decimal number, which can be compared with a minimum; 0x10 and nan are not accepted."""
MESSAGE = "message.max.bytes"
OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.")


@dataclass(frozen=True)
class Known:
    """What brokers report about one setting: whether it is read-only or secret, and its value."""

    read_only: bool = False
    """Whether brokers read the setting only when they start."""
    secret: bool = False
    """Whether brokers do not show the value. They also do not show values of settings whose name they do not know."""
    value: str | None = None
    """The current value; for message.max.bytes, the largest value of all brokers."""


@dataclass(frozen=True)
class Found:
    """The dynamic settings of each scope (a broker, or all brokers), and all settings that brokers know."""

    settings: Mapping[str, Mapping[str, str | None]]
    """By scope, its dynamic settings; the value of a secret is None. Brokers that are down are missing."""
    known: Mapping[str, Known]


def scope_name(scope: str) -> str:
    """Return the name of a scope for messages: `broker 1` for the scope '1', `all brokers` for ''."""
    return f"broker {scope}" if scope else "all brokers"


def text(value: Any) -> str | None:
    """Return a declared value as brokers expect it, as a string; None (remove the setting) stays None."""
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value).strip()


def same(one: str | None, other: str | None) -> bool:
    """Tell whether two values are equal as numbers (1 and 1.0), booleans (true and TRUE) or comma-separated lists."""
    if one is None or other is None or one == other:
        return one == other
    try:
        return float(one) == float(other)
    except ValueError:
        if {one.lower(), other.lower()} <= {"true", "false"}:
            return one.lower() == other.lower()
        return [item.strip() for item in one.split(",")] == [item.strip() for item in other.split(",")]


def line(key: str, value: str | None) -> str:
    """Return an existing setting as `key: value` for messages; without a value (a secret) as `key: not shown`."""
    return f"{key}: not shown" if value is None else human(key, value)


def differing(wanted: Mapping[str, str | None], there: Mapping[str, str | None]) -> list[str]:
    """Return the sorted names of settings in `wanted` whose value differs from the value in `there`.

    None in `wanted` means that the setting is to be removed: it differs if `there` has the setting.
    """
    return sorted(
        key
        for key, value in wanted.items()
        if (value is None and key in there) or (value is not None and not same(value, there.get(key)))
    )


def kind_of(name: str, known: Mapping[str, Known]) -> Known | None:
    """Return what brokers report about a setting, None if they do not know its name.

    A name with a prefix `listener.name.X.` is also looked up without the prefix, and without the mechanism after it.
    """
    own = OF_LISTENER.sub("", name)
    return known.get(name) or known.get(own) or (known.get(own.partition(".")[2]) if own != name else None)


def below_minimum(name: str, value: Any) -> tuple[int, str] | None:
    """Return (minimum, reason) if no cluster can run with a value that Kafka accepts, as 0 for `max.connections`.

    Return None if the value is at least the minimum in LEAST, if LEAST has no minimum, or if the value is no number.
    """
    least, why = LEAST.get(OF_LISTENER.sub("", name), (0, ""))
    number = str(value).strip()
    return (least, why) if why and NUMBER.fullmatch(number) and float(number) < least else None


def not_a_number(name: str, value: Any) -> str:
    """Return an error text if the setting has a minimum (LEAST) but `value` is no decimal number, else ''."""
    least = LEAST.get(OF_LISTENER.sub("", name), (0, ""))[0]
    invalid = least and not NUMBER.fullmatch(str(value).strip()) and not str(value).startswith("${")
    return f"is not a number; set a decimal number of at least {least}" if invalid else ""


def warnings(wanted: Wanted, found: Found) -> list[str]:
    """Return warnings about changes that are made nevertheless.

    There is one kind: a `message.max.bytes` below the value that the brokers use now.
    """
    has = found.known.get(MESSAGE, Known()).value
    lines = []
    for scope, settings in wanted.items():
        value = text(settings.get(MESSAGE))
        if value and has and value.isdigit() and has.isdigit() and int(value) < int(has):
            effect = "topics without a max.message.bytes of their own will reject larger batches"
            lines.append(f"{scope_name(scope)}: {human(MESSAGE, value)} is lower than {has}: {effect}")
    return lines


def faults(scope: str, settings: Mapping[str, Any], found: Found, allow_data_loss: bool = False) -> Iterator[str]:
    """Yield a message for each declared setting of one scope that is rejected, without the name of the scope.

    A value of None removes a setting, also one whose name brokers do not know. Settings that decide which records are
    lost (LOSING) are rejected unless `allow_data_loss` is set.
    """
    existing = found.settings.get(scope, {})
    for name, value in sorted(settings.items()):
        if value is None:
            if name in LOSING and name in existing and not allow_data_loss:
                then = "the value of all brokers, or in its file" if scope else "the value in the brokers' files"
                why = f"would be replaced by {then}, and the setting {LOSES}"
                yield f"{line(name, existing[name])} {why}; set the intended value in kafka_config, and {ALLOWED}"
            continue
        kind = kind_of(name, found.known)
        if kind is None:
            yield f"{name} is not a setting of brokers; correct its name, or remove it with null"
        elif kind.read_only:
            yield f"{name}: brokers read it only at their start; set it in kafka_config"
        elif kind.secret:
            yield f"{name} is a secret, which cannot be compared; set it in kafka_config"
        elif isinstance(value, (list, dict)):
            yield f"{name} {json.dumps(value)}: is not a single value; write a string or a number"
        elif why := not_a_number(name, value):
            yield f"{name} {value} {why}"
        elif limit := below_minimum(name, value):
            yield f"{name} {value}: {limit[1]}; set at least {limit[0]}"
        elif name in LOSING and not allow_data_loss:
            yield f"{name} {LOSES}; set it in kafka_config, or {ALLOWED}"


def diff(wanted: Wanted, found: Found, allow_data_loss: bool = False) -> Plan:
    """Return the plan that makes the dynamic settings of brokers match `wanted`; with a refusal, nothing is written.

    Settings that are not declared stay, and are listed as unmanaged. `allow_data_loss` allows settings in LOSING.
    """
    changes, unchanged, refusals = [], [], []
    for scope, settings in wanted.items():
        name = scope_name(scope)
        if scope and scope not in found.settings:
            if settings:
                refusals.append(f"{name} is down, and only it can validate its settings; start it, or correct the id")
            continue
        refusals += [f"{name}: {why}" for why in faults(scope, settings, found, allow_data_loss)]
        existing = found.settings.get(scope, {})
        texts = {key: text(value) for key, value in settings.items()}
        work = {key: texts[key] for key in differing(texts, existing)}
        if work:
            before = tuple(line(key, existing[key]) for key in sorted(work) if key in existing)
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
