"""The configuration of a job as JSON: one text for who judges it and for who reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

PLAIN = (str, int, float, type(None))


def job_text(config: Any, indent: int | None = None) -> str:
    """Return a configuration, or a list of them, as JSON; where it is indented, the keys of mappings are in order.

    Raises:
        TypeError: It holds what JSON has not (see strangers).
    """
    text = json.dumps(config)
    if indent is None:
        return text
    return json.dumps(json.loads(text), indent=indent, sort_keys=True)  # keys are texts by now: 1 and "a" have an order


def strangers(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what JSON has not, with its place: YAML makes dates of texts that look so."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{place}[{key}]" if place else str(key)
            yield from strangers(item, inner) if isinstance(key, PLAIN) else [(inner, key)]
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from strangers(item, f"{place}[{number}]")
    elif not isinstance(value, PLAIN):
        yield place, value
