"""Checks calendar expressions of systemd timers (OnCalendar, systemd.time(7))."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date, timedelta
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
FROM_END = 28
"""The largest number of days that may be counted from the end of a month: every month has so many days."""
EPOCH = date(1970, 1, 1)
ZONE = re.compile(r"[A-Z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")


def faults(text: str) -> Iterator[str]:
    """Yield each reason why systemd would reject `text` as a calendar expression, such as `Sun 03:00`.

    Yields nothing if the expression is valid.
    """
    if not re.fullmatch(r"[ -~]*\n?", text):
        breaks = "\n" in text or "\r" in text
        yield "a line break: the timer has one line" if breaks else "a character that is not printable ASCII"
        return
    words = _words(text)
    if len(words) == 1 and (SHORT.fullmatch(words[0]) or re.fullmatch(r"@[0-9]{1,15}", words[0])):
        return
    if not words:
        yield "no time"
    if words and words[0][0].isalpha():
        yield from _days(words.pop(0))
    if words and ":" not in words[0]:
        yield from _date(words.pop(0))
    if words:
        yield from _time(words.pop(0))
    yield from (f"{word}: after the time, and not a timezone" for word in words)


def occurs(text: str, today: date) -> bool:
    """Tell whether a valid calendar expression has a date on or after `today`; a date such as 02-31 never occurs."""
    words = _words(text)
    if words and words[0].startswith("@"):
        return int(words[0][1:]) // 86400 >= (today - EPOCH).days
    weekdays = _weekdays(words.pop(0)) if words[0][0].isalpha() else frozenset(range(7))
    match = DATE.fullmatch(words[0]) if words and ":" not in words[0] else None
    if not match:
        return True
    year, month, day = match.groups()
    ends = words[0][match.start(3) - 1] == "~"
    months = _numbers("month", month)
    return any(
        day_of_year.weekday() in weekdays and day_of_year >= today
        for number in sorted(_numbers("year", year or "*"))
        for day_of_year in (_days_of(number, months, day, ends) if number >= today.year else ())
    )


def _days_of(year: int, months: Collection[int], day: str, ends: bool) -> Iterator[date]:
    """Yield the dates of a year that match the months and the `day` part of an expression.

    With `ends`, days are counted back from the last day of the month.
    """
    for month in months:
        last = (date(year + month // 12, month % 12 + 1, 1) - timedelta(1)).day
        for number in _numbers("day", day, last if ends else 0):
            if 1 <= number <= last:
                yield date(year, month, number)


def _numbers(kind: str, text: str, end: int = 0) -> set[int]:
    """Return the numbers that one part of a date (`kind` is year, month or day) matches, such as `1,3..5`.

    With `end`, the numbers are counted back from this day of the month.
    """
    low, high = RANGES[kind][0], int(RANGES[kind][1])
    numbers: set[int] = set()
    for item in text.split(",") if text != "*" else ():
        match = PART.fullmatch(item)
        first, last, step = (int(number) if number else None for number in match.groups()) if match else (None,) * 3
        if first is None:
            continue
        if kind == "year" and first < 100:
            first += 2000 if first < 70 else 1900
        until = last if last is not None else high if step else first
        if end:
            until = end + 1 - first if not step or last is not None else end
            first = end + 1 - (first if last is None else last)
        numbers |= {*range(first, until + 1, step or 1)}
    return numbers if text != "*" else {*range(low, high + 1)}


def _words(text: str) -> list[str]:
    """Return the weekday, date and time of an expression as separate words, without the timezone."""
    words = text.split()
    return words[:-1] if len(words) > 1 and _zone(words[-1]) else words


def _weekdays(text: str) -> frozenset[int]:
    """Return the weekday numbers (Monday is 0) of a text such as `Mon..Fri,Sun`; all days for a word such as daily."""
    weekdays: set[int] = set()
    for part in text.removesuffix(",").split(","):
        days = [DAY.fullmatch(name.lower()) for name in re.split(r"\.\.|-", part)]
        ends = [(match.lastindex or 0) - 1 for match in days if match]
        weekdays |= {*range(ends[0], ends[-1] + 1)} if ends else {*range(7)}
    return frozenset(weekdays)


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _zone(text: str) -> bool:
    """Tell whether a text is a timezone; without a list of timezones on this machine, whether it may be one."""
    return text.upper() == "UTC" or (text in _zones() if _zones() else bool(ZONE.fullmatch(text)))


def _days(text: str) -> Iterator[str]:
    """Yield an error for each invalid part of a list of weekdays such as `Mon..Fri,Sun`."""
    for part in text.removesuffix(",").split(","):
        ends = [(name, DAY.fullmatch(name.lower())) for name in re.split(r"\.\.|-", part)]
        numbers = [match.lastindex or 0 for _, match in ends if match]
        yield from (f"{name or part}: not a day of the week, such as Sun" for name, match in ends if not match)
        if len(ends) > 2 or numbers != sorted(numbers):
            yield f"{part}: not a range of two days, counted from Monday"


def _date(text: str) -> Iterator[str]:
    """Yield an error for each invalid part of a date such as `2026-*-01` or `02~01`."""
    match = DATE.fullmatch(text)
    if not match:
        yield f"{text}: neither a date, such as *-*-01, nor a time, such as 03:00"
        return
    for kind, part in zip(("year", "month", "day"), match.groups(), strict=True):
        ends = kind == "day" and text[match.start(3) - 1] == "~"
        yield from _parts(kind, part, FROM_END if ends else 0) if part else ()


def _time(text: str) -> Iterator[str]:
    """Yield an error for each invalid part of a time such as `03:00` or `*:0/15:00`."""
    parts = text.split(":")
    if not 2 <= len(parts) <= 3:
        yield f"{text}: not a time, such as 03:00"
        return
    for kind, part in zip(("hour", "minute", "second"), parts, strict=False):
        yield from _parts(kind, part)


def _parts(kind: str, text: str, end: int = 0) -> Iterator[str]:
    """Yield an error for each invalid item in one part of a date or time: `*`, or a list such as `1,3..5,0/15`.

    `kind` is the part (year ... second). `end` is the highest day that may be counted back from the end of a month; 0
    if days are counted from the first day of the month.
    """
    low, high = RANGES[kind][0], end or RANGES[kind][1]
    counted = "counted from the end of a month " if end else ""
    for item in text.split(",") if text != "*" else ():
        match = PART.fullmatch(item)
        if not match or (kind != "second" and "." in item.replace("..", "")):
            yield f"{item or text}: invalid {kind}, write *, 1, 1,3, 1..5 or 1/2"
            continue
        first, last, step = (float(number) if number else None for number in match.groups())
        for number in (first, last):
            if number is not None and not low <= number <= high and not (kind == "year" and number < 100):
                yield f"{item}: {counted}the {kind} must be from {low} to {int(high)}"
        if last is not None and first is not None and last < first:
            yield f"{item}: ends before it begins"
        if step == 0:
            yield f"{item}: the step is 0"
        again = (first or 0) + (step or 0) * (-1 if end else 1)
        if step and last is None and not low <= again <= high and not (kind == "year" and again < 200):
            yield f"{item}: the step leads beyond the last {kind}"
