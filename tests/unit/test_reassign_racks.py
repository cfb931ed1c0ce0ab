"""How plans count racks: what would be lost with one, and brokers that are there and in no inventory."""

from collections import Counter
from collections.abc import Mapping

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import Reassign

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Plan, Wish, plan
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.replica_layout import Replicas, bounds

pytest_plugins = ["unit.reassigning"]
TWO = {1: "dc1", 2: "dc1", 5: "dc1", 3: "dc2", 4: "dc2"}
EIGHT = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c", 8: "c"}
SEVEN = {broker: rack for broker, rack in EIGHT.items() if broker != 8}
"""Broker 8 is there, and not in the inventory."""


def in_racks(made: Plan, racks: Mapping[int, str]) -> list[str]:
    """Return the racks of each partition that moves, in the order of their names."""
    assert not made.refusals
    return ["".join(sorted(racks[one] for one in move.after)) for move in made.moves]


@pytest.mark.parametrize("wish", [{"replace": {3: 5}}, {"drain": (3,)}])
def test_more_replicas_in_one_rack_are_refused_unless_fewer_racks_is_set(wish: Mapping[str, object]) -> None:
    """With two replicas in each, what three of them acknowledged outlives a rack; with three in one, it does not."""
    there = [Replicas("t", 0, (1, 2, 3, 4))]
    (refusal,) = plan(Wish(**wish), TWO, there, TWO).refusals  # type: ignore[arg-type]
    assert refusal == (
        "1 partition (t-0) would have 3 replicas in rack dc1, but now has at most 2 in one rack, so the loss of rack "
        "dc1 would cost more replicas: add a broker of rack dc2 first, or set fewer_racks=true to accept that"
    )
    (move,) = plan(Wish(**wish, fewer_racks=True), TWO, there, TWO).moves  # type: ignore[arg-type]
    assert set(move.after) == {1, 2, 4, 5}


def test_more_replicas_and_an_unknown_rack_are_no_reason() -> None:
    """A third one has to be in one of two racks; a dead broker that no host declares may have been in any."""
    two = {1: "a", 2: "b", 3: "a"}
    assert in_racks(plan(Wish(factors={"t": 3}), two, [Replicas("t", 0, (1, 2))], two), two) == ["aab"]
    assert in_racks(plan(Wish(drain=(9,)), two, [Replicas("t", 0, (1, 2, 9))], two), two) == ["aab"]


def test_a_rack_counts_its_broker_that_is_not_declared(six: FakeCluster, reassign: Reassign) -> None:
    """Rack c has a replica on broker 3: the third goes to b, though broker 6 of rack c holds less."""
    six.topics = {"t": [[1, 3]], "fill": [[2], [5], [2], [5], [2], [5], [2], [5], [4]]}
    inventory = [{"id": broker, "rack": rack} for broker, rack in six.racks.items() if broker != 3]
    assert reassign(replication_factor=3, topic=["t"], brokers=inventory)["changed"]
    assert sorted(six.racks[one] for one in six.topics["t"][0]) == ["a", "b", "c"]


def test_brokers_are_balanced_beside_an_undeclared_one() -> None:
    """It holds one of each partition, which stays; the racks of the others have what they had."""
    there = [Replicas("t", number, (8, 1, 2)) for number in range(6)]
    made = plan(Wish(rebalance=True), EIGHT, there, SEVEN)
    assert {*in_racks(made, EIGHT)} == {"abc"}
    layout = {one.place: one.brokers for one in there} | {move.place: move.after for move in made.moves}
    assert Counter(broker for replicas in layout.values() for broker in replicas) == {8: 6, 1: 3, 4: 3, 2: 3, 5: 3}


def test_an_undeclared_broker_in_its_own_rack_receives_nothing() -> None:
    """Nothing comes to the broker that is not declared, whose rack had a part of each partition else."""
    there = [Replicas("t", 0, (24, 23)), Replicas("t", 1, (24, 23)), Replicas("u", 0, (24,)), Replicas("v", 0, (24, 1))]
    made = plan(Wish(rebalance=True), {1: "b", 24: "a", 23: "a"}, there, {24: "a", 23: "a"})
    layout = {one.place: one.brokers for one in there} | {move.place: move.after for move in made.moves}
    assert Counter(broker for replicas in layout.values() for broker in replicas) == {24: 3, 23: 3, 1: 1}
    assert 1 in layout["v", 0]


@pytest.mark.parametrize(
    ("factor", "kept", "expected"),
    [
        (1, {"c": 1}, {"a": (0, 0), "b": (0, 0)}),
        (1, {"c": 2}, {"a": (0, 0), "b": (0, 0)}),
        (2, {"a": 1}, {"a": (0, 0), "b": (1, 1)}),
        (3, {"c": 1}, {"a": (1, 1), "b": (1, 1)}),
        (4, {"c": 1}, {"a": (1, 2), "b": (1, 2)}),
        (4, {"a": 2}, {"a": (0, 0), "b": (2, 2)}),
        (5, {"a": 2}, {"a": (1, 1), "b": (2, 2)}),
    ],
)
def test_replicas_of_a_rack_beside_what_stays(
    factor: int, kept: dict[str | None, int], expected: dict[str, tuple[int, int]]
) -> None:
    """What others keep counts for the rule of racks, and is no part of those who may hold more."""
    assert bounds({"a": 2, "b": 2}, factor, kept) == expected


def test_fewer_replicas_are_taken_from_the_rack_with_most() -> None:
    """Where racks have the same, from who is not declared."""
    (move,) = plan(Wish(factors={"t": 3}), EIGHT, [Replicas("t", 0, (1, 4, 2, 8))], SEVEN).moves
    assert set(move.after) == {1, 2, 8}
    (move,) = plan(Wish(factors={"t": 2}), EIGHT, [Replicas("t", 0, (1, 2, 8))], SEVEN).moves
    assert set(move.after) == {1, 2}


def test_what_is_uneven_on_brokers_that_are_not_declared_is_left() -> None:
    """Both of rack c stay: nothing of the others mends that, and none comes to that rack."""
    racks = {**EIGHT, 9: "c"}
    made = plan(Wish(rebalance=True), racks, [Replicas("t", number, (8, 9, 1)) for number in range(4)], SEVEN)
    assert not made.refusals and not made.notes
    assert {*in_racks(made, racks)} <= {"acc", "bcc"}


def test_a_partition_without_replicas_is_skipped() -> None:
    there = [Replicas("t", 0, ()), Replicas("t", 1, (1, 2)), Replicas("t", 2, (1, 2))]
    made = plan(Wish(leaders=True), {1: "a", 2: "b"}, there)
    assert [str(move) for move in made.moves] == ["t-1"]
    assert made.notes == ("1 partition (t-0) without any replica is skipped",)
