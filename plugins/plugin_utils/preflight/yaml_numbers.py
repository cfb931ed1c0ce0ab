"""Reports numbers that YAML reads as other numbers: 010 is 8, 1:30 is 90."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import written_at
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind

# Integers of base 8 and 60 of YAML 1.1, which are rarely intended; 0x and 0b are explicit.
OTHER = re.compile(r"[-+]?(0[0-7_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)(?![\w:])")

NUMBER_OTHER = ProblemKind("NUMBER_OTHER", "YAML reads it as {number}, by base 60", "put it in quotes")
NUMBER_OTHER_OCTAL = NUMBER_OTHER.variant(
    message="YAML reads it as {number}, by base 8", advice="write {decimal}, or put it in quotes if the zeros count"
)


def other_numbers(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield numbers in known variables that YAML reads as other numbers."""
    for host in model.function_hosts:
        raw = reader.raw(host)
        for name in model.known & raw.keys() & model.names[host]:
            for place, value, text in _of(name, raw[name]):
                kind = NUMBER_OTHER if ":" in text else NUMBER_OTHER_OCTAL
                decimal = text.replace("_", "").lstrip("+-0") or "0"
                yield kind.problem((host,), place, text, number=value, decimal=decimal)


def _of(place: str, value: Any) -> Iterator[tuple[str, int, str]]:
    """Yield places, values and texts of such numbers inside a value."""
    if isinstance(value, int):
        text = "" if isinstance(value, bool) else _text(*written_at(value))
        if text and (":" in text or int(text) != value):
            yield place, int(value), text
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _of(f"{place}[{key}]", item)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            name = item.get("name") if isinstance(item, Mapping) else None
            yield from _of(f"{place}[{number if name is None else name}]", item)


def _text(path: str | None, line: int | None, column: int | None) -> str:
    """Return the text at a place of a file if it is such a number; else ''."""
    lines = _lines(path) if path and line and column else ()
    match = OTHER.match(lines[line - 1][column - 1 :]) if line and column and line <= len(lines) else None
    return match[0] if match else ""


@cache
def _lines(path: str) -> tuple[str, ...]:
    """Return the lines of a file of variables; none if it cannot be read or is encrypted."""
    try:
        return tuple(Path(path).read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return ()
