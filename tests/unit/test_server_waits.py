"""The waits of a server's restart, by a clock that goes only when they rest."""

import pytest
from unit.clock import Clock

from ansible_collections.millrace.kafka.plugins.module_utils.waits import Patience
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper import restart as servers
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.quorum import Ensemble, Voter

BRIEF = Patience(60, 10)
pytestmark = pytest.mark.usefixtures("clock")


def ensemble(first: str, second: str, third: str, followers: int) -> Ensemble:
    """Three servers."""
    modes = dict(zip(("zk1", "zk2", "zk3"), (first, second, third), strict=True))
    return Ensemble(modes, [Voter(name) for name in modes], followers, 0)


def test_a_server_that_does_not_serve_is_restarted_after_a_while_and_from_the_last_change(clock: Clock) -> None:
    sick, voting = ensemble("leader", "follower", "not serving", 1), ensemble("not serving", "not serving", "down", -1)
    left = [voting, sick] * 50 + [sick]
    verdict = servers.before_stop(lambda: left.pop(0) if left[1:] else left[0], ["zk3"], Patience(600, 10))
    assert verdict.go and 1029 <= clock.at < 1031
    assert verdict.why == "zk3 may be stopped although the ensemble is not healthy: zk3 is not serving"


def test_a_read_only_server_has_no_quorum_and_may_be_restarted() -> None:
    """It is cut off from the others (readonlymode.enabled), and takes part in nothing."""
    cut_off = ensemble("leader", "follower", "read-only", 1)
    assert servers.lacking(cut_off) == {"servers": ["zk3"]}
    verdict = servers.before_stop(lambda: cut_off, ["zk3"], BRIEF)
    assert verdict.go and verdict.why == "zk3 may be stopped although the ensemble is not healthy: zk3 is read-only"


def test_a_leader_that_does_not_tell_is_named() -> None:
    mute = ensemble("leader", "follower", "follower", -1)
    message = "followers: not reported by the leader (mntr)"
    assert servers.message(servers.lacking(mute), mute.modes) == message


def test_a_server_is_back_where_it_serves_and_others_are_as_before() -> None:
    down = ensemble("leader", "follower", "down", 1)
    noted = servers.lacking(down)
    assert noted == {"servers": ["zk3"]}

    def returned(found: Ensemble, *names: str) -> bool:
        return servers.after_start(lambda: found, names, noted, BRIEF).go

    assert returned(down, "zk2")
    assert not returned(down, "zk3")
    assert not returned(ensemble("leader", "down", "follower", 1), "zk3"), "zk2 served before"
    assert not returned(ensemble("leader", "follower", "down", 0), "zk2"), "it is not in sync"
    assert returned(ensemble("leader", "follower", "follower", 2), "zk2")


def test_a_server_alone_is_not_waited_for() -> None:
    """Where others are away, there can be no quorum: it is enough that it answers; where they are not, it is not."""
    noted = {"servers": ["zk2", "zk3"]}
    alone = ensemble("not serving", "down", "down", -1)
    assert servers.after_start(lambda: alone, ["zk1"], noted, BRIEF).go
    assert not servers.after_start(lambda: alone, ["zk1", "zk2"], noted, BRIEF).go
