"""Parses the options of the module kafka_reassign into a request, and collects everything wrong with them. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import entry_checks as entries
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import DiskWish, wished
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import amounts, record_schema
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.file_systems import Devices
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Wish

WITHIN = ("disk", "empty", "disks")
"""Actions between the log dirs of a broker."""
VERBS = ("add", "drain", "replace", "rebalance", "leaders", "replication_factor", "declared", *WITHIN, "cancel")


@dataclass(frozen=True)
class Request:
    """The options of the module kafka_reassign after parsing."""

    wish: Wish
    words: str
    """The request as on the command line: equal words are the same request."""
    topics: tuple[str, ...] = ()
    """The topics to move; all topics if none is named."""
    rate: int | None = None
    """Bytes a second that each broker may copy, None without a limit."""
    limited: bool = False
    """Whether the option `rate` was set; `unlimited` is a value of this option."""
    cancel: bool = False
    """Whether the request reverts the interrupted run."""
    within: DiskWish | None = None
    """The change between log dirs of brokers; then nothing moves to another broker."""
    declared: bool = False
    """Whether the factors are the declared ones, of existing topics with another factor."""
    timer: bool = False
    """Whether the timer made the request, not a person."""
    devices: Devices = field(default_factory=dict)


def parse(options: Mapping[str, Any]) -> tuple[Request, list[str]]:
    """Parse the options of the module kafka_reassign.

    Return the request, and a list of texts on everything that is wrong with the options.
    """
    verbs = [name for name in VERBS if is_set(name, options[name])]
    topics = tuple(sorted({name.strip() for name in options["topic"]}))
    mistakes, wish, rate, within, devices = [], Wish(), None, None, dict[tuple[int, str], int]()
    if len(verbs) != 1:
        present = f"{' and '.join(verbs)} are set" if verbs else "no action is set"
        mistakes.append(f"{present}: set one of {', '.join(VERBS)}")
    mistakes += [
        f"{name}: broker {broker} is named twice"
        for name in ("add", "drain", "disks")
        for broker in duplicates(options[name])
    ]
    factors, factor_mistakes = factors_of(options, topics)
    mistakes += factor_mistakes
    try:
        devices = devices_of(options.get("devices") or {})
        within = wished(options["disk"], options["empty"], options["disks"])
        within = replace(within, devices=devices) if within else None
        pairs = replacements(options["replace"])
        wish = Wish(
            tuple(sorted(options["add"])),
            tuple(sorted(options["drain"])),
            pairs,
            bool(options["rebalance"]),
            bool(options["leaders"]),
            factors,
            bool(options["fewer_racks"]),
        )
    except ValueError as error:
        mistakes.append(str(error))
    if topics and options["cancel"]:
        mistakes.append("topic: cancel=true reverts the whole run, of every topic; remove topic")
    if "" in topics:
        mistakes.append("topic: a name is empty; set names as topic=orders,returns, or remove topic to move all topics")
    if options["rate"]:
        try:
            rate = amounts.rate(options["rate"])
        except ValueError as error:
            mistakes.append(str(error))
    elif not (options["cancel"] or options["leaders"]):
        mistakes.append(
            "rate is not set, and moving replicas can use the whole bandwidth of disks and networks: set the bytes a "
            "second that each broker may send and receive, for example rate=50MB, or unlimited"
        )
    words = [f"{name}={option_text(name == 'declared' or options[name])}" for name in verbs]
    words += [f"topic={','.join(topics)}"] if topics and not options["cancel"] else []
    limited, cancel, declared = bool(options["rate"]), bool(options["cancel"]), options["declared"] is not None
    return Request(wish, " ".join(words), topics, rate, limited, cancel, within, declared, devices=devices), mistakes


def devices_of(option: Mapping[Any, Mapping[str, int]]) -> dict[tuple[int, str], int]:
    """Return {(broker, log dir): device number (st_dev)} from the option `devices` ({broker: {log dir: number}}).

    Raises ValueError if the option has another form.
    """
    try:
        return {(int(broker), path): int(device) for broker, dirs in option.items() for path, device in dirs.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"devices: expected numbers by broker id and log dir, not {record_schema.shown(option)}"
        ) from error


def is_set(name: str, value: Any) -> bool:
    """Tell whether an action is requested by the value of its option; `declared` is requested even by an empty list."""
    return value is not None and value is not False and (value != [] or name == "declared")


def factors_of(options: Mapping[str, Any], topics: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return {topic: requested number of replicas}, and a list of texts on what is wrong with these options."""
    mistakes: list[str] = []
    if options["declared"] is not None:
        return declared_factors(options["declared"], topics)
    factor = options["replication_factor"]
    if factor is None:
        return {}, mistakes
    if factor < 1:
        mistakes.append(f"replication_factor {factor}: set 1 or more")
    if not topics:
        mistakes.append("replication_factor: name the topics, for example topic=orders,returns")
    return dict.fromkeys(topics, factor), mistakes


def declared_factors(declared: Sequence[Mapping[str, Any]], topics: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return {topic: declared number of replicas}, and a list of texts on what is wrong.

    `declared` are entries as in the option of the module kafka_topics. If `topics` is not empty, only these topics are
    returned. Topics that are not managed, absent, or without a replication factor are left out.
    """
    mistakes = [f"topic {name}: {why}" for name, reasons in entries.topics(declared).items() for why in reasons]
    factors = {
        one["name"]: one["replication_factor"]
        for one in declared
        if one.get("manage", True) and one.get("state") != "absent" and one.get("replication_factor")
    }
    mistakes += [
        f"topic {name}: no number of replicas is declared (it is not in kafka_topics, not managed, or absent)"
        for name in topics
        if name and name not in factors
    ]
    return {name: factor for name, factor in factors.items() if name in topics or not topics}, mistakes


def option_text(value: Any) -> str:
    """Return an option's value as on the command line, with sorted lists: `true`, `1,3` or `3:/data/1`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        texts = any(isinstance(one, str) for one in value)
        return ",".join(sorted(map(canonical, value)) if texts else map(str, sorted(value)))
    return str(value)


def canonical(text: str) -> str:
    """Return a value made of brokers and log dirs in one spelling: `03: /data/1/` becomes `3:/data/1`."""
    parts = [part.strip() for part in text.split(":")]
    return ":".join(str(int(part)) if part.isdecimal() else part.rstrip("/") or "/" for part in parts)


def duplicates(values: Sequence[int]) -> list[int]:
    """Return the values that occur more than once, each once, sorted."""
    return sorted({value for value in values if values.count(value) > 1})


def replacements(texts: Sequence[str]) -> dict[int, int]:
    """Return {old broker: new broker} from texts as `3:7` (broker 7 replaces broker 3).

    Raises ValueError if a text has another form, or a broker occurs twice.
    """
    pairs: dict[int, int] = {}
    for text in texts:
        match = re.fullmatch(r"(\d+):(\d+)", text.strip())
        if not match:
            raise ValueError(f"replace {text}: set the ids of the old and the new broker, for example replace=3:7")
        old, new = int(match[1]), int(match[2])
        if old == new:
            raise ValueError(
                f"replace {text}: nothing to do, because a broker that returns under its id copies what it lacks by "
                "itself"
            )
        if old in pairs or new in pairs.values():
            raise ValueError(f"replace {text}: a broker is named twice")
        pairs[old] = new
    if both := sorted(pairs.keys() & {*pairs.values()}):
        raise ValueError(
            f"replace: broker {both[0]} is both replaced and a replacement: replace one broker, then the other"
        )
    return pairs
