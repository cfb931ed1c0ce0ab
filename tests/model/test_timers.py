"""Problems of the timer of the admin host."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.mistakes.base import LAB, spoil
from model.mistakes.timers import ADMIN, RIGHT, timer
from model.said import check

ALL = "group all/rebalance_timer"


@pytest.mark.parametrize(
    ("variables", "lines"),
    [
        (timer(), []),
        (timer(run=False, at_most=None), []),
        (timer(rate="unlimited", at_most=20000000000), []),
        ({"all": {"rebalance_timer": {}}}, []),
        ({"dc1-zk1": {"rebalance_timer": {**RIGHT}}}, []),
        (
            {"kafka": {"rebalance_timer": {**RIGHT}}},
            ["TIMER_NOWHERE group kafka/rebalance_timer: not set for dc1-zk1, the first host of the group admin"],
        ),
        (timer(on_calendar=None), [f"TIMER_CALENDAR {ALL}.on_calendar: not set"]),
        (timer(rate="5"), [f"TIMER_RATE {ALL}.rate = 5: not a rate that brokers can throttle to"]),
        (timer(rate="50Mb"), [f"TIMER_RATE {ALL}.rate = 50Mb: not a rate"]),
        (timer(rate="50mb"), [f"TIMER_RATE {ALL}.rate = 50mb: not a rate"]),
        (timer(at_most="20gb"), [f"TIMER_LIMIT {ALL}.at_most = 20gb: not a number of bytes"]),
        (timer(at_most="many", run=False), [f"TIMER_LIMIT {ALL}.at_most = many: not a number of bytes"]),
        (timer(at_most="0"), [f"TIMER_LIMIT {ALL}.at_most = 0: too little to copy anything"]),
        (timer(run="sometimes"), [f"INPUT_REFUSED {ALL}.run = sometimes: "]),
        (timer(oncalendar="daily"), [f"INPUT_REFUSED {ALL}: unknown key oncalendar (did you mean on_calendar?)"]),
        ({"all": {"rebalance_timer_rate": "50MB"}}, ["VARIABLE_UNKNOWN group all/rebalance_timer_rate: "]),
        ({"all": {"rebalance_timer": None}}, []),
        # A line more in the unit, and times that never come.
        (timer(on_calendar="Sun\n03:00"), [f"TIMER_CALENDAR {ALL}.on_calendar"]),
        (timer(on_calendar="*-02-31 03:00"), [f"TIMER_CALENDAR {ALL}.on_calendar = *-02-31 03:00: never occurs"]),
        (timer(on_calendar="2020-01-01 03:00"), [f"TIMER_CALENDAR {ALL}.on_calendar = 2020-01-01 03:00: never occurs"]),
        (timer(on_calendar="Sun *-*~1..7 03:00"), []),
        # Numbers beyond all brokers and floats.
        (timer(rate="9" * 400), [f"TIMER_RATE {ALL}.rate"]),
        (timer(rate="9" * 5000), [f"TIMER_RATE {ALL}.rate"]),
        (timer(at_most="9" * 400), []),
        (timer(at_most="9" * 5000), [f"TIMER_LIMIT {ALL}.at_most"]),
        # Of another type: once.
        (timer(rate=["50MB"]), [f"INPUT_REFUSED {ALL}.rate"]),
        (timer(on_calendar={"a": 1}), [f"INPUT_REFUSED {ALL}.on_calendar"]),
        (timer(on_calendar=True), [f"INPUT_REFUSED {ALL}.on_calendar"]),
        (timer(at_most=["20GB"]), [f"INPUT_REFUSED {ALL}.at_most"]),
    ],
)
def test_problems(variables: dict[str, dict[str, Any]], lines: list[str], tmp_path: Path) -> None:
    found = check(spoil(tmp_path / "inventory", replace(LAB, hosts=ADMIN, variables=variables)))[1]
    assert len(found) == len(lines), found
    assert all(text.startswith(begin) for text, begin in zip(found, lines, strict=True)), found
