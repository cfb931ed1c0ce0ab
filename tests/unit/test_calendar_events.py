"""Which times that come again systemd takes (systemd.time(7), each as `systemd-analyze calendar` says of Debian 12)."""

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.calendar_events import faults

GOOD = (
    "Sun 03:00",
    "sun 03:00",
    "Sunday 3:0",
    "Mon..Fri 04:30",
    "Mon-Fri 04:30",
    "Mon,Wed..Fri,Sun *-*-* 00:00:00",
    "*-*-01 04:30 UTC",
    "*-*-1..7 02:00 Europe/Berlin",
    "Sat *-*-1..7 18:00:00",
    "2026-05-*",
    "*-02~03",
    "Mon *-05~07/1",
    "05-01",
    "03:00",
    "*:0/15",
    "0/6:00",
    "23:59:59.5",
    "1,13:00",
    "daily",
    "Weekly UTC",
    "quarterly",
    "@1767225600",
    "Mon, 03:00",
    "99-01-01",
    "03:00 CET",
)
BAD = (
    ("", "no time"),
    ("Sonntag 03:00", "Sonntag: no day of the week"),
    ("Sun 25:00", "25: the hour is from 0 to 23"),
    ("Sun 03:60", "60: the minute is from 0 to 59"),
    ("1380", "neither a date"),
    ("every sunday", "every: no day of the week"),
    ("0 3 * * 0", "neither a date"),
    ("*-13-01", "13: the month is from 1 to 12"),
    ("*-*-5..3", "5..3: ends before it begins"),
    ("*:0/0", "0/0: comes back after nothing"),
    ("03:00:00:00", "no time, as 03:00"),
    ("03:1.5", "1.5: no minute"),
    ("Sun 03:00 often", "often: stands behind the time"),
    ("Mon,,Sun 03:00", "no day of the week"),
    ("Fri..Mon 03:00", "Fri..Mon: a week begins with Monday"),
    ("1969-01-01", "the year is from 1970"),
    ("03:00 Nowhere/City", "no timezone"),
    ("03:", "no minute"),
)


@pytest.mark.parametrize("text", GOOD)
def test_taken(text: str) -> None:
    assert [*faults(text)] == []


@pytest.mark.parametrize(("text", "why"), BAD)
def test_not_taken(text: str, why: str) -> None:
    assert why in "; ".join(faults(text))
