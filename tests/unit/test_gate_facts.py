"""What the gate is told of brokers on loopback that speak Kafka's protocol; no JVM."""

import socket
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_settings import Answer
from unit.fake_wire import brokers

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka import broker_views
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.broker_views import confirmed, gone, with_failed_dirs
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster, ClusterError, State
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import moves
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import AdminError, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Rules, blocks
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate_facts import HEARD, alone, judging, snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart_waits import after_restart, after_start
from ansible_collections.millrace.kafka.plugins.module_utils.waits import Patience


@pytest.fixture(autouse=True)
def unanswered(cluster: FakeCluster, clock: Clock, dead_ports: set[int]) -> None:
    """Have no test wait for dead ports."""
    cluster.dead_ports = dead_ports


def orders(*isr: int) -> Answer:
    """What a broker says of the one topic."""
    partition = {"error_code": 0, "partition_index": 0, "leader_id": 1, "replica_nodes": [1, 2, 3], "isr_nodes": [*isr]}
    return {"topics": [{"error_code": 0, "name": "orders", "is_internal": False, "partitions": [partition]}]}


def in_the_way(
    cluster: FakeCluster,
    *dead: int,
    first: int = 1,
    stop: Sequence[int] = (1,),
    says: Mapping[int, Answer] | None = None,
    hangs: bool = False,
    former: Sequence[int] = (),
) -> list[str]:
    """Return what keeps brokers from stopping, while others are dead that count as in sync."""
    cluster.topics["orders"], cluster.configs["orders"] = [[1, 2, 3]], {"min.insync.replicas": "2"}
    cluster.says = dict(says or {})
    with brokers(cluster) as servers, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # nobody listens
        if hangs:
            nobody.listen(64)  # the kernel takes connections, and nobody answers
        cluster.dead_ports.add(nobody.getsockname()[1])
        cluster.ports |= dict.fromkeys(dead, nobody.getsockname()[1])
        asked = Cluster({"CLIENT": {"bootstrap.servers": servers.split(",")[first - 1]}})
        told = snapshot(asked, asked.state(), stop, former=former)
        return [str(block) for block in blocks(told, stop, Rules(former=former))]


def test_a_broker_that_died_keeps_the_gate_closed_while_its_session_lives(cluster: FakeCluster) -> None:
    """The cluster itself counts it as in sync until then, and a stop beside it would leave one replica of three."""
    assert in_the_way(cluster, 3) == [
        "partition orders-0: broker 3 does not answer, but counts as in sync; start broker 3, or restart it if it "
        "hangs (restart.yml -l, which does not need its answer), or wait until its session expires"
    ]


def test_brokers_that_answer_are_not_in_the_way(cluster: FakeCluster) -> None:
    assert in_the_way(cluster) == []


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("controller", [1, 2])
def test_one_that_hangs_may_itself_be_restarted(cluster: FakeCluster, hangs: bool, controller: int) -> None:
    """Nothing that the gate asks waits for it, also where it is the first of all, or the controller."""
    cluster.controller = controller
    assert in_the_way(cluster, 1, first=2, stop=[1], hangs=hangs) == []


LAGS = "partition orders-0: broker 2 is not in sync; wait until broker 2 has caught up"


@pytest.mark.parametrize("first", [1, 2, 3])
@pytest.mark.parametrize("says", [{}, orders(1, 2, 3)], ids=["as it is", "as it was"])
def test_one_broker_alone_is_not_believed(cluster: FakeCluster, first: int, says: Answer) -> None:
    """Whoever is asked first: the controller, 3, knows that 2 lags, and another says what was."""
    cluster.controller = 3
    (why,) = in_the_way(cluster, first=first, says={1: says, 2: says, 3: orders(1, 3)})
    assert why.startswith(LAGS)


@pytest.mark.parametrize("first", [1, 2, 3])
def test_a_controller_that_is_to_stop_is_asked_too(cluster: FakeCluster, first: int) -> None:
    """Cut off from the others it has shrunk the ISR to itself, and they have not been told: it alone holds records."""
    cluster.controller = 1
    found = in_the_way(cluster, first=first, says={1: orders(1), 2: orders(1, 2, 3), 3: orders(1, 2, 3)})
    assert [why.partition(";")[0] for why in found] == [
        "partition orders-0: broker 2 is not in sync",
        "partition orders-0: broker 3 is not in sync",
    ]


def test_of_two_that_hang_nobody_is_sent_from_one_to_the_other(cluster: FakeCluster) -> None:
    """Each would be in the way of the other for ever."""
    (why,) = in_the_way(cluster, 1, 2, first=3, stop=[1], hangs=True)
    assert "restart one of them on its host (systemctl restart kafka)" in why and "restart.yml" not in why


