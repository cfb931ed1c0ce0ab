"""Finds numbers that YAML does not read as decimal: it reads 010 as 8 (base 8) and 1:30 as 90 (base 60)."""

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

# Integers of base 8 and 60 in YAML 1.1. 0x and 0b show their base, so these are intended.
OTHER_BASE = re.compile(r"[-+]?(0[0-7_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)(?![\w:])")

NUMBER_OTHER = ProblemKind(
    "NUMBER_OTHER",
    "YAML reads a number with a leading 0 in base 8, here as {number}",
    "write {decimal}, or put it in quotes if the zeros belong to it",
)
NUMBER_OTHER_BASE_60 = NUMBER_OTHER.variant(message="YAML reads it as {number}, in base 60", advice="put it in quotes")


def other_bases(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield a problem for each number in a site variable or role input that YAML reads in base 8 or 60."""
    for host in model.function_hosts:
        raw = reader.raw(host)
        for name in model.known & raw.keys() & model.names[host]:
            for place, number, text in _numbers(name, raw[name]):
                kind = NUMBER_OTHER_BASE_60 if ":" in text else NUMBER_OTHER
                decimal = text.replace("_", "").lstrip("+-0") or "0"
                yield kind.problem((host,), place, text, number=number, decimal=decimal)


def _numbers(place: str, value: Any) -> Iterator[tuple[str, int, str]]:
    """Yield (place, number, text in the file) of each number inside `value` that YAML reads in base 8 or 60."""
    if isinstance(value, int):
        text = "" if isinstance(value, bool) else _text(*written_at(value))
        if text and (":" in text or int(text) != value):
            yield place, int(value), text
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _numbers(f"{place}[{key}]", item)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            name = item.get("name") if isinstance(item, Mapping) else None
            yield from _numbers(f"{place}[{number if name is None else name}]", item)


def _text(path: str | None, line: int | None, column: int | None) -> str:
    """Return the number at this position of a file as written, if it may be one of base 8 or 60; else ''."""
    lines = _lines(path) if path and line and column else ()
    match = OTHER_BASE.match(lines[line - 1][column - 1 :]) if line and column and line <= len(lines) else None
    return match[0] if match else ""


@cache
def _lines(path: str) -> tuple[str, ...]:
    """Return the lines of a file; () if it cannot be read as text."""
    try:
        return tuple(Path(path).read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return ()
