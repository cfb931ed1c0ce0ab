"""May brokers stop: a table of situations, each with what is in the way and what would clear it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import (
    Rules,
    Snapshot,
    blocks,
    sick,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart_order import Batch, batches

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
FULL = Partition("t", 0, 1, (1, 2, 3), (1, 2, 3))
OTHER = Partition("t", 1, 4, (4, 5, 6), (4, 5, 6))
LACKS_3 = Partition("t", 2, 1, (1, 2, 3), (1, 2))
WAIT_FOR_3 = "wait until broker 3 has caught up, or look for a failed disk (check.yml)"


def look(
    *partitions: Partition, brokers: Sequence[int] = (1, 2, 3, 4, 5, 6), controller: int = 6, **more: Any
) -> Snapshot:
    """A cluster of six brokers in three racks, min.insync.replicas 2."""
    state = State({number: {"rack": None} for number in brokers}, controller, partitions)
    return Snapshot(state, **{"min_isr": {p.topic: 2 for p in partitions}, **more})


def said(found: Snapshot, *stop: int, **rules: Any) -> list[str]:
    """Return the gate's answer in words."""
    return [str(block) for block in blocks(found, stop, Rules(**{"racks": RACKS, **rules}))]


@pytest.mark.parametrize(
    ("found", "stop", "rules", "answer"),
    [
        (look(FULL, OTHER), [1], {}, []),
        (look(FULL, OTHER), [6], {}, []),
        (look(LACKS_3, OTHER), [1], {}, [f"partition t-2: broker 3 is not in sync; {WAIT_FOR_3}"]),
        (look(LACKS_3, OTHER), [3], {}, []),
        (look(LACKS_3, OTHER), [4], {}, []),
        (look(FULL, OTHER, brokers=(1, 2, 3, 4, 5)), [1], {}, ["cluster: no controller, so no other replicas would "
                                                             "lead; look at ZooKeeper's quorum"]),
        (look(FULL, OTHER, brokers=(1, 2, 4, 5, 6)), [2], {}, ["partition t-0: broker 3 is down; start broker 3"]),
        (look(FULL, OTHER, brokers=(1, 2, 4, 5, 6)), [3], {}, []),
        (look(FULL, OTHER, brokers=(1, 2, 4, 5, 6)), [4], {}, []),
        (
            look(Partition("u", 0, 1, (1, 2), (1, 2)), brokers=(1, 2, 4, 5), controller=4),
            [1],
            {"accepts": ["u"]},
            ["rack c: is down: brokers 3, 6 are not registered; start one of them"],
        ),
        (look(FULL, OTHER, unheard={3}), [1], {}, ["partition t-0: broker 3 does not answer, but counts as in sync; "
                                                   "start broker 3, or restart it if it hangs "
                                                   "(restart.yml -l, which does not need its answer), or wait until "
                                                   "its session expires"]),
        (look(FULL, OTHER, unheard={5}), [1], {}, []),
        (look(FULL, moving={"t-0"}), [1], {}, ["partition t-0: its replicas are being moved; wait until the move has "
                                               "ended, or cancel it"]),
        (look(FULL, OTHER, moving={"t-1"}), [1], {}, []),
        (
            look(FULL),
            [1],
            {"margin": 1},
            ["topic t: 2 of 3 replicas would remain, with min.insync.replicas 2 and a margin of 1; give it more "
             "replicas, or accept it: kafka_restart_accepts: [t]"],
        ),
        (look(Partition("t", 0, 1, (1, 2, 3, 4), (1, 2, 3, 4))), [1], {"margin": 1}, []),
        (
            look(Partition("one", 0, 1, (1,), (1,)), min_isr={"one": 1}),
            [1],
            {},
            ["topic one: 0 of 1 replicas would remain, with min.insync.replicas 1; give it more replicas, or accept "
             "it: kafka_restart_accepts: [one]"],
        ),
        (look(Partition("one", 0, 1, (1,), (1,)), min_isr={"one": 1}), [1], {"accepts": ["o*"]}, []),
        (look(Partition("one", 0, 1, (1,), (1,)), min_isr={"one": 1}), [2], {}, []),
        (look(Partition("one", 0, -1, (1,), (1,))), [1], {}, []),
        (look(Partition("t", 0, 1, (1, 2, 3), (1,))), [1], {},
         [f"partition t-0: broker 2 is not in sync; {WAIT_FOR_3.replace('3', '2')}",
          f"partition t-0: broker 3 is not in sync; {WAIT_FOR_3}"]),
        (look(Partition("t", 0, 1, (1, 2, 3), (1,)), silent={1}), [1], {}, []),
        (look(LACKS_3, silent={1}), [1], {}, [f"partition t-2: broker 3 is not in sync; {WAIT_FOR_3}"]),
        (look(FULL, min_isr={}), [1], {}, ["partition t-0: its min.insync.replicas is not known yet, it was just "
                                           "created; ask again"]),
        (look(FULL, OTHER), [1, 4], {}, []),
        (
            look(FULL, OTHER),
            [1, 2],
            {},
            ["topic t: 1 of 3 replicas would remain, with min.insync.replicas 2; give it more replicas, or accept "
             "it: kafka_restart_accepts: [t]"],
        ),
    ],
    ids=["whole", "whole, the controller", "another replica lags", "the one that lags", "others lag", "no controller",
         "another broker is down", "the one that is down", "a broker of other partitions is down", "a rack is out",
         "dead, though in sync", "dead, and elsewhere", "moving", "another moves", "margin", "margin that is there",
         "one replica", "accepted", "of another broker", "offline", "the last in sync",
         "the last in sync answers nobody", "others follow who answers nobody", "a new topic", "a rack", "two racks"],
)  # fmt: skip
def test_what_is_in_the_way(
    found: Snapshot, stop: Sequence[int], rules: Mapping[str, Any], answer: Sequence[str]
) -> None:
    assert said(found, *stop, **rules) == answer


