"""What a record of moves may say, by types alone: a damaged one is named before anything is made of it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

KINDS = ("moves", "shifts", "disk")
"""Replicas go to other brokers; to another log dir of their broker; a broker takes in a new disk."""
Form = tuple[Callable[[Any], bool], str]
"""Whether a value is of it, and what it is, for a person."""


def is_text(value: Any) -> bool:
    """Tell whether it is a text."""
    return isinstance(value, str)


def is_switch(value: Any) -> bool:
    """Tell whether it is true or false: no text is."""
    return isinstance(value, bool)


def is_number(value: Any, least: int = 0) -> bool:
    """Tell whether it is a whole number, as of a broker, a partition, or bytes."""
    return type(value) is int and least <= value < 2**63


def is_positive(value: Any) -> bool:
    """Tell whether it is a whole number above 0."""
    return is_number(value, 1)


def is_id(value: Any) -> bool:
    """Tell whether it is the id of a broker, as a key."""
    return is_text(value) and re.fullmatch("[0-9]{1,10}", value) is not None


def is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    """Tell whether it is a list of such values."""
    return isinstance(value, list) and all(map(of, value))


def is_dict(value: Any, of: Callable[[Any], bool], key: Callable[[Any], bool] = is_text) -> bool:
    """Tell whether it is a mapping to such values."""
    return isinstance(value, dict) and all(key(name) and of(one) for name, one in value.items())


def is_move(value: Any) -> bool:
    """Tell whether it is a partition that gets other replicas; on a new disk the only one comes back to nobody's."""
    if not isinstance(value, list) or len(value) != 5:
        return False
    topic, number, before, after, size = value
    brokers = is_list(before, is_number) and is_list(after, is_number) and after != []
    return is_text(topic) and is_number(number) and is_number(size) and brokers and once(before) and once(after)


def is_shift(value: Any) -> bool:
    """Tell whether it is a replica that goes to another log dir."""
    kinds = {"topic": is_text, "number": is_number, "broker": is_number, "source": is_text, "target": is_text}
    kinds["size"] = is_number
    return isinstance(value, dict) and value.keys() == kinds.keys() and all(kinds[key](value[key]) for key in kinds)


def are_moves(value: Any) -> bool:
    """Tell whether it is a list of such partitions, each of them once."""
    return is_list(value, is_move) and once([(topic, number) for topic, number, *_ in value])


def are_shifts(value: Any) -> bool:
    """Tell whether it is a list of such replicas, each of them once."""
    return is_list(value, is_shift) and once([(one["topic"], one["number"], one["broker"]) for one in value])


def once(values: Collection[Any]) -> bool:
    """Tell whether none of them is there twice."""
    return len(set(values)) == len(values)


def is_entry(value: Any) -> bool:
    """Tell whether it is one of a list of throttled replicas."""
    return is_text(value) and re.fullmatch("[0-9]+:[0-9]+", value) is not None


NEEDED: Mapping[str, Form] = {
    "asked": (is_text, "a text"),
    "leaving": (lambda value: is_list(value, is_number), "a list of ids of brokers"),
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
        "by id of a broker and setting, a text or null",
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
    "broker": (lambda value: value is None or is_number(value), "null, or the id of a broker"),
    "empties": (is_switch, "true or false"),
}
"""What an older version did not say may be missing."""
SHOWN = 60


def wrong(found: Any) -> str:
    """Return what is wrong with a record, '' where nothing is."""
    if not isinstance(found, dict):
        return f"it is {shown(found)}, and no mapping"
    faults = [f"it does not say {name}" for name in NEEDED if name not in found]
    forms = {**NEEDED, **OTHERS}
    faults += [f"it says {name}, which nobody knows here" for name in found if name not in forms]
    faults += [
        f"{name} is {shown(found[name])}, and has to be {what}"
        for name, (fits, what) in forms.items()
        if name in found and not fits(found[name])
    ]
    return "; ".join(faults)


def shown(value: Any) -> str:
    """Return a value as it stands there, the beginning of it."""
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
