"""Values in the types that argument specs declare: what is wrong with one, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.values import whole
from ansible_collections.millrace.kafka.plugins.plugin_utils.resources.switches import switch

Option = Mapping[str, Any]
# Where, what is written there (None where it is not to be shown), and what is wrong.
Fault = tuple[str, Any, str]
SCALARS = {"int": "not a whole number", "bool": "neither true nor false", "str": "not a text"}
ARTICLES = {"int": "a whole number", "bool": "true or false", "str": "a text"}
KINDS = {bool: "true or false", str: "a text", dict: "a mapping", list: "a list", tuple: "a list"}


def kind(option: Option) -> str:
    """Return the type that an option declares; a path is a text."""
    found = str(option.get("type") or "str")
    return "str" if found == "path" else found


def kind_of(value: Any) -> str:
    """Return what a value is, in words."""
    return next((word for known, word in KINDS.items() if isinstance(value, known)), "a number")


def _scalar(value: Any, wanted: str) -> Any:
    """Return a single value in a type; None where it is none of it."""
    if wanted == "int":
        return whole(value)
    if wanted == "bool":
        return switch(value)
    # yes, no, on and off are true or false in YAML, and a role would write True or False.
    if isinstance(value, (bool, Mapping, list, tuple)):
        return None
    return str(value) if isinstance(value, (int, float)) else value


def _entry(place: str, number: int, item: Any) -> str:
    name = item.get("name") if isinstance(item, Mapping) else None
    return f"{place}[{name if isinstance(name, str) else number}]"


def judged(place: str, value: Any, option: Option) -> tuple[Any, list[Fault]]:
    """Return a value in the declared type, as far as it has one, and what is wrong with it.

    None where nothing can be made of it. A text where a list belongs counts as a list of it, so that nothing follows
    from the mistake. What may hold a secret is not shown.
    """
    wanted = kind(option)
    if value is None:
        return value, []
    if wanted == "list":
        return _list(place, value, option)
    if wanted == "dict":
        if isinstance(value, Mapping):
            return _mapping(place, value, option)
        return None, [(place, None, f"{kind_of(value)}, and a mapping is wanted")]
    if wanted not in SCALARS:
        return value, []
    found = _scalar(value, wanted)
    if found is not None:
        return found, []
    single = not isinstance(value, (Mapping, list, tuple))
    wrong = SCALARS[wanted] if single and wanted != "str" else f"{kind_of(value)}, and {ARTICLES[wanted]} is wanted"
    return value, [(place, value if single else None, wrong)]


def _list(place: str, value: Any, option: Option) -> tuple[Any, list[Fault]]:
    faults: list[Fault] = []
    element = {"type": option.get("elements", "raw"), "options": option.get("options")}
    if not isinstance(value, (list, tuple)):
        entries = element["type"] == "dict" or isinstance(value, Mapping)
        faults.append((place, None if entries else value, f"{kind_of(value)}, and a list is wanted"))
        if entries:
            return None, faults
        value = [value]
    found, changed = [], False
    for number, item in enumerate(value):
        own, more = judged(_entry(place, number, item), item, element)
        found += [own] if own is not None or item is None else []
        faults += more
        changed = changed or own is not item
    return found if changed else value, faults


def _mapping(place: str, value: Mapping[Any, Any], option: Option) -> tuple[Mapping[Any, Any], list[Fault]]:
    changed, faults = {}, []
    for name, own in (option.get("options") or {}).items():
        if name in value:
            found, more = judged(f"{place}.{name}", value[name], own)
            faults += more
            if found is not value[name]:
                changed[name] = found
    return {**value, **changed} if changed else value, faults


class Typed:
    """Values in their declared types: each is judged once, however many hosts have it."""

    def __init__(self, options: Mapping[str, Option]) -> None:
        """Begin with the argument specs of all variables, by name."""
        self._options = options
        self._known: dict[tuple[str, int], tuple[Any, Any, list[Fault]]] = {}

    def of(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
        """Return the variables of a host in their types, and what is wrong with them."""
        found: dict[str, Any] = {}
        faults: list[Fault] = []
        for name, value in values.items():
            key = (name, id(value))
            if key not in self._known:
                self._known[key] = (value, *judged(name, value, self._options.get(name, {"type": "raw"})))
            if self._known[key][1] is not None or value is None:
                found[name] = self._known[key][1]
            faults += self._known[key][2]
        return found, faults
