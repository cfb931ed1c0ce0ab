"""Plans of moves on simulated clusters: as few copies as can be, racks, replicas and leaders even, and what is refused.

Expected numbers are computed from the shape of each cluster: brokers, partitions, replicas.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from unit.effort import calls

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import busiest
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move, Plan, Wish, plan
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.replica_layout import Replicas, bounds

TOPICS = 36
THREE = {f"t{number}": 3 for number in range(TOPICS)}


def racks(brokers: int, names: str = "abc") -> dict[int, str]:
    """Return brokers 1, 2, ... in turns over racks."""
    return {number: names[(number - 1) % len(names)] for number in range(1, brokers + 1)}


def even(brokers: int, partitions: int, factor: int) -> list[Replicas]:
    """Return partitions of which each has a replica in so many racks, all brokers hold and lead the same.

    Sizes are of a Pareto distribution, as those of real topics: few are large.
    """
    sizes = random.Random(7)
    found = []
    for number in range(partitions):
        first = number % brokers
        row, step = number // brokers, brokers // 3
        # the followers are in the racks after the leader's, on each of their brokers in its turn
        others = [(first + 1 + one + 3 * ((row + one) % step)) % brokers for one in range(factor - 1)]
        held = tuple(1 + broker for broker in (first, *others))
        size = int(sizes.paretovariate(1.2) * 1e6)
        found.append(Replicas(f"t{number % TOPICS}", number // TOPICS, held, size))
    return found


def after(partitions: Sequence[Replicas], made: Plan) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return the replicas of each partition when all is moved."""
    assert not made.refusals
    return {one.place: one.brokers for one in partitions} | {move.place: move.after for move in made.moves}


def copies(made: Plan) -> int:
    """Return how many replicas are copied."""
    return sum(len(set(move.after) - set(move.before)) for move in made.moves)


def violations(layout: Mapping[tuple[str, int], Sequence[int]], where: Mapping[int, str]) -> int:
    """Return of how many partitions a rack has two replicas more than another that has a broker to spare."""
    sizes, found = Counter(where.values()), 0
    for replicas in layout.values():
        counts = Counter(where[broker] for broker in replicas)
        assert len(set(replicas)) == len(replicas)
        found += any(counts[a] - counts[b] > 1 and counts[b] < sizes[b] for a in sizes for b in sizes)
    return found


def spread(numbers: Counter[int], where: Mapping[int, str]) -> int:
    """Return how much more one broker has than another."""
    values = [numbers[broker] for broker in where]
    return max(values) - min(values)


Scenario = tuple[dict[int, str], list[Replicas], Wish, int]


