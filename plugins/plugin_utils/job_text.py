"""Writes the configuration of a Spark job as JSON; preflight checks the same text that the job gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

PLAIN = (str, int, float, type(None))


def job_text(config: Any, indent: int | None = None) -> str:
    """Return the configuration of a job, or a list of configurations, as JSON text.

    With `indent`, each key has its own line, indented by this number of blanks, and keys are sorted. Raises TypeError
    if a value cannot be written as JSON, such as a date.
    """
    text = json.dumps(config)
    if indent is None:
        return text
    return json.dumps(json.loads(text), indent=indent, sort_keys=True)  # keys are texts here: 1 and "a" can be sorted


def not_json(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (place, value) for each key or value inside `value` that cannot be written as JSON, such as a date.

    YAML reads some unquoted texts as dates. `place` is the path to `value`, such as `a[b][0]`; yielded places extend
    it.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{place}[{key}]" if place else str(key)
            yield from not_json(item, inner) if isinstance(key, PLAIN) else [(inner, key)]
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from not_json(item, f"{place}[{number}]")
    elif not isinstance(value, PLAIN):
        yield place, value
