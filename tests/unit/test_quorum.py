"""When an ensemble has a quorum: majorities, groups, weights, observers."""

import pytest
from unit.layouts import broker, zookeeper

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.quorum import quorum


@pytest.mark.parametrize(("alive", "held"), [("1", False), ("12", True), ("123", True), ("", False)])
def test_majority_of_three(alive: str, held: bool) -> None:
    layout = Layout(tuple(zookeeper(n) for n in "123"), 3, 2)
    assert quorum(layout, set(alive)) is held


@pytest.mark.parametrize(("alive", "held"), [("12", False), ("123", True)])
def test_half_is_no_majority(alive: str, held: bool) -> None:
    layout = Layout(tuple(zookeeper(n) for n in "1234"), 3, 2)
    assert quorum(layout, set(alive)) is held


def test_observers_and_brokers_never_count() -> None:
    servers = (*(zookeeper(n) for n in "123"), zookeeper("4", voter=False), zookeeper("5", voter=False), broker("6"))
    assert not quorum(Layout(servers, 1, 1), set("1456"))
    assert quorum(Layout(servers, 1, 1), set("12"))


@pytest.mark.parametrize(
    ("alive", "held"),
    [("123456", True), ("2356", True), ("12", False), ("123", False), ("1234", False), ("1456", False), ("45", False)],
)
def test_two_groups_need_a_majority_in_both(alive: str, held: bool) -> None:
    layout = Layout(tuple(zookeeper(n, group=1 if n in "123" else 2) for n in "123456"), 4, 3)
    assert quorum(layout, set(alive)) is held


@pytest.mark.parametrize(
    ("alive", "held"), [("1245", True), ("127", True), ("567", True), ("147", False), ("123", False), ("17", False)]
)
def test_three_groups_need_a_majority_in_two(alive: str, held: bool) -> None:
    layout = Layout(tuple(zookeeper(n, group=1 if n in "123" else 2 if n in "456" else 3) for n in "1234567"), 4, 3)
    assert quorum(layout, set(alive)) is held


def test_two_of_four_groups_are_no_majority_of_groups() -> None:
    layout = Layout(tuple(zookeeper(n, group=int(n)) for n in "1234"), 3, 2)
    assert not quorum(layout, set("12"))
    assert quorum(layout, set("123"))


@pytest.mark.parametrize(("alive", "held"), [("1", True), ("23", False), ("2", False), ("12", True)])
def test_a_group_is_won_by_weight(alive: str, held: bool) -> None:
    layout = Layout((zookeeper("1", group=1, weight=3), zookeeper("2", group=1), zookeeper("3", group=1)), 3, 2)
    assert quorum(layout, set(alive)) is held


def test_half_of_a_groups_weight_is_not_enough() -> None:
    layout = Layout((zookeeper("1", group=1, weight=2), zookeeper("2", group=1), zookeeper("3", group=1)), 3, 2)
    assert not quorum(layout, {"1"})
    assert not quorum(layout, {"2", "3"})


def test_a_group_without_weight_is_not_counted() -> None:
    """Of two groups one weighs nothing: the other alone is the majority of groups, and its servers are not needed."""
    layout = Layout((*(zookeeper(n, group=1) for n in "123"), *(zookeeper(n, group=2, weight=0) for n in "456")), 3, 2)
    assert quorum(layout, set("12"))
    assert not quorum(layout, set("1456"))


def test_no_ensemble_has_no_quorum() -> None:
    assert not quorum(Layout((broker("1"),), 1, 1), {"1"})