def seen(*partitions: Partition, brokers: Sequence[int] = (1, 2, 3, 4, 5, 6), controller: int = 6) -> State:
    """What one broker says."""
    return look(*partitions, brokers=brokers, controller=controller).state


CUT_OFF = (
    "wait until they agree, or first restart the broker that is cut off "
    "(restart.yml -l, which does not need its answer)"
)


@pytest.mark.parametrize(
    ("views", "answer"),
    [
        ({2: seen(FULL), 3: seen(FULL)}, []),
        ({2: seen(FULL), 3: seen()}, []),
        ({2: seen(), 3: seen(LACKS_3)}, [f"partition t-2: broker 3 is not in sync; {WAIT_FOR_3}"]),
        ({2: seen(LACKS_3), 3: seen(FULL)}, [f"partition t-2: broker 3 is not in sync; {WAIT_FOR_3}"]),
        ({2: seen(FULL), 6: seen(FULL, brokers=(1, 2, 6))}, ["partition t-0: broker 3 is down; start broker 3"]),
        (
            {2: seen(FULL), 3: seen(FULL, controller=2), 6: seen(FULL)},
            [f"cluster: brokers name different controllers (brokers 2, 6 name 6; broker 3 names 2); {CUT_OFF}"],
        ),
        (
            {2: seen(FULL), 3: seen(brokers=(), controller=-1)},
            [f"cluster: brokers name different controllers (broker 2 names 6; broker 3 names none); {CUT_OFF}"],
        ),
        (
            {2: seen(FULL, controller=-1), 3: seen(FULL, controller=-1)},
            ["cluster: no controller, so no other replicas would lead; look at ZooKeeper's quorum"],
        ),
    ],
)
def test_the_worst_of_what_brokers_say_counts(views: Mapping[int, State], answer: Sequence[str]) -> None:
    """Broker 1 is to stop; what was seen first names no partition."""
    first = State({number: {} for number in (1, 2, 3, 4, 5, 6)}, 6)
    assert said(Snapshot(first, {"t": 2}, views=views), 1, racks={}) == answer


def test_many_partitions_are_one_reason() -> None:
    found = look(*(Partition("t", number, 1, (1, 2, 3), (1, 2)) for number in range(9)))
    (words,) = said(found, 1)
    assert words.startswith("partitions t-0, t-1, t-2, t-3, t-4 and 4 more: broker 3 is not in sync")


def test_waiting_does_not_give_a_topic_more_replicas() -> None:
    found = look(Partition("one", 0, 1, (1,), (1,)), LACKS_3)
    assert [block.lasting for block in blocks(found, [1])] == [True, False]


def test_who_has_nothing_goes_first_and_the_controller_last() -> None:
    found = look(FULL, OTHER, LACKS_3, brokers=(1, 2, 3, 5, 6), controller=2)
    assert sick(found, [1, 2, 3, 4]) == [4]
    order = [batch.brokers for batch in batches(found, [1, 2, 3, 4], Rules(racks=RACKS))]
    assert order == [(4,), (1,), (3,), (2,)]


