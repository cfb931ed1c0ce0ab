"""Durations and sizes as people write them."""

from __future__ import annotations

import re
from typing import Any

# Milliseconds.
DURATIONS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# Bytes.
SIZES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def amount(text: Any, units: dict[str, int]) -> int | None:
    """Return a whole number with a unit in the least one, as 7d with DURATIONS; None for anything else."""
    found = re.fullmatch(r"([0-9]{1,18}) ?([A-Za-z]+)", str(text).strip())
    return int(found[1]) * units[found[2]] if found and found[2] in units else None


def units_of(name: str) -> dict[str, int]:
    """Return the units that a property or a quota takes, by its name; none for one that has none."""
    if name.endswith(".ms"):
        return DURATIONS
    return SIZES if name.endswith((".bytes", "_byte_rate")) else {}
