"""The sets of brokers that Kafka may choose for the replicas of a partition, with racks and without."""

import pytest

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.replicas import placements


def sets(*texts: str) -> set[frozenset[int]]:
    return {frozenset(map(int, text)) for text in texts}


def test_without_racks_a_ring_of_four() -> None:
    assert placements(dict.fromkeys((1, 2, 3, 4)), 3) == sets("123", "124", "134", "234")
    assert placements(dict.fromkeys((1, 2, 3, 4)), 2) == sets("12", "13", "14", "23", "24", "34")


def test_without_racks_not_every_set_is_possible() -> None:
    """The followers are neighbours on the ring, with the leader left out: every other broker of six is never chosen."""
    found = placements(dict.fromkeys(range(6)), 3)
    assert len(found) == 18
    assert found.isdisjoint(sets("024", "135"))


def test_as_many_replicas_as_brokers() -> None:
    assert placements({1: None, 2: None}, 2) == sets("12")
    assert placements({7: "a"}, 1) == sets("7")


def test_one_replica_may_be_anywhere() -> None:
    assert placements({1: "a", 2: "a", 3: "b"}, 1) == sets("1", "2", "3")


def test_one_broker_in_each_of_three_racks() -> None:
    assert placements({1: "a", 2: "b", 3: "c"}, 3) == sets("123")


def test_two_brokers_in_each_of_three_racks_give_one_replica_to_each_rack() -> None:
    found = placements({1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}, 3)
    assert found == sets("135", "136", "145", "146", "235", "236", "245", "246")


def test_racks_take_turns_by_name() -> None:
    """The example in Kafka's own comment: racks 0:1, 1:3, 2:3, 3:2, 4:2, 5:1 make the ring 0 3 1 5 4 2."""
    found = placements({0: "1", 1: "3", 2: "3", 3: "2", 4: "2", 5: "1"}, 3)
    assert found >= sets("031", "315", "154", "542", "420", "203")
    assert all(len(replicas & {0, 5}) == len(replicas & {1, 2}) == len(replicas & {3, 4}) == 1 for replicas in found)


def test_racks_take_turns_by_name_and_brokers_by_id() -> None:
    """The ring is 0 3 2 1, and three racks move no follower on a ring of four.

    Each goes with the next, but 1 and 0 share a rack.
    """
    assert placements({2: "c", 1: "a", 3: "b", 0: "a"}, 2) == sets("03", "32", "21", "13")
    assert placements(dict.fromkeys((5, 3, 1, 4, 2, 0)), 3) == placements(dict.fromkeys(range(6)), 3)


def test_two_equal_racks_share_four_replicas_evenly() -> None:
    assert placements({1: "dc1", 2: "dc1", 3: "dc2", 4: "dc2"}, 4) == sets("1234")
    found = placements({1: "dc1", 2: "dc1", 3: "dc1", 4: "dc2", 5: "dc2", 6: "dc2"}, 4)
    assert {len(replicas & {1, 2, 3}) for replicas in found} == {2}


def test_two_unequal_racks_may_get_three_and_one() -> None:
    found = placements({1: "dc1", 2: "dc1", 3: "dc1", 4: "dc2", 5: "dc2"}, 4)
    assert {len(replicas & {1, 2, 3}) for replicas in found} == {2, 3}


def test_a_rack_for_each_broker_forgets_the_datacenter() -> None:
    found = placements({1: "dc1-a", 2: "dc1-b", 3: "dc1-c", 4: "dc2-a", 5: "dc2-b", 6: "dc2-c"}, 4)
    assert {len(replicas & {1, 2, 3}) for replicas in found} == {1, 2, 3}


@pytest.mark.parametrize("factor", [0, 4])
def test_more_replicas_than_brokers_or_none(factor: int) -> None:
    with pytest.raises(ValueError, match=f"replication factor {factor} with 3 brokers"):
        placements({1: "a", 2: "b", 3: "c"}, factor)


def test_some_brokers_without_a_rack() -> None:
    with pytest.raises(ValueError, match="some brokers have a rack and some have none"):
        placements({1: "a", 2: None}, 1)