def test_who_runs_and_has_no_replica_is_not_sick() -> None:
    """Of those that hold nothing the controller is the last all the same, and a rack of them goes together."""
    found = look(FULL, controller=4)
    assert sick(found, [4, 5, 6]) == []
    assert [batch.brokers for batch in batches(found, [4, 1, 5])] == [(1,), (5,), (4,)]
    together = batches(found, [1, 2, 3, 4, 5, 6], Rules(racks=RACKS), parallel=True)
    assert [batch.brokers for batch in together] == [(2, 5), (3, 6), (1, 4)]


def test_who_is_in_sync_with_nothing_that_it_has_goes_first_but_for_the_controller() -> None:
    """The others wait for it."""
    found = look(LACKS_3, OTHER, controller=6)
    assert [batch.brokers for batch in batches(found, [1, 2, 3])] == [(3,), (1,), (2,)]
    assert [batch.brokers for batch in batches(look(LACKS_3, controller=3), [1, 3, 2])] == [(1,), (2,), (3,)]


def test_a_controller_that_is_down_or_hangs_goes_first() -> None:
    """Of others that stay none would be allowed to stop beside it."""
    down = look(FULL, OTHER, brokers=(1, 2, 4, 5, 6), controller=3)
    assert [batch.brokers for batch in batches(down, [1, 3, 2])] == [(3,), (1,), (2,)]
    hangs = look(FULL, OTHER, controller=3, unheard={3}, hung={3})
    assert [batch.brokers for batch in batches(hangs, [1, 3, 2])] == [(3,), (1,), (2,)]


def test_a_rack_together_where_it_bears_that() -> None:
    """One replica in each rack; the rack of the controller is the last."""
    found = look(FULL, OTHER, controller=4)
    asked = batches(found, [1, 2, 3, 4, 5, 6], Rules(racks=RACKS), parallel=True)
    assert asked == [Batch((2, 5)), Batch((3, 6)), Batch((1, 4))]


def test_a_rack_with_two_replicas_of_a_partition_goes_one_by_one_and_says_why() -> None:
    found = look(FULL, Partition("two", 0, 1, (1, 4, 2), (1, 4, 2)), OTHER)
    first, second, *others = batches(found, [1, 2, 4, 5], Rules(racks=RACKS), parallel=True)
    why = "rack a is restarted broker by broker: topic two: 1 of 3 replicas would remain, with min.insync.replicas 2"
    assert (first, second, others) == (Batch((1,), why), Batch((4,), why), [Batch((2, 5))])


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"unheard": {5}}, "broker 5 does not answer, but counts as in sync"),
        (
            {"views": {2: look(FULL).state, 3: look(FULL, controller=2).state}},
            "brokers name different controllers (broker 2 names 6; broker 3 names 2)",
        ),
    ],
)
def test_no_rack_goes_together_while_not_all_is_known(more: Mapping[str, Any], why: str) -> None:
    """What is not known yet may be the very replica that a rack has twice."""
    found = batches(look(FULL, OTHER, **more), [1, 2, 4], Rules(racks=RACKS), parallel=True)
    said = f"rack a is restarted broker by broker: {why}"
    assert found == [Batch((1,), said), Batch((4,), said), Batch((2,))]


def test_brokers_without_a_rack_go_one_by_one() -> None:
    order = batches(look(FULL, OTHER), [1, 2, 3], Rules(racks={1: "", 2: None}), parallel=True)
    assert order == [Batch((1,)), Batch((2,)), Batch((3,))]


def test_a_datacenter_is_no_rack_that_goes_together() -> None:
    """Stretched over three, one replica in each; of two datacenters the brokers' own racks are told, of one none."""
    rules = Rules(racks=RACKS, together={1: "a-1", 4: "a-2", 2: "b-1", 5: "b-1", 3: "", 6: None})
    found = batches(look(FULL, OTHER), [1, 2, 3, 4, 5, 6], rules, parallel=True)
    assert [batch.brokers for batch in found] == [(1,), (2, 5), (3,), (4,), (6,)]


def test_what_is_accepted_of_one_broker_is_not_of_several() -> None:
    """A topic whose margin is accepted to be missing still has its other replicas to keep."""
    rules = Rules(margin=1, accepts=["t"])
    partition = Partition("t", 0, 1, (1, 2, 3), (1, 2, 3))
    brokers = {number: {"rack": None} for number in (1, 2, 3)}
    seen = Snapshot(State(brokers, 1, [partition]), min_isr={"t": 2})
    assert blocks(seen, [1], rules) == []
    assert [str(block) for block in blocks(seen, [1, 2], rules)] != []
    assert [str(block) for block in blocks(seen, [1, 2, 3], rules)] != []
