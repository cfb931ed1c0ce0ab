"""Writes the configuration of a job as JSON, the same text for preflight and for the job."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

PLAIN = (str, int, float, type(None))


def job_text(config: Any, indent: int | None = None) -> str:
    """Return a configuration, or a list of them, as JSON; with an indent the keys of mappings are sorted.

    Raises:
        TypeError: It contains a value that JSON does not have (see not_json).
    """
    text = json.dumps(config)
    if indent is None:
        return text
    return json.dumps(json.loads(text), indent=indent, sort_keys=True)  # keys are texts here: 1 and "a" can be sorted


def not_json(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield values that JSON does not have, with their places, such as dates, which YAML makes of some texts."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{place}[{key}]" if place else str(key)
            yield from not_json(item, inner) if isinstance(key, PLAIN) else [(inner, key)]
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from not_json(item, f"{place}[{number}]")
    elif not isinstance(value, PLAIN):
        yield place, value
