"""Bytes, rates and times as people write and read them. Pure."""

from __future__ import annotations

import math
import re
from fractions import Fraction

UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "TB": 10**12,
    "TIB": 1 << 40,
}
NUMBER = r"([0-9]{1,400}(?:\.[0-9]{1,400})?)"
"""Digits that Python makes a number of."""
BITS = r"[0-9]\s*(?i:[KMGT]?i?)b"
"""A small b after a number, whatever is before and after it: to some 50Mb, 50mb and 50Mbit are an eighth of 50MB."""

LEAST = 1024
"""Bytes a second: with less, a replica would never catch up with what is written meanwhile."""

MOST = 2**63 - 1
"""Bytes a second that a setting of brokers can say."""


def rate(text: str) -> int | None:
    """Return bytes a second of `50MB`, `50 MiB/s` or `52428800`; None of `unlimited`. Raises ValueError."""
    if text.strip().lower() == "unlimited":
        return None
    if re.search(BITS, text):
        raise ValueError(f"rate {text}: b is read as bits by some; say bytes a second, as 50MB")
    found = re.fullmatch(NUMBER + r"\s*([KMG]?I?B?)(?:/s)?", text.strip().upper().replace("/S", "/s"))
    if not found or found.group(2) not in UNITS:
        raise ValueError(
            f"rate {text}: say how many bytes a second each broker may send, and take, for this: 50MB, or unlimited"
        )
    rate = int(Fraction(found.group(1)) * UNITS[found.group(2)])
    if rate < LEAST:
        raise ValueError(f"rate {text}: {rate} bytes a second is too little to end; say 1MB or more")
    if rate > MOST:
        raise ValueError(f"rate {text}: that is more than brokers can be told; say unlimited")
    return rate


def bytes_of(text: str) -> int:
    """Return bytes of `20GB`, `500 MiB` or `20000000000`. Raises ValueError."""
    found = re.fullmatch(NUMBER + r"\s*([KMGT]?I?B?)", text.strip().upper())
    if re.search(BITS, text):
        raise ValueError(f"{text}: b is read as bits by some; say bytes, as 20GB")
    if not found or found.group(2) not in UNITS:
        raise ValueError(f"{text}: say bytes, as 20GB")
    return int(Fraction(found.group(1)) * UNITS[found.group(2)])


def size(number: float) -> str:
    """Return bytes as a person says them."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= scale:
            return f"{number / scale:.1f} {unit}"
    return f"{number:.0f} B"


def speed(rate: int) -> str:
    """Return bytes a second in the unit in which they were said."""
    exact = [unit for unit in ("GB", "MB", "KB") if rate % UNITS[unit] == 0]
    return f"{rate // UNITS[exact[0]]} {exact[0]}" if exact else size(rate)


def typed(rate: int | None) -> str:
    """Return bytes a second as they are typed."""
    if rate is None:
        return "unlimited"
    exact = [unit for unit in ("GB", "MB", "KB") if rate % UNITS[unit] == 0]
    return f"{rate // UNITS[exact[0]]}{exact[0]}" if exact else str(rate)


def measured(rate: float) -> str:
    """Return bytes a second that were measured, in a unit of those that people say."""
    unit = next((unit for unit in ("GB", "MB", "KB") if rate >= UNITS[unit]), "B")
    return f"{rate / UNITS[unit]:.1f} {unit}"


def enough(rate: float) -> str:
    """Return a rate, as it is typed, at which a copy overtakes what is written: twice as much."""
    unit = "MB" if rate >= UNITS["MB"] else "KB"
    return f"{math.ceil(2 * rate / UNITS[unit])}{unit}"


def time(seconds: float) -> str:
    """Return a time as a person says it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