def scenario(name: str, partitions: int) -> Scenario:
    """Return brokers with racks, partitions, what is asked for, and how many replicas have to be copied for it."""
    third = partitions * 3 // 9
    found: dict[str, Scenario] = {
        # Three of nine brokers are new, and are to hold three ninths.
        "six to nine": (racks(9), even(6, partitions, 3), Wish(add=(7, 8, 9)), 3 * third),
        # What the one holds.
        "drain one of nine": (racks(9), even(9, partitions, 3), Wish(drain=(4,)), third),
        "a third replica": (racks(9), even(9, partitions, 2), Wish(factors=THREE), partitions),
        # Two of eight.
        "one rack more": ({**racks(6), 7: "d", 8: "d"}, even(6, partitions, 3), Wish(add=(7, 8)), partitions * 3 // 4),
    }
    return found[name]


NAMES = ("six to nine", "drain one of nine", "a third replica", "one rack more")


@pytest.mark.parametrize("name", NAMES)
def test_simulated_cluster(name: str) -> None:
    """1,800 partitions: no replica more than has to be is copied, and all is even where racks let it be."""
    where, partitions, wish, necessary = scenario(name, 1800)
    made = plan(wish, where, partitions)
    stay = {broker: rack for broker, rack in where.items() if broker not in wish.drain}
    layout = after(partitions, made)
    assert necessary <= copies(made) <= necessary * 1.05
    assert violations(layout, stay) == 0
    assert spread(Counter(replicas[0] for replicas in layout.values()), stay) <= 2
    held = Counter(broker for replicas in layout.values() for broker in replicas)
    for rack in set(stay.values()):
        assert spread(held, {one: rack for one in stay if stay[one] == rack}) <= 1
    assert plan(wish, where, list(reversed(partitions))) == made, "another order of the same is the same plan"


def test_more_partitions_cost_no_more_each() -> None:
    """20,000 partitions take at most 15 times as many calls as 2,000, and not a hundred times."""
    small, large = scenario("six to nine", 2016), scenario("six to nine", 20160)
    some, many = (calls(plan, one[2], one[0], one[1]) for one in (small, large))
    assert many < 15 * some, f"{many / some:.1f} times {some}"
    assert copies(plan(large[2], large[0], large[1])) <= large[3] * 1.05


def one(*brokers: int, topic: str = "t", number: int = 0, size: int = 0) -> Replicas:
    """Return a partition."""
    return Replicas(topic, number, brokers, size)


def moved(made: Plan) -> list[str]:
    """Return the moves in words."""
    return [f"{move}: {move.before} -> {move.after}" for move in made.moves]


def test_replaced_broker_has_all_its_places() -> None:
    """Also the first, so that it leads what the old one led; nothing else changes."""
    where = {1: "a", 2: "b", 7: "c"}
    there = [one(3, 1), one(1, 2, number=1), one(2, 3, number=2)]
    assert moved(plan(Wish(replace={3: 7}), where, there)) == ["t-0: (3, 1) -> (7, 1)", "t-2: (2, 3) -> (2, 7)"]


def test_racks_that_were_uneven_are_mended_first() -> None:
    """Both replicas are in rack a; a rebalance brings one to rack b though all brokers hold the same."""
    where = {1: "a", 2: "a", 3: "b", 4: "b"}
    there = [one(1, 2), one(3, 4, number=1)]
    layout = after(there, plan(Wish(rebalance=True), where, there))
    assert violations(layout, where) == 0
    assert sorted(broker for replicas in layout.values() for broker in replicas) == [1, 2, 3, 4]


def test_fewer_replicas_keep_the_leader_and_the_racks() -> None:
    where = {1: "a", 2: "a", 3: "b"}
    assert moved(plan(Wish(factors={"t": 2}), where, [one(1, 2, 3)])) == ["t-0: (1, 2, 3) -> (1, 3)"]


def test_several_factors_in_one_plan() -> None:
    """Of 36 topics a third gets a replica, a third loses one, a third stays: no other copy, and racks are even."""
    where, partitions = racks(9), even(9, 1800, 2)
    factors = {f"t{number}": (3, 1, 2)[number % 3] for number in range(TOPICS)}
    made = plan(Wish(factors=factors), where, partitions)
    layout = after(partitions, made)
    assert [name for (name, _), replicas in layout.items() if len(replicas) != factors[name]] == []
    assert copies(made) == 600
    assert violations(layout, where) == 0
    assert spread(Counter(broker for replicas in layout.values() for broker in replicas), where) <= 2


def test_leaders_alone_copy_nothing() -> None:
    there = [one(1, 2, number=number) for number in range(4)]
    made = plan(Wish(leaders=True), {1: "a", 2: "b"}, there)
    assert copies(made) == 0
    assert Counter(replicas[0] for replicas in after(there, made).values()) == {1: 2, 2: 2}


def test_a_balanced_cluster_stays() -> None:
    partitions = even(9, 90, 3)
    for wish in (Wish(rebalance=True), Wish(leaders=True), Wish(add=(9,)), Wish(factors=THREE)):
        assert plan(wish, racks(9), partitions) == Plan()


def test_an_uneven_cluster_gives_what_it_has_too_much_to_new_brokers_alone() -> None:
    """Broker 2 has nothing, and stays so: only broker 3 was asked for."""
    there = [one(1, number=number) for number in range(9)]
    layout = after(there, plan(Wish(add=(3,)), {1: "a", 2: "a", 3: "a"}, there))
    assert Counter(replicas[0] for replicas in layout.values()) == {1: 6, 3: 3}


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish(add=(9,)), "broker 9 is not registered: nothing can be moved to it; start it"),
        (Wish(drain=(9,)), "broker 9 is not registered, and no partition has a replica there"),
        (Wish(replace={3: 9}), "broker 9 is not registered: nothing can be moved to it"),
        (Wish(replace={3: 1}), "broker 1 already holds 1 partition (t-0); drain=3 spreads its replicas"),
        (
            Wish(drain=(3,)),
            "1 partition (t-0) would have 3 replicas, but 2 brokers would be left for them: add a broker of rack c "
            "first, or lower replication_factor",
        ),
        (
            Wish(factors={"t": 4}),
            "2 partitions (t-0, t-1) would have 4 replicas, but 3 brokers would be left for them: add a broker first",
        ),
    ],
)
def test_refused(wish: Wish, words: str) -> None:
    there = [one(1, 2, 3), one(1, 2, number=1)]
    made = plan(wish, racks(3), there)
    assert plan(wish, racks(3), there[::-1]) == made, "another order of the same is refused in the same words"
    (refusal,) = made.refusals
    assert words in refusal
    assert made.moves == ()


