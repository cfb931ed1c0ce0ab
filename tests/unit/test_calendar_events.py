"""Which calendar expressions systemd accepts (systemd.time(7)): each as `systemd-analyze calendar` of Debian 12."""

from datetime import date

from ansible_collections.millrace.kafka.plugins.plugin_utils.calendar_events import faults, occurs

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
    ("Sonntag 03:00", "Sonntag: not a day of the week"),
    ("Sun 25:00", "25: the hour must be from 0 to 23"),
    ("Sun 03:60", "60: the minute must be from 0 to 59"),
    ("1380", "neither a date"),
    ("every sunday", "every: not a day of the week"),
    ("0 3 * * 0", "neither a date"),
    ("*-13-01", "13: the month must be from 1 to 12"),
    ("*-*-5..3", "5..3: ends before it begins"),
    ("*:0/0", "0/0: the step is 0"),
    ("03:00:00:00", "not a time, such as 03:00"),
    ("03:1.5", "1.5: invalid minute"),
    ("Sun 03:00 often", "often: after the time"),
    ("Mon,,Sun 03:00", "not a day of the week"),
    ("Fri..Mon 03:00", "Fri..Mon: not a range of two days"),
    ("1969-01-01", "the year must be from 1970"),
    ("03:00 Nowhere/City", "not a timezone"),
    ("03:", "invalid minute"),
    ("Sun\n03:00", "a line break: the timer has one line"),
    ("\nSun 03:00", "a line break"),
    ("Sun\t03:00", "not printable ASCII"),
    ("Mon\u00a003:00", "not printable ASCII"),
    ("*-02~30", "30: counted from the end of a month the day must be from 1 to 28"),
    ("@" + "9" * 5000, "neither a date"),
    ("*-04-31/2", "31/2: the step leads beyond the last day"),
)
# As systemd-analyze reported on 2026-11-25: when it occurs next, or never.
OCCURS = (
    "Sun 03:00",
    "daily",
    "*:0/15",
    "2026-11-*",
    "2027-01-01",
    "2026-12-01 03:00",
    "Tue 2026-12-01",
    "*-02-29",
    "Mon *-02-29",
    "*-02-25/6",
    "*-*-31",
    "*-*~1..3",
    "Mon *-05~07/1",
    "2028/4-02-29",
    "*-02~28",
    "69-01-01",
    "26/4-02-28",
    "@1899999999",
    "2026-11-25 23:00",  # of that day: not judged
)
NEVER = (
    "2026-05-*",
    "*-02-31 03:00",
    "2026-02-30",
    "2020-01-01 03:00",
    "2020..2025-01-01",
    "*-04,06-31",
    "Sun 2026-12-01",
    "2030/4-02-29",
    "99-01-01",
    "@1767225600",
    "2026-01..10-* 03:00 UTC",
)


def test_accepted() -> None:
    assert {text: [*faults(text)] for text in GOOD + OCCURS + NEVER if [*faults(text)]} == {}


def test_rejected() -> None:
    assert [(text, why, [*faults(text)]) for text, why in BAD if why not in "; ".join(faults(text))] == []


def test_events_that_never_occur() -> None:
    day = date(2026, 11, 25)
    assert [text for text in GOOD + OCCURS + NEVER if occurs(text, day) is (text in NEVER)] == []


def test_a_line_break_at_the_end_is_yamls() -> None:
    """As `on_calendar: |` has it."""
    assert [*faults("Sun 03:00\n")] == []
