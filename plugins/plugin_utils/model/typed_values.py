"""Converts values of variables to the types in their argument specs, and reports values that do not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

Option = Mapping[str, Any]
OTHER_FORM = "not the usual form of the number, and runs also compare and write it as text"
SCALARS = {"int": "not a whole number", "bool": "neither true nor false", "str": "not text"}
ARTICLES = {"int": "a whole number", "bool": "true or false", "str": "text"}
KINDS = {bool: "true or false", str: "text", dict: "a mapping", list: "a list", tuple: "a list"}


# Separators of principals; a name may contain commas, as the subject of a certificate.
PRINCIPALS = re.compile(r"\s*;\s*|[,\s]\s*(?=user:)", re.IGNORECASE)


class Fault(NamedTuple):
    """A value that does not have its declared type, and the message about it."""

    place: str
    value: Any
    """The value for the message; None if the message must not contain it."""
    message: str
    declared: str
    """The type in the argument spec."""


def kind(option: Option) -> str:
    """Return the type that an argument spec declares, such as "int"; "str" for a path, or if no type is declared."""
    declared = str(option.get("type") or "str")
    return "str" if declared == "path" else declared


def kind_of(value: Any) -> str:
    """Return the type of a value as a text for messages, such as "a list"."""
    return next((word for known, word in KINDS.items() if isinstance(value, known)), "a number")


def _scalar(value: Any, declared: str) -> Any:
    """Return a single value converted to int, bool or str, the type in `declared`; None if this is not possible."""
    if declared == "int":
        return whole(value)
    if declared == "bool":
        return switch(value)
    # yes, no, on and off are true or false in YAML, and a role would write True or False.
    if isinstance(value, (bool, Mapping, list, tuple)):
        return None
    return str(value) if isinstance(value, (int, float)) else value


def _entry(place: str, number: int, item: Any) -> str:
    keys = ("principal", "name", "port") if isinstance(item, Mapping) else ()
    title = next((item[key] for key in keys if item.get(key)), None)
    return f"{place}[{title if isinstance(title, (int, str)) else number}]"


def checked(place: str, value: Any, option: Option) -> tuple[Any, list[Fault]]:
    """Return (value converted to the type that `option` declares, faults).

    `option` is the argument spec, `place` the variable for messages. If a scalar cannot be converted, return it
    unchanged.
    Return None instead of a value that should be a dict. A text where a list is declared becomes a list, so that no
    other problem follows. Faults do not contain values that may be secret.
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
        other_form = declared == "int" and isinstance(value, str) and value != str(converted)
        return converted, [Fault(place, value, OTHER_FORM, declared)] if other_form else []
    single = not isinstance(value, (Mapping, list, tuple))
    message = SCALARS[declared]
    if not single or declared == "str":
        message = f"{kind_of(value)} instead of {ARTICLES[declared]}"
    return value, [Fault(place, value if single else None, message, declared)]


def meant_items(text: str) -> list[str]:
    """Return the entries of the list that a single text probably means, as "User:a;User:b" or "-Xms1g -Xmx1g"."""
    text = "".join(text).strip()  # without Ansible's own marks
    if text.startswith(("RULE:", "DEFAULT")):
        items = re.split(r"[,\s]\s*(?=RULE:|DEFAULT)", text)
    elif text.startswith("-"):  # options of a command; a blank between quotation marks belongs to its option
        items = re.findall(r"-(?:\"[^\"]*\"|'[^']*'|\s+[^-\s]|\S)*", text)
    elif text.startswith("/"):  # paths, as of a class path
        items = re.split(r"(?:[,;:]\s*|\s+)(?=/)", text)
    elif ";" in text or text.startswith("User:"):
        items = PRINCIPALS.split(text)
    else:
        items = [text] if "=" in text else text.split(",")  # a subject of a certificate contains commas
    return [item.strip() for item in items if item.strip()]


def _list(place: str, value: Any, option: Option) -> tuple[Any, list[Fault]]:
    faults: list[Fault] = []
    element = {"type": option.get("elements", "raw"), "options": option.get("options")}
    if not isinstance(value, (list, tuple)):
        entries = element["type"] == "dict" or isinstance(value, Mapping)
        faults.append(Fault(place, None if entries else value, f"{kind_of(value)} instead of a list", "list"))
        if entries:
            return None, faults
        value = meant_items(value) if isinstance(value, str) and element["type"] == "str" else [value]
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
    """Converts the values of all hosts to their declared types; a value that several hosts share is converted once."""

    def __init__(self, options: Mapping[str, Option]) -> None:
        """Use `options`, the argument specs of all variables as {variable: spec}."""
        self._options = options
        self._known: dict[tuple[str, int], tuple[Any, Any, list[Fault]]] = {}

    def of(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
        """Return ({variable: converted value}, faults) for `values`, the variables of one host.

        A scalar that cannot be converted is kept unchanged; any other such value is left out.
        """
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
