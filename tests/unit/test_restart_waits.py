"""May a broker be stopped, and is it back: what a gate lets through, and what it keeps waiting."""

import socket
from collections.abc import Callable

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart import (
    after_restart,
    before_restart,
    elsewhere,
    lacking,
    missed,
)

FULL = Partition("t", 0, 1, (1, 2, 3), (1, 2, 3))
LACKS_3 = Partition("t", 1, 1, (1, 2, 3), (1, 2))
OFFLINE = Partition("t", 2, -1, (2, 1), (2,))
ALONE = Partition("t", 3, 2, (2, 1, 3), (2,))
OURS = ["CLIENT://127.0.0.1:9092", "REPLICATION://127.0.0.1:9093"]


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


def test_what_a_stop_would_take() -> None:
    """From partitions whose ISR lacks somebody already, and that are led."""
    every = state(FULL, LACKS_3, OFFLINE, ALONE)
    assert [str(p) for p in missed(every, 1)] == ["t-1"]
    assert [str(p) for p in missed(every, 2)] == ["t-1", "t-3"]
    assert [str(p) for p in missed(every, 2, elsewhere=True)] == ["t-1"]
    assert missed(every, 3) == []


def test_a_whole_cluster_lets_anybody_go() -> None:
    verdict = before_restart(asks(state(FULL)), [1, 2, 3], 1, OURS, 5)
    assert (verdict.go, verdict.why, verdict.lacking) == (True, "", {})


@pytest.mark.parametrize("broker", [1, 2])
def test_whom_a_partition_needs_is_waited_for(broker: int) -> None:
    verdict = before_restart(asks(state(FULL, LACKS_3)), [1, 2, 3], broker, OURS, 0.5, patience=0.1)
    assert (verdict.go, verdict.why) == (False, "1 under-replicated partitions (t-1)")


def test_a_sick_broker_may_be_restarted() -> None:
    """One that lost a disk, and one that is not registered; each only after the same was seen for a while."""
    for found in (state(FULL, LACKS_3), state(FULL, LACKS_3, brokers=(1, 2))):
        verdict = before_restart(asks(found), [1, 2, 3], 3, OURS, 5, patience=0.3)
        assert verdict.go
        assert "broker 3 is restarted though the cluster is not whole" in verdict.why
        assert not before_restart(asks(found), [1, 2, 3], 1, OURS, 0.4, patience=0.1).go
    late = asks(*[ClusterError("silence")] * 2, state(FULL, LACKS_3))
    assert not before_restart(late, [1, 2, 3], 3, OURS, 0.4, patience=5).go, "one look is not a while"


def test_a_cluster_that_heals_is_waited_for() -> None:
    """What lacks changes all the time, so nothing is settled."""
    verdict = before_restart(asks(state(LACKS_3), state(FULL, LACKS_3), state(FULL)), [1, 2, 3], 1, OURS, 5, patience=9)
    assert (verdict.go, verdict.why) == (True, "")


def test_silence_and_no_controller_prove_nothing() -> None:
    silent = before_restart(asks(ClusterError("listener CLIENT: timed out")), [1], 1, OURS, 0.4, patience=0.1)
    assert (silent.go, silent.why) == (False, "listener CLIENT: timed out")
    headless = before_restart(asks(state(OFFLINE, controller=-1)), [1, 2, 3], 3, OURS, 0.4, patience=0.1)
    assert (headless.go, headless.why) == (
        False,
        "no controller; 1 offline partitions (t-2); 1 under-replicated partitions (t-2)",
    )


def test_it_is_back_where_nothing_more_lacks() -> None:
    before = lacking(state(LACKS_3, ALONE), [1, 2, 3])
    assert before == {"under_replicated": ["t-1 without 3", "t-3 without 1", "t-3 without 3"]}
    for found, back in (
        (state(LACKS_3), True),
        (state(LACKS_3, ALONE), True),
        (state(LACKS_3, OFFLINE), False),
        (state(LACKS_3, brokers=(2, 3)), False),
        (state(LACKS_3, Partition("u", 0, 1, (1, 2), (1,))), False),
    ):
        assert after_restart(asks(found), [1, 2, 3], [1], before, 0.4, patience=0.1).go is back


def test_what_was_offline_may_lack_replicas_now() -> None:
    before = lacking(state(OFFLINE), [1, 2, 3])
    found = state(Partition("t", 2, 2, (2, 1), (2,)))
    assert after_restart(asks(found), [1, 2, 3], [2], before, 0.4, patience=0.1).go


