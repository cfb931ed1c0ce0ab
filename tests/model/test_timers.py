"""What is said of a timer of the admin host."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import LAB, spoil
from model.mistakes.timers import ADMIN, RIGHT, said
from model.said import check

ALL = "group all/rebalance_timer"


@pytest.mark.parametrize(
    ("variables", "lines"),
    [
        (said(), []),
        (said(run=False, at_most=None), []),
        (said(rate="unlimited", at_most=20000000000), []),
        ({"all": {"rebalance_timer": {}}}, []),
        ({"dc1-zk1": {"rebalance_timer": {**RIGHT}}}, []),
        (
            {"kafka": {"rebalance_timer": {**RIGHT}}},
            ["TIMER_NOWHERE group kafka/rebalance_timer: is not said for dc1-zk1, the first host of the group admin"],
        ),
        (said(on_calendar=None), [f"TIMER_CALENDAR {ALL}.on_calendar: it does not say when"]),
        (said(rate="5"), [f"TIMER_RATE {ALL}.rate = 5: no rate that brokers can keep to"]),
        (said(rate="50Mb"), [f"TIMER_RATE {ALL}.rate = 50Mb: no rate"]),
        (said(rate="50mb"), [f"TIMER_RATE {ALL}.rate = 50mb: no rate"]),
        (said(at_most="20gb"), [f"TIMER_LIMIT {ALL}.at_most = 20gb: no number of bytes"]),
        (said(at_most="many", run=False), [f"TIMER_LIMIT {ALL}.at_most = many: no number of bytes"]),
        (said(at_most="0"), [f"TIMER_LIMIT {ALL}.at_most = 0: it could never copy anything"]),
        (said(run="sometimes"), [f"INPUT_REFUSED {ALL}.run = sometimes: "]),
        (said(oncalendar="daily"), [f"INPUT_REFUSED {ALL}: no key oncalendar, and on_calendar may be meant"]),
        ({"all": {"rebalance_timer_rate": "50MB"}}, ["VARIABLE_UNKNOWN group all/rebalance_timer_rate: "]),
        ({"all": {"rebalance_timer": None}}, []),
        # A line more in the unit, and times that never come.
        (said(on_calendar="Sun\n03:00"), [f"TIMER_CALENDAR {ALL}.on_calendar"]),
        (said(on_calendar="*-02-31 03:00"), [f"TIMER_CALENDAR {ALL}.on_calendar = *-02-31 03:00: never comes"]),
        (said(on_calendar="2020-01-01 03:00"), [f"TIMER_CALENDAR {ALL}.on_calendar = 2020-01-01 03:00: never comes"]),
        (said(on_calendar="Sun *-*~1..7 03:00"), []),
        # Numbers beyond all brokers and floats.
        (said(rate="9" * 400), [f"TIMER_RATE {ALL}.rate"]),
        (said(rate="9" * 5000), [f"TIMER_RATE {ALL}.rate"]),
        (said(at_most="9" * 400), []),
        (said(at_most="9" * 5000), [f"TIMER_LIMIT {ALL}.at_most"]),
        # Of another type: once.
        (said(rate=["50MB"]), [f"INPUT_REFUSED {ALL}.rate"]),
        (said(on_calendar={"a": 1}), [f"INPUT_REFUSED {ALL}.on_calendar"]),
        (said(on_calendar=True), [f"INPUT_REFUSED {ALL}.on_calendar"]),
        (said(at_most=["20GB"]), [f"INPUT_REFUSED {ALL}.at_most"]),
    ],
)
def test_said(variables: dict[str, dict[str, Any]], lines: list[str], tmp_path: Path) -> None:
    found = check(spoil(tmp_path / "inventory", replace(LAB, hosts=ADMIN, variables=variables)))[1]
    assert len(found) == len(lines), found
    assert all(text.startswith(begin) for text, begin in zip(found, lines, strict=True)), found
