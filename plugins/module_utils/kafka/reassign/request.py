"""What a person asks for, as options of a module and as words; mistakes all together. Pure."""

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
"""Of these nothing leaves its broker."""
VERBS = ("add", "drain", "replace", "rebalance", "leaders", "replication_factor", "declared", *WITHIN, "cancel")


@dataclass(frozen=True)
class Asked:
    """One request."""

    wish: Wish
    words: str
    """As on the command line: the same words are the same request."""
    topics: tuple[str, ...] = ()
    """Those that it is about; all where none is named."""
    rate: int | None = None
    limited: bool = False
    """Whether a rate was said, `unlimited` among them."""
    cancel: bool = False
    within: DiskWish | None = None
    """What is to change between log dirs of brokers; then nothing goes to another broker."""
    declared: bool = False
    """Whether the factors are those of declared topics: of those alone that differ, and are there."""
    timer: bool = False
    """Whether a timer asks, and nobody who could decide."""
    devices: Devices = field(default_factory=dict)


def asked(said: Mapping[str, Any]) -> tuple[Asked, list[str]]:
    """Return the request, and what is wrong with it."""
    verbs = [name for name in VERBS if is_said(name, said[name])]
    topics = tuple(sorted({name.strip() for name in said["topic"]}))
    wrong, wish, rate, within, devices = [], Wish(), None, None, dict[tuple[int, str], int]()
    if len(verbs) != 1:
        told = f"{' and '.join(verbs)} are said" if verbs else "nothing is said"
        wrong.append(f"{told}: say one of {', '.join(VERBS)}")
    wrong += [f"{name}: broker {one} is named twice" for name in ("add", "drain", "disks") for one in twice(said[name])]
    factors, strange = factors_of(said, topics)
    wrong += strange
    try:
        devices = devices_of(said.get("devices") or {})
        within = wished(said["disk"], said["empty"], said["disks"])
        within = replace(within, devices=devices) if within else None
        pairs = replaced(said["replace"])
        wish = Wish(
            tuple(sorted(said["add"])),
            tuple(sorted(said["drain"])),
            pairs,
            bool(said["rebalance"]),
            bool(said["leaders"]),
            factors,
            bool(said["fewer_racks"]),
        )
    except ValueError as error:
        wrong.append(str(error))
    if topics and said["cancel"]:
        wrong.append("topic: cancel=true puts back all that was begun, of every topic; leave topic out")
    if "" in topics:
        wrong.append("topic: a name is empty; say names as topic=orders,returns, or leave it out where all are meant")
    if said["rate"]:
        try:
            rate = amounts.rate(said["rate"])
        except ValueError as error:
            wrong.append(str(error))
    elif not (said["cancel"] or said["leaders"]):
        wrong.append(
            "no rate is said, and moving replicas can take all that disks and networks have: say how many bytes a "
            "second each broker may send, and take, as rate=50MB, or unlimited"
        )
    words = [f"{name}={shown(name == 'declared' or said[name])}" for name in verbs]
    words += [f"topic={','.join(topics)}"] if topics and not said["cancel"] else []
    limited, cancel, declared = bool(said["rate"]), bool(said["cancel"]), said["declared"] is not None
    return Asked(wish, " ".join(words), topics, rate, limited, cancel, within, declared, devices=devices), wrong


def devices_of(said: Mapping[Any, Mapping[str, int]]) -> dict[tuple[int, str], int]:
    """Return on which device of a broker's host a log dir is, by both. Raises ValueError."""
    try:
        return {(int(broker), path): int(one) for broker, of in said.items() for path, one in of.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"devices: say by id of a broker and log dir a number, and not {record_schema.shown(said)}"
        ) from error


def is_said(name: str, value: Any) -> bool:
    """Tell whether a person asks for it; declared topics may be none."""
    return value is not None and value is not False and (value != [] or name == "declared")


def factors_of(said: Mapping[str, Any], topics: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return by topic how many replicas each of its partitions is to have, and what is wrong with that."""
    wrong: list[str] = []
    if said["declared"] is not None:
        return declared_factors(said["declared"], topics)
    factor = said["replication_factor"]
    if factor is None:
        return {}, wrong
    if factor < 1:
        wrong.append(f"replication_factor {factor}: say how many replicas, 1 or more")
    if not topics:
        wrong.append("replication_factor: say of which topics, as topic=orders,returns")
    return dict.fromkeys(topics, factor), wrong


def declared_factors(declared: Sequence[Mapping[str, Any]], topics: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return the same of declared topics, as the module kafka_topics takes them; of `topics`, where some are named.

    What is not managed, or is to be absent, or says no number, has as many as it has.
    """
    wrong = [f"topic {name}: {why}" for name, reasons in entries.topics(declared).items() for why in reasons]
    factors = {
        one["name"]: one["replication_factor"]
        for one in declared
        if one.get("manage", True) and one.get("state") != "absent" and one.get("replication_factor")
    }
    wrong += [
        f"topic {name}: nobody declares how many replicas it has (it is not in kafka_topics, not managed, or absent)"
        for name in topics
        if name and name not in factors
    ]
    return {name: factor for name, factor in factors.items() if name in topics or not topics}, wrong


def shown(value: Any) -> str:
    """Return an option as it is said on a command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        texts = any(isinstance(one, str) for one in value)
        return ",".join(sorted(map(plain, value)) if texts else map(str, sorted(value)))
    return str(value)


def plain(text: str) -> str:
    """Return what names brokers and log dirs in the one way in which it is written down, however it is typed."""
    parts = [part.strip() for part in text.split(":")]
    return ":".join(str(int(one)) if one.isdecimal() else one.rstrip("/") or "/" for one in parts)


def twice(values: Sequence[int]) -> list[int]:
    """Return what is there more than once."""
    return sorted({one for one in values if values.count(one) > 1})


def replaced(texts: Sequence[str]) -> dict[int, int]:
    """Return who takes the place of whom, of `3:7`. Raises ValueError."""
    found: dict[int, int] = {}
    for text in texts:
        parts = re.fullmatch(r"(\d+):(\d+)", text.strip())
        if not parts:
            raise ValueError(f"replace {text}: say the ids of the old broker and of the new one, as replace=3:7")
        old, new = int(parts[1]), int(parts[2])
        if old == new:
            raise ValueError(
                f"replace {text}: a broker that comes back under its id copies by itself what it lacks; do nothing"
            )
        if old in found or new in found.values():
            raise ValueError(f"replace {text}: a broker is named twice")
        found[old] = new
    if both := sorted(found.keys() & {*found.values()}):
        raise ValueError(
            f"replace: broker {both[0]} is to go, and to take the place of another: replace one, then the other"
        )
    return found
