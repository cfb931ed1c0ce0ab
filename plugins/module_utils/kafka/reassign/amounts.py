"""Parses and formats bytes, rates and durations. No I/O."""

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
"""A decimal number, short enough for Python to convert."""
BITS = r"[0-9]\s*(?i:[KMGT]?i?)b"
"""A small b after a number and a prefix: some people read 50Mb, 50mb and 50Mbit as bits, an eighth of 50MB."""

MIN_RATE = 1024
"""Bytes a second; below that, a replica would never catch up with the records that are written meanwhile."""

MAX_RATE = 2**63 - 1
"""The largest number of bytes a second that a broker setting can hold."""


def rate(text: str) -> int | None:
    """Parse the option `rate` as bytes a second: `50MB`, `50 MiB/s` or `52428800`; `unlimited` gives None.

    Raises ValueError if the text is no rate, might mean bits, or is below MIN_RATE or above MAX_RATE.
    """
    if text.strip().lower() == "unlimited":
        return None
    if re.search(BITS, text):
        raise ValueError(f"rate {text}: b may mean bits; set bytes a second, for example 50MB")
    match = re.fullmatch(NUMBER + r"\s*([KMG]?I?B?)(?:/s)?", text.strip().upper().replace("/S", "/s"))
    if not match or match.group(2) not in UNITS:
        raise ValueError(
            f"rate {text}: set the bytes a second that each broker may send and receive, for example 50MB, or unlimited"
        )
    rate = int(Fraction(match.group(1)) * UNITS[match.group(2)])
    if rate < MIN_RATE:
        raise ValueError(f"rate {text}: {rate} bytes a second is too low for the moves to end; set 1MB or more")
    if rate > MAX_RATE:
        raise ValueError(f"rate {text}: more than a broker setting can hold; set unlimited")
    return rate


def bytes_of(text: str) -> int:
    """Parse `20GB`, `500 MiB` or `20000000000` as a number of bytes.

    Raises ValueError if the text is no size or might mean bits.
    """
    match = re.fullmatch(NUMBER + r"\s*([KMGT]?I?B?)", text.strip().upper())
    if re.search(BITS, text):
        raise ValueError(f"{text}: b may mean bits; set bytes, for example 20GB")
    if not match or match.group(2) not in UNITS:
        raise ValueError(f"{text}: set bytes, for example 20GB")
    return int(Fraction(match.group(1)) * UNITS[match.group(2)])


def size(number: float) -> str:
    """Format a number of bytes in GiB, MiB or KiB with one decimal place, or in whole bytes below 1 KiB."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= scale:
            return f"{number / scale:.1f} {unit}"
    return f"{number:.0f} B"


def speed(rate: int) -> str:
    """Format a configured rate (bytes a second), as `50 MB`; the caller appends `/s`.

    A rate that is no whole number of GB, MB or KB is formatted as GiB, MiB or KiB with one decimal place.
    """
    exact = [unit for unit in ("GB", "MB", "KB") if rate % UNITS[unit] == 0]
    return f"{rate // UNITS[exact[0]]} {exact[0]}" if exact else size(rate)


def typed(rate: int | None) -> str:
    """Format a rate (bytes a second, None: unlimited) so that `rate` can parse it again, as `50MB` or `unlimited`."""
    if rate is None:
        return "unlimited"
    exact = [unit for unit in ("GB", "MB", "KB") if rate % UNITS[unit] == 0]
    return f"{rate // UNITS[exact[0]]}{exact[0]}" if exact else str(rate)


def measured(rate: float) -> str:
    """Format a measured rate (bytes a second) with one decimal place, as `12.3 MB`; the caller appends `/s`."""
    unit = next((unit for unit in ("GB", "MB", "KB") if rate >= UNITS[unit]), "B")
    return f"{rate / UNITS[unit]:.1f} {unit}"


def enough(rate: float) -> str:
    """Return a value for the option `rate` with which a copy can end: twice the write rate (bytes a second) `rate`."""
    unit = "MB" if rate >= UNITS["MB"] else "KB"
    return f"{math.ceil(2 * rate / UNITS[unit])}{unit}"


def time(seconds: float) -> str:
    """Format a duration in seconds as `90 s`, `15 min` or `2.5 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
