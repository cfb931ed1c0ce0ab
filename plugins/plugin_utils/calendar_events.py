"""Times that come again, as OnCalendar of a systemd timer has them (systemd.time(7)). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from zoneinfo import available_timezones

SHORT = re.compile(r"(minute|hour|dai|month|week|quarter|year|annual|anual|(semi|bi)-?annual)ly", re.IGNORECASE)
DAY = re.compile(
    r"(mon)(?:day)?|(tue)(?:sday)?|(wed)(?:nesday)?|(thu)(?:rsday)?|(fri)(?:day)?|(sat)(?:urday)?|(sun)(?:day)?"
)
RANGES = {
    "year": (1970, 2199),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59.999999),
}
NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
PART = re.compile(rf"{NUMBER}(?:\.\.{NUMBER})?(?:/{NUMBER})?")
DATE = re.compile(r"(?:([^-~]+)-)?([^-~]+)[-~]([^-~]+)")
ZONE = re.compile(r"[A-Z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")


def faults(text: str) -> Iterator[str]:
    """Yield what systemd would not take of a calendar expression, as `Sun 03:00` or `*-*-01 04:30 UTC`."""
    words = text.split()
    if len(words) > 1 and _zone(words[-1]):
        words.pop()
    if len(words) == 1 and (SHORT.fullmatch(words[0]) or re.fullmatch(r"@[0-9]+", words[0])):
        return
    if not words:
        yield "no time"
    if words and words[0][0].isalpha():
        yield from _days(words.pop(0))
    if words and ":" not in words[0]:
        yield from _date(words.pop(0))
    if words:
        yield from _time(words.pop(0))
    yield from (f"{word}: stands behind the time, and is no timezone" for word in words)


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _zone(text: str) -> bool:
    """Tell whether that is a timezone, or looks like one where this machine knows none."""
    return text.upper() == "UTC" or (text in _zones() if _zones() else bool(ZONE.fullmatch(text)))


def _days(text: str) -> Iterator[str]:
    """Yield what is no day of the week, of `Mon..Fri,Sun`."""
    for part in text.removesuffix(",").split(","):
        found = [(name, DAY.fullmatch(name.lower())) for name in re.split(r"\.\.|-", part)]
        numbers = [one.lastindex or 0 for _, one in found if one]
        yield from (f"{name or part}: no day of the week, as Sun" for name, one in found if not one)
        if len(found) > 2 or numbers != sorted(numbers):
            yield f"{part}: a week begins with Monday, and a range of its days has two ends"


def _date(text: str) -> Iterator[str]:
    """Yield what is wrong with a date, of `2026-*-01` or `02~01`."""
    found = DATE.fullmatch(text)
    if not found:
        yield f"{text}: neither a date, as *-*-01, nor a time, as 03:00"
        return
    for kind, part in zip(("year", "month", "day"), found.groups(), strict=True):
        yield from _parts(kind, part) if part else ()


def _time(text: str) -> Iterator[str]:
    """Yield what is wrong with a time, of `03:00` or `*:0/15:00`."""
    parts = text.split(":")
    if not 2 <= len(parts) <= 3:
        yield f"{text}: no time, as 03:00"
        return
    for kind, part in zip(("hour", "minute", "second"), parts, strict=False):
        yield from _parts(kind, part)


def _parts(kind: str, text: str) -> Iterator[str]:
    """Yield what is wrong with a part of a date or time: `*`, or numbers, ranges and steps between commas."""
    low, high = RANGES[kind]
    for item in text.split(",") if text != "*" else ():
        found = PART.fullmatch(item)
        if not found or (kind != "second" and "." in item.replace("..", "")):
            yield f"{item or text}: no {kind}; write *, 1, 1,3, 1..5 or 1/2"
            continue
        first, last, step = (float(number) if number else None for number in found.groups())
        for number in (first, last):
            if number is not None and not low <= number <= high and not (kind == "year" and number < 100):
                yield f"{item}: the {kind} is from {low} to {int(high)}"
        if last is not None and first is not None and last < first:
            yield f"{item}: ends before it begins"
        if step == 0:
            yield f"{item}: comes back after nothing"