@pytest.mark.parametrize("first", [1, 2, 3])
def test_who_names_no_partition_proves_nothing(cluster: FakeCluster, first: int) -> None:
    """Broker 2 has just started: it knows the others, and none of their partitions."""
    (why,) = in_the_way(cluster, first=first, says={1: {"topics": []}, 2: {"topics": []}, 3: orders(1, 3)})
    assert why.startswith(LAGS)


def test_where_nobody_answers_that_stays_the_gate_is_closed(cluster: FakeCluster) -> None:
    """Whoever is to stop may be the one that knows least."""
    with pytest.raises(ClusterError, match=r"none of the brokers that would stay \(2, 3\) answers"):
        in_the_way(cluster, 2, 3, says={1: {"topics": []}})


def test_a_cluster_without_topics_is_believed_after_a_while(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new controller names the brokers to one another, and the partitions after that."""
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        cluster.says = {} if len(rests) == 2 else cluster.says

    monkeypatch.setattr(waits, "rest", rest)
    cluster.topics["orders"] = [[1, 2, 3]]
    cluster.says = {broker: {"topics": []} for broker in (1, 2, 3)}
    with brokers(cluster) as servers:
        asked = Cluster({"CLIENT": {"bootstrap.servers": servers}})
        found = confirmed(asked, asked.state())
    assert [[str(p) for p in state.partitions] for state in found] == [["orders-0"]] * 3
    assert len(rests) == 2


def test_who_is_registered_and_answers_nobody_is_not_back(cluster: FakeCluster) -> None:
    """As a broker that died does until its session ends: neither started nor back, and the cluster is not whole."""
    with brokers(cluster) as servers, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        cluster.topics["orders"], cluster.ports[3] = [[1, 2, 3]], nobody.getsockname()[1]
        cluster.dead_ports.add(nobody.getsockname()[1])
        asked = Cluster({"CLIENT": {"bootstrap.servers": servers.split(",")[0]}})
        whole = partial(confirmed, asked)
        state = asked.state()
        assert [one.problems([1, 2, 3]) for one in whole(state)] == [["broker 3 is registered but does not answer"]] * 2
        for number, is_back in ((3, False), (2, True)):
            patience = Patience(0.3, 0.1, at_last=True)
            assert after_restart(lambda: state, [1, 2, 3], [number], {}, patience, whole).go is is_back
            assert after_start(lambda: state, [1, 2, 3], [number], Patience(0.3, 0.1), whole).go is is_back


def alone_in(*partitions: Partition, brokers: Sequence[int] = (1, 2, 3)) -> bool:
    """Tell whether broker 1 is one that nobody follows who could."""
    return alone(State({number: {} for number in brokers}, 2, partitions), 1)


def test_whom_nobody_follows_who_could() -> None:
    left, followed = Partition("t", 0, 1, (1, 2), (1,)), Partition("t", 1, 1, (1, 3), (1, 3))
    assert alone_in(left)
    assert not alone_in(left, followed)
    assert not alone_in(left, brokers=(1, 3)), "2 is down, so it is no wonder that it does not follow"
    assert not alone_in(Partition("t", 0, 1, (1,), (1,)))


@pytest.mark.parametrize(("answers", "is_gone"), [("---", True), ("--+", False), ("+", False)])
def test_one_silence_is_no_death(answers: str, is_gone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    left = list(answers)
    monkeypatch.setattr(broker_views, "ask_through", lambda *_: ("CLIENT", None) if left.pop(0) == "+" else None)
    cluster: Any = None
    assert gone(cluster, State({1: {}}), 1) is is_gone
    assert left == []


def test_who_has_given_up_a_disk_says_so_itself(cluster: FakeCluster) -> None:
    cluster.given_up = {2: ["/data/2"], 3: ["/data/1"]}
    with brokers(cluster) as servers:
        asked = Cluster({"CLIENT": {"bootstrap.servers": servers}})
        state = asked.state()
        assert with_failed_dirs(asked, state, [1, 2, 9]) == [2]


@pytest.mark.parametrize("first", [1, 2, 3])
def test_brokers_that_know_no_partition_yet_do_not_open_it(cluster: FakeCluster, first: int) -> None:
    """As after their start, or that of a controller: broker 1 alone has what nobody else has in sync."""
    with pytest.raises(ClusterError, match="do not know the partitions yet"):
        in_the_way(cluster, first=first, says={1: orders(1), 2: {"topics": []}, 3: {"topics": []}})


def test_nobody_is_elected(cluster: FakeCluster) -> None:
    """All still name the last controller, and it resigned."""
    cluster.controller = 0
    with pytest.raises(ClusterError, match="broker 1, which all name as the controller, is not the controller: no"):
        in_the_way(cluster, stop=(2,), says={one: {"controller_id": 1} for one in (1, 2, 3)})


@pytest.mark.parametrize(
    ("named", "unheard"), [((1, 1, 1), "brokers 1, 2, 3 still name"), ((1, 2, 2), "broker 1 still names")]
)
def test_who_names_the_last_controller_has_not_heard_of_the_next(
    cluster: FakeCluster, named: Sequence[int], unheard: str
) -> None:
    """Who stops asks the one that it knows itself to move what it leads."""
    says = {one: {"controller_id": name} for one, name in enumerate(named, 1)}
    (why,) = in_the_way(cluster, says=says, former=(1,))
    assert why.startswith(f"cluster: {unheard} the former controller, broker 1; wait")
    cluster.controller = 2
    assert in_the_way(cluster, former=(1,)) == []


@pytest.mark.parametrize(
    ("controller", "named", "stop", "opens"),
    [
        (1, (1, 1, 1), (1,), True),  # it was elected again
        (0, (1, 1, 1), (1,), False),  # nobody is
        (2, (1, 1, 1), (1,), False),  # ZooKeeper has told nobody yet, the last one among them
        (2, (1, 2, 1), (1, 2), False),  # nor one of a rack
        (2, (1, 2, 2), (1,), True),  # the next one does not reach who stops
        (2, (1, 1, 2), (1,), False),  # nor one that stays
    ],
)
def test_a_former_controller_is_over(
    cluster: FakeCluster, clock: Clock, controller: int, named: Sequence[int], stop: Sequence[int], opens: bool
) -> None:
    """Asked when all have had the time to hear of the next one, and not before: in one wait of several parts."""
    cluster.topics["orders"], cluster.configs["orders"] = [[1, 2, 3]], {"min.insync.replicas": "1"}
    cluster.controller, cluster.stale = controller, {1} if controller else set()
    cluster.says = {one: {"controller_id": name} for one, name in enumerate(named, 1)}
    with brokers(cluster) as servers:
        asked = Cluster({"CLIENT": {"bootstrap.servers": servers}})
        begun = clock.now()
        (early,) = judging(asked, stop, Rules(), [1], begun)(asked.state())
        clock.rest(HEARD + 1)
        found = judging(asked, stop, Rules(), [1], begun)(asked.state())
        assert "the former controller, broker 1" in str(early)
        assert [str(one).split(";")[0] for one in found if "the former controller" in str(one)] == (
            [] if opens else [str(early).split(";")[0]]
        )
        assert not (opens and found)


@pytest.mark.parametrize("silent", [2, 3])
def test_a_broker_that_may_be_taking_over_keeps_the_last_controller(
    cluster: FakeCluster, clock: Clock, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers when it is done, and the last one may not have heard of it."""
    told_by = moves.told_by

    def told(properties: Mapping[str, str], place: str, one: int) -> set[Any]:
        if one == silent:
            raise AdminError("no answer within 7 s")
        return told_by(properties, place, one)

    monkeypatch.setattr(moves, "told_by", told)
    cluster.topics["orders"] = [[1, 2, 3]]
    with brokers(cluster) as servers:
        asked = Cluster({"CLIENT": {"bootstrap.servers": servers}})
        judge = judging(asked, [1], Rules(), [1])
        clock.rest(HEARD + 1)
        assert "the former controller, broker 1" in " ".join(map(str, judge(asked.state())))


def test_nobody_is_a_former_controller(cluster: FakeCluster) -> None:
    """-1 says that there was none."""
    cluster.topics["orders"], cluster.controller = [[1, 2, 3]], 0
    cluster.says = {one: {"controller_id": -1} for one in (1, 2, 3)}
    with brokers(cluster) as servers:
        asked = Cluster({"CLIENT": {"bootstrap.servers": servers}})
        (why,) = judging(asked, [1], Rules(), [-1])(asked.state())
    assert str(why).startswith("cluster: no controller")


def test_who_stops_with_the_last_controller_has_to_have_heard_as_well(cluster: FakeCluster) -> None:
    """Brokers of a rack together: each asks the controller that it knows."""
    says = {1: {"controller_id": 3}, 2: {"controller_id": 1}, 3: {"controller_id": 3}}
    (why,) = in_the_way(cluster, stop=(1, 2), says=says, former=(1,))
    assert why.startswith(
        "cluster: broker 2 still names the former controller, broker 1; wait; if that "
        "lasts, first restart the broker that is cut off (restart.yml -l, which does not need its answer)"
    )
