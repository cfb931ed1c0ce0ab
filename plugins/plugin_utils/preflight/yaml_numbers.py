"""Numbers that YAML reads as others than are written: 010 is eight, 1:30 is ninety."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import written_at
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

# Integers of base 8 and 60 of YAML 1.1, which nobody means; 0x and 0b say themselves what they are.
OTHER = re.compile(r"[-+]?(0[0-7_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)(?![\w:])")


def other_numbers(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield what was written for a number in our words and inputs, and is another one."""
    for host in model.function_hosts:
        raw = reader.raw(host)
        for name in model.known & raw.keys() & model.names[host]:
            for place, value, text in _of(name, raw[name]):
                octal = ":" not in text
                wrong = f"YAML reads it as {value}" + (", by base 8" if octal else ", by base 60")
                meant = text.replace("_", "").lstrip("+-0") or "0"
                advice = f"write {meant}, or put it in quotes where the zeros count" if octal else "put it in quotes"
                yield Problem((host,), place, "NUMBER_OTHER", text, wrong, advice)


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
    """Return what is written there, if it is such a number."""
    lines = _lines(path) if path and line and column else ()
    found = OTHER.match(lines[line - 1][column - 1 :]) if line and column and line <= len(lines) else None
    return found[0] if found else ""


@cache
def _lines(path: str) -> tuple[str, ...]:
    """Return the lines of a file of variables, none where it cannot be read or is encrypted."""
    try:
        return tuple(Path(path).read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return ()
