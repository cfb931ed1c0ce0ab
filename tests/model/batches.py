"""Checks several rows of a table of wrong inventories in one inventory: a check costs the same for one row and for six.

A row is the variables that it sets, by group or host, and what the check must report of them. Rows share an inventory
where no two of them set the same key. Rows may influence one another: where a batch fails, its halves are judged again,
down to single rows. The campaign checks each row alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

Row = tuple[Mapping[str, Any], Any]
Batches = Sequence[Sequence[Row]]
SIZE = 6


def together(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[Any, Any] | None:
    """Return the keys of both dicts, or None where both set a key, except where both set it to the same list."""
    found = dict(one)
    for key, value in other.items():
        if key not in found:
            found[key] = value
        elif isinstance(value, Mapping) and isinstance(found[key], Mapping):
            found[key] = together(found[key], value)
            if found[key] is None:
                return None
        elif found[key] != value or not isinstance(value, list):
            return None
    return found


def variables(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the variables of all rows of a batch."""
    found: dict[str, Any] | None = {}
    for row in rows:
        found = together(found or {}, row[0])
        assert found is not None
    return found or {}


def batched(rows: Sequence[Row], name: Callable[[Row], str] | None = None) -> list[Any]:
    """Return the parameters of a test: batches of rows, and for the campaign one list of all rows, each alone.

    `name` gives each row a part of the test's id.
    """
    batches: list[tuple[dict[str, Any], list[Row]]] = [({}, []) for _ in rows[::SIZE]]
    for number, row in enumerate(rows):
        for step in range(len(batches)):  # rows that stand together in a table influence one another most
            place = (number + step) % len(batches)
            there, batch = batches[place]
            both = together(there, row[0])
            if both is not None and len(batch) < SIZE:
                batches[place] = (both, [*batch, row])
                break
        else:
            batches.append((dict(row[0]), [row]))
    alone = pytest.param([[row] for row in rows], marks=pytest.mark.campaign, id="alone")
    named = ("-".join(map(name, batch)) if name else None for _, batch in batches)
    return [*(pytest.param([batch], id=text) for (_, batch), text in zip(batches, named, strict=True)), alone]


def differ(lines: Sequence[str], begins: Sequence[str]) -> list[str]:
    """Return the lines that begin as no text of `begins`, and the texts that no line begins with; one text a line."""
    left, missing = list(lines), []
    for begin in sorted(begins, key=len, reverse=True):
        found = next((line for line in left if line.startswith(begin)), None)
        if found is None:
            missing.append(begin)
        else:
            left.remove(found)
    return left + missing


def judge(batches: Batches, judged: Callable[[Sequence[Row], Path], None], folder: Path) -> None:
    """Judge each batch, in a new folder; where that fails, judge its halves."""
    for rows in batches:
        try:
            judged(rows, Path(tempfile.mkdtemp(dir=folder)))
            continue
        except AssertionError:
            if len(rows) == 1:
                raise
        middle = len(rows) // 2
        judge([rows[:middle], rows[middle:]], judged, folder)
