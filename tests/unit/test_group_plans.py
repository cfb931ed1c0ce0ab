"""Where consumer groups go on: plans, without a cluster."""

from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import (
    Ends,
    Group,
    described,
    diff,
    milliseconds,
)

A, B = ("orders", 0), ("orders", 1)
ENDS = Ends({A: 10, B: 0}, {A: 100, B: 50}, {A: 60, B: -1})
IDLE = Group("billing", "EMPTY", (), {A: 40, B: 50})


def planned(found: Group = IDLE, **wanted: Any) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return before and after of the one change, and the refusals."""
    plan = diff([{"name": "billing", **wanted}], {"billing": found}, {"orders": 2}, {"billing": ENDS})
    return [lines for change in plan.changes for lines in (change.before, change.after)], list(plan.refusals)


@pytest.mark.parametrize(
    ("wanted", "before", "after"),
    [
        (
            {"to": "earliest"},
            ("orders-0: 40", "orders-1: 50"),
            ("orders-0: 10 (30 records are read again)", "orders-1: 0 (50 records are read again)"),
        ),
        ({"to": "latest"}, ("orders-0: 40",), ("orders-0: 100 (60 records are skipped)",)),
        # Where nothing is so late, what comes next.
        ({"timestamp": "0"}, ("orders-0: 40",), ("orders-0: 60 (20 records are skipped)",)),
        # Not beyond what there is.
        (
            {"shift": -35},
            ("orders-0: 40", "orders-1: 50"),
            ("orders-0: 10 (30 records are read again)", "orders-1: 15 (35 records are read again)"),
        ),
        ({"offsets": {"orders": {"0": 99}}}, ("orders-0: 40",), ("orders-0: 99 (59 records are skipped)",)),
        ({"offsets": {"orders": {1: 999}}}, None, None),
    ],
)
def test_targets(wanted: dict[str, Any], before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> None:
    """From, to, and how many records that is."""
    assert planned(**wanted) == ([before, after] if before else [], [])


def test_a_topic_that_is_gone_stays_out() -> None:
    found = Group("billing", "EMPTY", (), {**IDLE.offsets, ("old", 0): 5})
    assert planned(found, to="latest") == ([("orders-0: 40",), ("orders-0: 100 (60 records are skipped)",)], [])


def test_a_group_that_has_read_nothing_of_a_topic() -> None:
    new = Group("billing", "DEAD")
    assert planned(new, to="latest", topics=["orders"]) == (
        [("orders-0: nothing committed", "orders-1: nothing committed"), ("orders-0: 100", "orders-1: 50")],
        [],
    )


@pytest.mark.parametrize(
    ("found", "wanted", "said"),
    [
        (
            Group("billing", "STABLE", [{"client_id": "b1", "host": "198.51.100.1"}], IDLE.offsets),
            {"to": "earliest"},
            "group billing: is STABLE, and b1 on 198.51.100.1 would commit other offsets; stop the consumers first",
        ),
        (
            Group("billing", "DEAD"),
            {"to": "earliest"},
            "group billing: does not exist; correct the name, or name the topics to start with",
        ),
        (
            Group("billing", "EMPTY"),
            {"to": "earliest"},
            "group billing: has no committed offsets; name the topics to start with",
        ),
        (IDLE, {"to": "earliest", "topics": ["order"]}, "group billing: there is no topic order"),
        (IDLE, {"offsets": {"orders": {2: 1}}}, "group billing: topic orders has no partition 2"),
        (IDLE, {"to": "earliest", "shift": 1}, "group billing: has to and shift; keep one of them"),
    ],
)
def test_refused(found: Group, wanted: dict[str, Any], said: str) -> None:
    assert planned(found, **wanted) == ([], [said])


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1767225600000", 1767225600000),
        ("2026-01-01T00:00:00Z", 1767225600000),
        ("2026-01-01T01:00:00+01:00", 1767225600000),
    ],
)
def test_times(text: str, number: int) -> None:
    assert milliseconds(text) == number


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        milliseconds("2026-01-01T00:00:00")


@pytest.mark.parametrize("text", ["1969-12-31T23:59:59.999Z", "9" * 30])
def test_a_time_that_is_none_of_records_is_refused(text: str) -> None:
    """To a broker -1 is the end of a partition, and -2 its beginning."""
    with pytest.raises(ValueError, match="not between 1970-01-01 and 9999-12-31"):
        milliseconds(text)


def test_lag() -> None:
    found = described(Group("billing", "EMPTY", (), {A: 40}), ENDS)
    assert found["partitions"] == [{"topic": "orders", "partition": 0, "offset": 40, "end": 100, "lag": 60}]
    assert (found["state"], found["lag"]) == ("EMPTY", 60)


@pytest.mark.parametrize(
    ("offsets", "wrong"),
    [
        ({}, "is empty"),
        ({"orders": {}}, "topic orders: {} has no offset of a partition"),
        ({"orders": [3]}, "topic orders: [3] has no offset of a partition"),
        ({"orders": {"x": 1}}, "topic orders: x: 1 are not two numbers"),
        ({"orders": {0: None}}, "topic orders: 0: None are not two numbers"),
        ({"orders": {-1: 3}}, "topic orders: -1: 3 are not two numbers"),
    ],
)
def test_offsets_that_are_none(offsets: dict[str, Any], wrong: str) -> None:
    """As where a template came to nothing: no record may be skipped for that."""
    changed, (refused,) = planned(offsets=offsets)
    assert changed == [] and refused.startswith(f"group billing: offsets: {wrong}")
