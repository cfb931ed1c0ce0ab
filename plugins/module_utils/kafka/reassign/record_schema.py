"""Checks the fields of a run's record file, so that a damaged record is reported and never used. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

KINDS = ("moves", "shifts", "disk")
"""Moves to other brokers; moves to another log dir of the same broker; the replacement of a disk."""
Form = tuple[Callable[[Any], bool], str]
"""A function that tells whether a value is valid, and the description of valid values for messages."""


def is_text(value: Any) -> bool:
    """Tell whether a value is a string."""
    return isinstance(value, str)


def is_switch(value: Any) -> bool:
    """Tell whether a value is a boolean."""
    return isinstance(value, bool)


def is_number(value: Any, least: int = 0) -> bool:
    """Tell whether a value is an integer from `least` to 2**63 - 1, as a broker id or a number of bytes."""
    return type(value) is int and least <= value < 2**63


def is_positive(value: Any) -> bool:
    """Tell whether a value is an integer from 1 to 2**63 - 1."""
    return is_number(value, 1)


def is_id(value: Any) -> bool:
    """Tell whether a JSON key (a text) is the id of a broker."""
    return is_text(value) and re.fullmatch("[0-9]{1,10}", value) is not None


def is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    """Tell whether a value is a list and the function `of` accepts each of its elements."""
    return isinstance(value, list) and all(map(of, value))


def is_dict(value: Any, of: Callable[[Any], bool], key: Callable[[Any], bool] = is_text) -> bool:
    """Tell whether a value is a dict, the function `key` accepts each key, and the function `of` each value."""
    return isinstance(value, dict) and all(key(name) and of(one) for name, one in value.items())


def is_move(value: Any) -> bool:
    """Tell whether a value is a valid move: [topic, number, brokers before, brokers after, bytes].

    The brokers before may be [] if the only replica of a partition is recreated on a new disk.
    """
    if not isinstance(value, list) or len(value) != 5:
        return False
    topic, number, before, after, size = value
    brokers = is_list(before, is_number) and is_list(after, is_number) and after != []
    return is_text(topic) and is_number(number) and is_number(size) and brokers and unique(before) and unique(after)


def is_shift(value: Any) -> bool:
    """Tell whether a value is a dict that describes the move of a replica to another log dir of its broker."""
    kinds = {"topic": is_text, "number": is_number, "broker": is_number, "source": is_text, "target": is_text}
    kinds["size"] = is_number
    return isinstance(value, dict) and value.keys() == kinds.keys() and all(kinds[key](value[key]) for key in kinds)


def are_moves(value: Any) -> bool:
    """Tell whether a value is a list of valid moves that has no partition twice."""
    return is_list(value, is_move) and unique([(topic, number) for topic, number, *_ in value])


def are_shifts(value: Any) -> bool:
    """Tell whether a value is a list of valid moves between log dirs that has no replica twice."""
    return is_list(value, is_shift) and unique([(one["topic"], one["number"], one["broker"]) for one in value])


def unique(values: Collection[Any]) -> bool:
    """Tell whether no value occurs twice."""
    return len(set(values)) == len(values)


def is_entry(value: Any) -> bool:
    """Tell whether a value is a throttled replica in Kafka's form `partition:broker`, as `0:1`."""
    return is_text(value) and re.fullmatch("[0-9]+:[0-9]+", value) is not None


NEEDED: Mapping[str, Form] = {
    "asked": (is_text, "a text"),
    "leaving": (lambda value: is_list(value, is_number), "a list of broker ids"),
    "rate": (lambda value: value is None or is_positive(value), "null, or bytes a second, a whole number above 0"),
    "moves": (are_moves, "a list of topic, number, brokers before and after, bytes; no broker or partition twice"),
}
OTHERS: Mapping[str, Form] = {
    "lists": (
        lambda value: is_dict(value, lambda both: is_dict(both, lambda one: is_list(one, is_entry))),
        "by topic and setting, a list of replicas as 0:1",
    ),
    "rates": (
        lambda value: is_dict(value, lambda own: is_dict(own, lambda rate: rate is None or is_text(rate)), is_id),
        "by broker id and setting, a text or null",
    ),
    "used": (lambda value: is_list(value, is_positive), "a list of rates"),
    "topics": (lambda value: is_list(value, is_text), "a list of topics"),
    "back": (is_switch, "true or false"),
    "shifts": (are_shifts, "a list of topic, number, broker, source, target and size; no replica twice"),
    "factors": (lambda value: is_dict(value, is_positive), "by topic, a number of replicas"),
    "timer": (is_switch, "true or false"),
    "lost": (lambda value: is_list(value, is_text), "a list of partitions"),
    "kind": (lambda value: is_text(value) and value in KINDS, f"one of {', '.join(KINDS)}"),
    "fewer_racks": (is_switch, "true or false"),
    "broker": (lambda value: value is None or is_number(value), "null, or a broker id"),
    "empties": (is_switch, "true or false"),
}
"""Fields that may be missing, because older versions did not write them."""
SHOWN = 60
"""Characters of a value that a message shows."""


def faults(record: Any) -> str:
    """Return all that is wrong with the content of a record file as one text, '' if it is valid."""
    if not isinstance(record, dict):
        return f"it is {shown(record)}, not a mapping"
    texts = [f"{name} is missing" for name in NEEDED if name not in record]
    forms = {**NEEDED, **OTHERS}
    texts += [f"{name} is an unknown key" for name in record if name not in forms]
    texts += [
        f"{name} is {shown(record[name])}, but must be {what}"
        for name, (fits, what) in forms.items()
        if name in record and not fits(record[name])
    ]
    return "; ".join(texts)


def shown(value: Any) -> str:
    """Return a value as JSON for an error message, shortened to SHOWN characters."""
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
