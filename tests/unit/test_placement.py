"""Where replicas of new partitions go: over racks, then brokers, leaders likewise; the same each time."""

from collections import Counter

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.placement import Placement, unplaceable

THREE = {1: "a", 2: "b", 3: "c"}
NINE = {number: "abc"[number % 3] for number in range(1, 10)}
LAME = {1: "a", 2: "a", 3: "b", 4: "c"}


def spread(counts: Counter[int], brokers: dict[int, str]) -> int:
    """Return how many more the fullest broker has than the emptiest."""
    numbers = [counts[broker] for broker in brokers]
    return max(numbers) - min(numbers)


def test_one_broker_in_each_of_three_racks() -> None:
    assert Placement(THREE).place(3, 3) == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]


def test_the_same_topics_are_placed_the_same() -> None:
    def placed() -> list[list[list[int]]]:
        placement = Placement(NINE)
        return [placement.place(partitions, 3) for partitions in (1, 7, 12)]

    assert placed() == placed()


@pytest.mark.parametrize("partitions", [9, 12, 100])
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 6])
def test_replicas_and_leaders_are_even(partitions: int, factor: int) -> None:
    placed = Placement(NINE).place(partitions, factor)
    held = Counter(broker for replicas in placed for broker in replicas)
    assert spread(held, NINE) <= 1
    assert spread(Counter(replicas[0] for replicas in placed), NINE) <= 1
    for replicas in placed:
        assert len(set(replicas)) == factor
        in_racks = Counter(NINE[broker] for broker in replicas)
        numbers = [in_racks[rack] for rack in "abc"]
        assert max(numbers) - min(numbers) <= 1, "a rack holds more of a partition than it has to"


def test_a_rack_with_more_brokers_does_not_get_more_of_a_partition() -> None:
    """Each partition has one replica in each rack, so the two brokers of one share what falls to it."""
    placed = Placement(LAME).place(12, 3)
    assert {tuple(sorted(LAME[broker] for broker in replicas)) for replicas in placed} == {("a", "b", "c")}
    held = Counter(broker for replicas in placed for broker in replicas)
    assert dict(held) == {1: 6, 2: 6, 3: 12, 4: 12}
    assert spread(Counter(replicas[0] for replicas in placed), LAME) <= 1


def test_topics_of_one_partition_do_not_all_go_to_the_first_brokers() -> None:
    placement = Placement(NINE)
    placed = [placement.place(1, 3)[0] for _ in range(9)]
    assert spread(Counter(broker for replicas in placed for broker in replicas), NINE) == 0
    assert spread(Counter(replicas[0] for replicas in placed), NINE) == 0


def test_what_brokers_hold_already_counts() -> None:
    assert Placement({1: None, 2: None, 3: None}, [[1, 2], [1, 2]]).place(1, 1) == [[3]]


def test_more_partitions_even_out_the_topic() -> None:
    assert Placement(THREE).place(1, 1, there=[[1], [2]]) == [[3]]


def test_fewer_brokers_than_replicas() -> None:
    with pytest.raises(ValueError, match="4 replicas on 3 brokers"):
        Placement(THREE).place(1, 4)


def test_nothing_keeps_replicas_from_their_racks() -> None:
    assert unplaceable(THREE, [1, 2, 3], THREE) == []
    assert unplaceable({}, [1, 2, 3], THREE) == []
    assert unplaceable({1: "a", 2: "a", 3: "b"}, [1, 3], {1: "a", 3: "b"}) == []
    assert unplaceable({1: "", 2: None, 3: ""}, [1, 2], {1: None, 2: None}) == []


def test_a_rack_that_is_down() -> None:
    """Of two datacenters one, so that four replicas would all go to the other for good."""
    declared = {1: "dc1", 2: "dc1", 3: "dc1", 4: "dc1", 5: "dc2", 6: "dc2"}
    assert unplaceable(declared, [1, 2, 3, 4], dict.fromkeys([1, 2, 3, 4], "dc1")) == [
        "all brokers of rack dc2 are down (5, 6), so partitions would be placed without it permanently; start one"
    ]


def test_a_broker_that_does_not_say_its_rack() -> None:
    assert unplaceable({}, [1, 2, 3], {1: "a", 3: "c"}) == [
        "broker 2 did not report its rack; run again when it answers"
    ]


def test_a_broker_that_says_another_rack() -> None:
    """It was moved in the inventory, and not restarted since."""
    assert unplaceable(THREE, [1, 2, 3], {1: "a", 2: "b", 3: "b"}) == [
        "broker 3 reports rack b, but c is declared; restart it, or correct its rack"
    ]
