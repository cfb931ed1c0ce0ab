"""The waits of a restart, by a clock that goes only when they rest: what is let through, and what is waited for."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from unit.clock import Clock

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Block, Snapshot, blocks
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart_waits import (
    after_restart,
    after_start,
    away,
    before_restart,
    lacking,
)
from ansible_collections.millrace.kafka.plugins.module_utils.waits import Part, Patience, Verdict

FULL = Partition("t", 0, 1, (1, 2, 3), (1, 2, 3))
LACKS_3 = Partition("t", 1, 1, (1, 2, 3), (1, 2))
OFFLINE = Partition("t", 2, -1, (2, 1), (2,))
ALONE = Partition("t", 3, 2, (2, 1, 3), (2,))
ALL = [1, 2, 3]
BRIEF = Patience(60, 10)
pytestmark = pytest.mark.usefixtures("clock")


def state(*partitions: Partition, brokers: tuple[int, ...] = (1, 2, 3), controller: int = 1) -> State:
    """A cluster as its controller sees it."""
    return State({number: {"rack": None} for number in brokers}, controller, partitions)


def asks(*answers: State | ClusterError) -> Callable[[], State]:
    """Answer one after the other, the last for ever."""
    left = list(answers)

    def ask() -> State:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, ClusterError):
            raise answer
        return answer

    return ask


def gate(*brokers: int, min_isr: int = 2) -> Callable[[State], Sequence[Block]]:
    """The gate of these brokers."""
    return lambda found: blocks(Snapshot(found, {p.topic: min_isr for p in found.partitions}), brokers)


def before(ask: Callable[[], State], broker: int, patience: Patience = BRIEF) -> Verdict:
    """Wait until a broker may stop."""
    return before_restart(ask, gate(broker), ALL, [broker], patience)


def test_a_whole_cluster_lets_anybody_go_at_once(clock: Clock) -> None:
    verdict = before(asks(state(FULL)), 1)
    assert (verdict.go, verdict.why, verdict.lacking, clock.at) == (True, "", {}, 1000)


@pytest.mark.parametrize("broker", [1, 2])
def test_whom_a_partition_needs_is_waited_for_until_the_end(broker: int, clock: Clock) -> None:
    verdict = before(asks(state(FULL, LACKS_3)), broker)
    assert not verdict.go and not verdict.lasting
    assert verdict.why.startswith("partition t-1: broker 3 is not in sync; wait until")
    assert 1060 <= clock.at < 1061


def test_a_sick_broker_may_be_restarted_when_the_same_was_seen_for_a_while(clock: Clock) -> None:
    """One that lost a disk, and one that is not registered."""
    for found in (state(FULL, LACKS_3), state(FULL, LACKS_3, brokers=(1, 2))):
        begun = clock.at
        verdict = before(asks(found), 3)
        assert verdict.go and 10 <= clock.at - begun < 11
        assert "broker 3 is restarted although the cluster is not healthy" in verdict.why


def test_a_broker_that_is_down_elsewhere_keeps_only_those_that_share_a_partition() -> None:
    found = asks(state(Partition("u", 0, 1, (1, 2, 4), (1, 2, 4)), LACKS_3, brokers=(1, 2, 4)))
    assert before(found, 4).go
    assert not before(found, 1).go


def test_what_changes_is_not_judged(clock: Clock) -> None:
    """Patience counts from the last change, and from the last silence."""
    flapping = [state(OFFLINE), state(FULL, LACKS_3)] * 100
    verdict = before(asks(*flapping, state(FULL, LACKS_3)), 3, Patience(600, 10))
    assert verdict.go and 1049 <= clock.at < 1051
    begun = clock.at
    late = asks(*[ClusterError("silence")] * 100, state(FULL, LACKS_3))
    assert before(late, 3, Patience(600, 10)).go
    assert 30 <= clock.at - begun < 31


def test_a_cluster_that_heals_is_waited_for() -> None:
    verdict = before(asks(state(LACKS_3), state(FULL, LACKS_3), state(FULL)), 1)
    assert (verdict.go, verdict.why) == (True, "")


def test_silence_and_no_controller_prove_nothing() -> None:
    silent = before(asks(ClusterError("listener CLIENT: timed out")), 1)
    assert (silent.go, silent.why) == (False, "listener CLIENT: timed out")
    headless = before(asks(state(OFFLINE, controller=-1)), 3)
    assert not headless.go and headless.why.startswith("no controller; 1 offline partitions (t-2)")


def test_who_only_asks_hears_no_when_it_has_been_no_for_a_while(clock: Clock) -> None:
    """Not in an election, and not where a partition has no leader for a moment."""
    asks_only = Patience(6, 3, every=2, enough=True)
    election = [state(FULL, controller=-1)] * 12
    assert before(asks(*election, state(FULL)), 1, asks_only).go
    assert before(asks(state(FULL, LACKS_3), *[state(FULL, OFFLINE)] * 5, state(FULL)), 1, asks_only).go
    begun = clock.at
    closed = before(asks(state(FULL, LACKS_3)), 1, asks_only)
    assert not closed.go and 3 <= clock.at - begun < 4
    assert closed.why.startswith("partition t-1: broker 3 is not in sync")


def test_a_gate_that_is_not_answered_is_closed() -> None:
    def nobody(_: State) -> Sequence[Block]:
        raise ClusterError("the gate stays closed")

    verdict = before_restart(asks(state(FULL)), nobody, ALL, [1], BRIEF)
    assert (verdict.go, verdict.why) == (False, "the gate stays closed")


def test_what_waiting_does_not_change_is_not_waited_for(clock: Clock) -> None:
    verdict = before_restart(asks(state(FULL)), gate(1, min_isr=3), ALL, [1], BRIEF)
    assert (verdict.go, verdict.lasting, clock.at) == (False, True, 1000)


def test_all_that_the_gate_is_told_is_asked_for_now_and_then(clock: Clock) -> None:
    """Soon again at first, for a controller may just have been elected; not at every look at the metadata."""
    looks = []

    def judge(found: State) -> Sequence[Block]:
        looks.append(clock.at)
        return [Block("t-0", "its replicas are being moved", "wait")]

    before_restart(asks(state(FULL)), judge, ALL, [1], Patience(20, 5, every=2))
    assert 13 <= len(looks) <= 16 and looks[4] - looks[0] < 2


def test_a_wait_in_parts_is_as_patient_as_a_whole_one(clock: Clock) -> None:
    """What lacked in the parts before, and since when, still counts; the timeout is that of all parts."""
    found, part, calls = asks(state(FULL, LACKS_3)), Part(pause=10), 0
    while rest := (verdict := before(found, 3, Patience(600, 100, part))).rest:
        assert verdict.why == "1 under-replicated partitions (t-1)"
        part, calls = Part(10, **json.loads(json.dumps(rest.seen()))), calls + 1
    assert verdict.go and calls == 9 and 1100 <= clock.at < 1103
    other = replace(part, lacking={"brokers": ["3"]})
    assert not before(found, 3, Patience(600, 100, other)).go
    last = before(found, 1, Patience(600, 100, replace(part, begun=clock.at - 600)))
    assert (last.go, last.rest) == (False, None)


def same(found: State) -> Sequence[State]:
    """What each broker says."""
    return [found]


def back(found: State, returned: Sequence[int], noted: Any, *others: State) -> bool:
    """Tell whether brokers are back."""
    patience = replace(BRIEF, at_last=True)
    return after_restart(asks(found), ALL, returned, noted, patience, lambda first: [first, *others]).go


def test_it_is_back_where_nothing_more_lacks() -> None:
    noted = lacking(state(LACKS_3, ALONE), ALL)
    assert noted == {"under_replicated": ["t-1 without 3", "t-3 without 1", "t-3 without 3"]}
    for found, whether in (
        (state(LACKS_3), True),
        (state(LACKS_3, ALONE), True),
        (state(LACKS_3, OFFLINE), False),
        (state(LACKS_3, brokers=(2, 3)), False),
        (state(LACKS_3, Partition("u", 0, 1, (1, 2), (1,))), False),
    ):
        assert back(found, [1], noted) is whether


def test_it_is_back_only_where_all_brokers_say_so() -> None:
    """The first that was asked has just started, and names no partition; or says what was."""
    for first in (state(), state(FULL, LACKS_3)):
        assert not back(first, [1], {"under_replicated": ["t-1 without 3"]}, state(Partition("t", 0, 2, (1, 2), (2,))))
        assert back(first, [1], {"under_replicated": ["t-1 without 3"]}, state(FULL))

    def nobody(_: State) -> Sequence[State]:
        raise ClusterError("no broker answers at the address at which it is registered")

    silent = after_restart(asks(state(FULL)), ALL, [1], {}, BRIEF, nobody)
    assert (silent.go, silent.why) == (False, "no broker answers at the address at which it is registered")


def test_progress_elsewhere_takes_no_patience(clock: Clock) -> None:
    """One partition after the other heals, one a second, and 1 stays as it is: 10 s from when the last came to lack."""
    lags = [Partition("u", number, 1, (1, 2, 3), (1, 2)) for number in range(30)]
    healing = [state(FULL, *lags[number // 5 :]) for number in range(150)]
    verdict = before(asks(*healing, state(FULL, LACKS_3)), 3, Patience(60, 10))
    assert verdict.go and 1010 <= clock.at < 1011


def test_what_was_offline_may_lack_replicas_now() -> None:
    assert back(state(Partition("t", 2, 2, (2, 1), (2,))), [2], lacking(state(OFFLINE), ALL))


def test_after_several_restarts_nothing_more_lacks() -> None:
    """Brokers that were away before the first may still be, unless this run started them; others may not."""
    noted = lacking(state(LACKS_3, brokers=(1, 2)), ALL)
    assert noted == {"brokers": ["3"], "under_replicated": ["t-1 without 3"]}
    unchanged, worse = state(LACKS_3, brokers=(1, 2)), state(LACKS_3, brokers=(1,))
    assert back(unchanged, [1, 2], noted)
    assert not back(unchanged, [1, 3], noted)
    assert not back(worse, [1], noted)


def test_what_lacked_by_brokers_of_the_run_has_to_be_there_when_they_are_back() -> None:
    """A run on broker 2 alone: the disk of 3 has failed, and 2 is down; it starts 2."""
    both = Partition("t", 4, 1, (1, 2, 3), (1,))
    down = state(FULL, LACKS_3, OFFLINE, both, Partition("t", 5, 1, (1, 2), (1,)), brokers=(1, 3))
    noted = lacking(down, ALL, [2])
    assert noted == {"under_replicated": ["t-1 without 3", "t-2 without 1", "t-4 without 3"]}
    for more, brokers, whether in (
        ((), (1, 2, 3), True),
        ((Partition("t", 4, 1, (1, 2, 3), (1, 2)),), (1, 2, 3), True),
        ((both,), (1, 2, 3), False),
        ((OFFLINE,), (1, 2, 3), False),
        ((Partition("t", 5, 1, (1, 2), (1,)),), (1, 2, 3), False),
        ((), (1, 3), False),
    ):
        assert back(state(FULL, LACKS_3, *more, brokers=brokers), [2], noted) is whether


def test_after_a_start_nobody_else_is_waited_for() -> None:
    """Of three brokers that were down, 1 is started: the others are away, and what they had is not there yet."""
    theirs, led = Partition("t", 5, -1, (2, 1), (2,)), Partition("t", 6, 1, (1, 2, 3), (1,))
    assert away(state(theirs, led, brokers=(1,)), [1]) == {}
    assert away(state(theirs, led, brokers=(1,)), [1, 2]) == {
        "brokers": ["2"],
        "offline": ["t-5"],
        "under_replicated": ["t-6 without 2"],
    }
    verdict = after_start(asks(state(theirs, led, brokers=(1,))), ALL, [1], BRIEF, same)
    assert verdict.go and "broker 2 is not registered" in verdict.why
    assert not after_start(asks(state(brokers=(2,), controller=2)), ALL, [1], BRIEF, same).go


def test_a_start_does_not_wait_for_a_disk_that_was_given_up() -> None:
    """1 and 2 were started; 1 has lost a disk, with its replica of a partition and the only one of another."""
    lost = state(
        Partition("t", 0, 2, (1, 2), (2,)), Partition("u", 0, -1, (1,), (1,)), Partition("t", 1, 1, (1, 2), (1, 2))
    )
    assert not after_start(asks(lost), ALL, [1, 2], BRIEF, same).go
    verdict = after_start(asks(lost), ALL, [1, 2], BRIEF, same, lambda _: [1])
    assert verdict.go and verdict.why.endswith("1 under-replicated partitions (t-0); brokers with a failed disk: 1")
    both = state(Partition("t", 0, -1, (1, 2), (2,)))
    assert not after_start(asks(both), ALL, [1, 2], BRIEF, same, lambda _: [1]).go


def test_a_start_is_confirmed_by_all() -> None:
    others = [state(), state(Partition("t", 0, 2, (1, 2), (2,)))]
    verdict = after_start(asks(state()), ALL, [1], BRIEF, lambda _: others)
    assert (verdict.go, verdict.why) == (False, "under-replicated: t-0 without 1")


def test_replicas_on_a_disk_that_failed() -> None:
    """They are no reason to wait; those on other brokers are, and so is a broker that is not there."""
    assert state(FULL, LACKS_3).problems(ALL, [3]) == []
    assert state(LACKS_3, ALONE).problems(ALL, [3]) == ["1 under-replicated partitions (t-3)"]
    assert state(LACKS_3, brokers=(1, 2)).problems(ALL, [3]) == ["broker 3 is not registered"]
    assert state(OFFLINE).problems(ALL, [1]) == ["1 offline partitions (t-2)"]


def test_who_leads_in_place_of_the_preferred_leader() -> None:
    """Not where that one is away."""
    moved, gone = Partition("t", 4, 2, (1, 2), (2, 1)), Partition("t", 5, -1, (3, 2), (3,))
    assert state(moved, gone, brokers=(1, 2)).led_by_another() == [moved]
