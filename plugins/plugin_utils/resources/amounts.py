"""Parses durations and sizes with a unit, such as 7d and 20MiB."""

from __future__ import annotations

import re
from typing import Any

# Milliseconds.
DURATIONS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# Bytes.
SIZES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def amount(text: Any, units: dict[str, int]) -> int | None:
    """Return a text with a number and a unit, such as 7d, as a number of ms or bytes; None for any other text.

    `units` is {unit: its size in ms or bytes}: DURATIONS or SIZES.
    """
    parts = re.fullmatch(r"([0-9]{1,19}) ?([A-Za-z]+)", str(text).strip())
    return int(parts[1]) * units[parts[2]] if parts and parts[2] in units else None


def units_of(name: str) -> dict[str, int]:
    """Return the units that the property or quota `name` accepts: DURATIONS, SIZES, or {} for no units."""
    if name.endswith(".ms"):
        return DURATIONS
    return SIZES if name.endswith((".bytes", "_byte_rate")) else {}