def test_after_several_restarts_nothing_more_lacks() -> None:
    """Brokers that were away before the first may still be, unless this run started them; others may not."""
    before = lacking(state(LACKS_3, brokers=(1, 2)), [1, 2, 3])
    assert before == {"brokers": ["3"], "under_replicated": ["t-1 without 3"]}
    same, worse = state(LACKS_3, brokers=(1, 2)), state(LACKS_3, brokers=(1,))
    assert after_restart(asks(same), [1, 2, 3], [1, 2], before, 0.4, patience=0.1).go
    assert not after_restart(asks(same), [1, 2, 3], [1, 3], before, 0.4, patience=0.1).go
    assert not after_restart(asks(worse), [1, 2, 3], [1], before, 0.4, patience=0.1).go


def test_what_lacked_by_brokers_of_the_run_has_to_be_there_when_they_are_back() -> None:
    """A run on broker 2 alone: the disk of 3 has failed, and 2 is down; it starts 2."""
    both = Partition("t", 4, 1, (1, 2, 3), (1,))
    down = state(FULL, LACKS_3, OFFLINE, both, Partition("t", 5, 1, (1, 2), (1,)), brokers=(1, 3))
    noted = lacking(down, [1, 2, 3], [2])
    assert noted == {"under_replicated": ["t-1 without 3", "t-2 without 1", "t-4 without 3"]}

    def verdict(*partitions: Partition, brokers: tuple[int, ...] = (1, 2, 3)) -> bool:
        answer = asks(state(FULL, LACKS_3, *partitions, brokers=brokers))
        return after_restart(answer, [1, 2, 3], [2], noted, 0.3, patience=0.1).go

    assert verdict()
    assert verdict(Partition("t", 4, 1, (1, 2, 3), (1, 2)))
    assert not verdict(both), "broker 2 is registered, and takes no part"
    assert not verdict(OFFLINE)
    assert not verdict(Partition("t", 5, 1, (1, 2), (1,)))
    assert not verdict(brokers=(1, 3))


def test_replicas_on_a_disk_that_failed() -> None:
    """They are no reason to wait; those on other brokers are, and so is a broker that is not there."""
    assert state(FULL, LACKS_3).problems([1, 2, 3], [3]) == []
    assert state(LACKS_3, ALONE).problems([1, 2, 3], [3]) == ["1 under-replicated partitions (t-3)"]
    assert state(LACKS_3, brokers=(1, 2)).problems([1, 2, 3], [3]) == ["broker 3 is not registered"]
    assert state(OFFLINE).problems([1, 2, 3], [1]) == ["1 offline partitions (t-2)"]


def test_who_leads_in_place_of_the_preferred_leader() -> None:
    """Not where that one is away."""
    moved, away = Partition("t", 4, 2, (1, 2), (2, 1)), Partition("t", 5, -1, (3, 2), (3,))
    assert state(moved, away, brokers=(1, 2)).led_by_another() == [moved]


def test_whom_an_election_moves_after_a_restart() -> None:
    """Partitions that prefer the restarted one and have another to lead meanwhile, and those that another leads now."""
    own, lone, moved = (
        Partition("t", 6, 3, (3, 1), (3, 1)),
        Partition("t", 7, 3, (3,), (3,)),
        Partition("t", 8, 2, (1, 2), (2, 1)),
    )
    every = state(FULL, own, lone, moved)
    assert [str(p) for p in every.to_elect([3])] == ["t-6", "t-8"]
    assert [str(p) for p in every.to_elect([])] == ["t-8"]


def test_registered_elsewhere() -> None:
    """At another address than its own, where nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        port, closed = server.getsockname()[1], other.getsockname()[1]
        other.close()
        for told, found in (
            (f"127.0.0.1:{closed}", True),
            (f"127.0.0.1:{port}", False),
            ("127.0.0.1:9092", False),
        ):
            seen = State({1: {"rack": None, "CLIENT": told}}, 1, ())
            assert elsewhere(seen, 1, OURS, 0.5) is found
        followed = State({1: {"rack": None, "CLIENT": f"127.0.0.1:{closed}"}}, 1, (FULL,))
        assert not elsewhere(followed, 1, OURS, 0.5), "others are in sync with it"
        assert not elsewhere(State({1: {"rack": None}}, 1, ()), 1, OURS, 0.5)