def test_each_number_of_replicas_that_brokers_do_not_suffice_for_is_refused() -> None:
    """By topic; one that has enough brokers is not named."""
    there = [one(1, 2), one(1, 2, topic="u"), one(1, 2, topic="v")]
    made = plan(Wish(factors={"t": 5, "u": 4, "v": 3}), racks(3), there)
    assert [text.partition(", but")[0] for text in made.refusals] == [
        "1 partition (u-0) would have 4 replicas",
        "1 partition (t-0) would have 5 replicas",
    ]
    assert made.moves == ()


def test_the_loss_of_a_rack_is_refused_unless_fewer_racks_is_set() -> None:
    """Six brokers in three racks, and both of rack c are to go."""
    where, there = racks(6), [one(1, 2, 3)]
    (refusal,) = plan(Wish(drain=(3, 6)), where, there).refusals
    assert refusal == (
        "1 partition (t-0) would be in fewer racks than now, without rack c: add a broker of rack c first, or set "
        "fewer_racks=true if that rack is removed"
    )
    (move,) = plan(Wish(drain=(3, 6), fewer_racks=True), where, there).moves
    assert set(move.after) in ({1, 2, 4}, {1, 2, 5})


def test_nothing_is_moved_to_brokers_that_are_not_declared() -> None:
    where, there = racks(6), [one(1, 2, number=number) for number in range(4)] + [one(4, 5, topic="u")]
    declared = {broker: rack for broker, rack in where.items() if broker not in (5, 6)}
    for wish in (Wish(drain=(2,), fewer_racks=True), Wish(rebalance=True), Wish(factors={"t": 3, "u": 3})):
        made = plan(wish, where, there, declared)
        assert made.moves and not {5, 6} & {broker for move in made.moves for broker in move.added}
    for wish in (Wish(add=(3, 6)), Wish(replace={2: 6})):
        (refusal,) = plan(wish, where, there, declared).refusals
        assert refusal == "broker 6 is not in the inventory: nothing is moved to it; add its host first"


def test_what_a_broker_that_is_not_declared_holds_stays_there() -> None:
    """It needs no place on others: one is left for the replica that has to go."""
    where = {1: "a", 2: "b", 8: "c"}
    made = plan(Wish(drain=(2,)), where, [one(2, 8)], {1: "a", 2: "b"})
    assert moved(made) in (["t-0: (2, 8) -> (1, 8)"], ["t-0: (2, 8) -> (8, 1)"])


@pytest.mark.parametrize(
    ("sizes", "factor", "expected"),
    [
        ({"a": 2, "b": 2, "c": 2}, 3, {"a": (1, 1), "b": (1, 1), "c": (1, 1)}),
        ({"a": 2, "b": 2, "c": 2}, 2, {"a": (0, 1), "b": (0, 1), "c": (0, 1)}),
        ({"a": 3, "b": 1}, 3, {"a": (2, 2), "b": (1, 1)}),
        ({"a": 3, "b": 3}, 3, {"a": (1, 2), "b": (1, 2)}),
    ],
)
def test_replicas_of_a_rack(sizes: dict[str | None, int], factor: int, expected: dict[str, tuple[int, int]]) -> None:
    assert bounds(sizes, factor) == expected


def test_a_replica_without_a_leader_takes_no_time() -> None:
    """The only one of a partition, on a new disk, whose records are given up."""
    there = [Partition("t", 0, -1, (2,), ()), Partition("t", 1, 1, (1,), (1,))]
    assert busiest([Move("t", 0, (), (2,), 10), Move("t", 1, (1,), (1, 2), 5)], there) == 15


def test_the_leader_sends_not_a_dead_preferred_leader() -> None:
    moves = [Move("t", 0, (3, 1), (2, 1), 10), Move("t", 1, (3, 2), (1, 2), 20), Move("t", 2, (3, 4), (5, 4), 5)]
    there = [Partition("t", number, leader, (3, leader), (leader,)) for number, leader in enumerate((1, 2, 4))]
    assert busiest(moves, there) == 20


def test_bytes_of_a_move() -> None:
    """Those of each replica that comes, and none for another order."""
    assert (Move("t", 0, (1, 2), (2, 3, 4), 10).bytes, Move("t", 0, (1, 2), (2, 1), 10).bytes) == (20, 0)
