"""Values in the types of argument specs: converts a value, and reports what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

Option = Mapping[str, Any]
SCALARS = {"int": "not a whole number", "bool": "neither true nor false", "str": "not text"}
ARTICLES = {"int": "a whole number", "bool": "true or false", "str": "text"}
KINDS = {bool: "true or false", str: "text", dict: "a mapping", list: "a list", tuple: "a list"}


class Fault(NamedTuple):
    """A value that is not of its declared type."""

    place: str
    value: Any
    """None if it must not be shown."""
    message: str
    declared: str
    """The type that the spec declares."""


def kind(option: Option) -> str:
    """Return the type that an option declares; a path is text."""
    declared = str(option.get("type") or "str")
    return "str" if declared == "path" else declared


def kind_of(value: Any) -> str:
    """Return the type of a value for a message."""
    return next((word for known, word in KINDS.items() if isinstance(value, known)), "a number")


def _scalar(value: Any, declared: str) -> Any:
    """Return a single value converted to a type; None if that is not possible."""
    if declared == "int":
        return whole(value)
    if declared == "bool":
        return switch(value)
    # yes, no, on and off are true or false in YAML, and a role would write True or False.
    if isinstance(value, (bool, Mapping, list, tuple)):
        return None
    return str(value) if isinstance(value, (int, float)) else value


def _entry(place: str, number: int, item: Any) -> str:
    name = item.get("name") if isinstance(item, Mapping) else None
    return f"{place}[{name if isinstance(name, str) else number}]"


def checked(place: str, value: Any, option: Option) -> tuple[Any, list[Fault]]:
    """Return a value converted to its declared type, None if that is not possible, and what is wrong with it.

    A single text in place of a list counts as a list with it, so that no other mistake follows. Values that may contain
    a secret are not shown.
    """
    declared = kind(option)
    if value is None:
        return value, []
    if declared == "list":
        return _list(place, value, option)
    if declared == "dict":
        if isinstance(value, Mapping):
            return _mapping(place, value, option)
        return None, [Fault(place, None, f"{kind_of(value)} instead of a mapping", declared)]
    if declared not in SCALARS:
        return value, []
    converted = _scalar(value, declared)
    if converted is not None:
        return converted, []
    single = not isinstance(value, (Mapping, list, tuple))
    message = SCALARS[declared]
    if not single or declared == "str":
        message = f"{kind_of(value)} instead of {ARTICLES[declared]}"
    return value, [Fault(place, value if single else None, message, declared)]


def _list(place: str, value: Any, option: Option) -> tuple[Any, list[Fault]]:
    faults: list[Fault] = []
    element = {"type": option.get("elements", "raw"), "options": option.get("options")}
    if not isinstance(value, (list, tuple)):
        entries = element["type"] == "dict" or isinstance(value, Mapping)
        faults.append(Fault(place, None if entries else value, f"{kind_of(value)} instead of a list", "list"))
        if entries:
            return None, faults
        value = [value]
    items, changed = [], False
    for number, item in enumerate(value):
        converted, more = checked(_entry(place, number, item), item, element)
        items += [converted] if converted is not None or item is None else []
        faults += more
        changed = changed or converted is not item
    return items if changed else value, faults


def _mapping(place: str, value: Mapping[Any, Any], option: Option) -> tuple[Mapping[Any, Any], list[Fault]]:
    changed, faults = {}, []
    for name, suboption in (option.get("options") or {}).items():
        if name in value:
            converted, more = checked(f"{place}.{name}", value[name], suboption)
            faults += more
            if converted is not value[name]:
                changed[name] = converted
    return {**value, **changed} if changed else value, faults


class Typed:
    """Converts the values of hosts; each value once, however many hosts have it."""

    def __init__(self, options: Mapping[str, Option]) -> None:
        """`options` are the argument specs of all variables, by name."""
        self._options = options
        self._known: dict[tuple[str, int], tuple[Any, Any, list[Fault]]] = {}

    def of(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
        """Return the variables of a host in their types, and what is wrong with them."""
        converted: dict[str, Any] = {}
        faults: list[Fault] = []
        for name, value in values.items():
            key = (name, id(value))
            if key not in self._known:
                self._known[key] = (value, *checked(name, value, self._options.get(name, {"type": "raw"})))
            if self._known[key][1] is not None or value is None:
                converted[name] = self._known[key][1]
            faults += self._known[key][2]
        return converted, faults
