"""In which order brokers are restarted, and what is refused before, of brokers on loopback; no JVM."""

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from unit.fake_cluster import FakeCluster
from unit.fake_settings import TIMED_OUT, Answer
from unit.fake_wire import brokers

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate import Rules, Snapshot, blocks
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.gate_facts import snapshot
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.restart_order import batches
from ansible_collections.millrace.kafka.plugins.modules import kafka_gate

RULES = Rules(racks={1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"})
ALL = [1, 2, 3, 4, 5, 6]


class OwnMinimum(FakeCluster):
    """Each broker has a min.insync.replicas of its own, which holds for topics that say none."""

    def __init__(self, minimum: Mapping[int, int]) -> None:
        super().__init__(len(minimum))
        self.minimum = minimum
        self.asked: list[tuple[int, list[str]]] = []
        self.turn, self.together = threading.Lock(), threading.Barrier(2, timeout=60)
        """How many are asked for a topic that all have, at the same time: else nobody answers."""

    def describe_configs(self, request: Any, broker: int) -> Answer:
        names = sorted(one.resource_name for one in request.resources)
        self.asked.append((broker, names))
        if names == ["others"]:
            self.together.wait()
        with self.turn:
            self.dynamic = {"min.insync.replicas": str(self.minimum[broker])}
            return super().describe_configs(request, broker)


@contextmanager
def six(dead: int = 0) -> Iterator[tuple[FakeCluster, str]]:
    """Six brokers; two in rack a hold the same partition, and one in rack b has another that nobody else has."""
    cluster = FakeCluster(6)
    cluster.controller = 6
    cluster.topics = {"orders": [[1, 4, 2]], "one": [[2]]}
    cluster.configs = {"orders": {"min.insync.replicas": "2"}, "one": {"min.insync.replicas": "1"}}
    with brokers(cluster) as servers, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # nobody listens
        if dead:
            cluster.ports[dead] = nobody.getsockname()[1]
        yield cluster, servers.split(",")[0]


def told(cluster: Cluster) -> Snapshot:
    """Return what the gate is told before the first restart."""
    return snapshot(cluster, cluster.state(), ALL, one_by_one=True)


@pytest.mark.parametrize("dead", [0, 2])
def test_what_no_restart_can_bear_is_refused_though_a_broker_is_dead(dead: int, dead_ports: set[int]) -> None:
    """One that died counts as in sync until its session ends, and a run would end halfway."""
    with six(dead) as (cluster, server):
        dead_ports |= {cluster.ports[dead]} if dead else set()
        found = told(Cluster({"CLIENT": {"bootstrap.servers": server}}))
    few = [block.what for broker in ALL for block in blocks(found, [broker], RULES) if block.lasting]
    assert few == ["topic one"]
    plan = batches(found, ALL, RULES, parallel=True)
    of_a = [batch for batch in plan if {1, 4} & {*batch.brokers}]
    assert [batch.brokers for batch in of_a] == [(1,), (4,)]
    assert all(batch.why.startswith("rack a is restarted broker by broker: ") for batch in of_a)
    assert plan[0].brokers == ((dead,) if dead else (1,)), "who is dead is started before any other stops"
    assert plan[-1].brokers == ((6,) if dead else (3, 6)), "the controller is the last"


def test_nothing_is_ordered_while_controllers_are_disagreed_on(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = FakeCluster(6)
    cluster.topics, cluster.configs = {"orders": [[1, 4, 2]]}, {"orders": {"min.insync.replicas": "2"}}
    cluster.says = {3: {"controller_id": 2}, 4: {"controller_id": 2}}
    with brokers(cluster) as servers:
        said = asked(servers, ALL, capsys)
        assert said["failed"] and "brokers name different controllers (brokers 1, 2, 5, 6 name 1" in said["msg"]
        assert "No broker was stopped" in said["msg"]
        cluster.says = {}
        told = asked(servers, ALL, capsys)
        assert told["batches"][-1] == [1] and told["opened"] == told["batches"][0] == [2]
        cluster.down = {5}
        assert asked(servers, ALL, capsys)["opened"] == [], "somebody has to wait"


def test_the_one_that_is_cut_off_may_be_restarted(capsys: pytest.CaptureFixture[str]) -> None:
    """As the gate advises: of those that stay none is in doubt."""
    cluster = FakeCluster(3)
    cluster.topics, cluster.configs = {"orders": [[1, 2, 3]]}, {"orders": {"min.insync.replicas": "2"}}
    cluster.says = {3: {"controller_id": 2}}
    with brokers(cluster) as servers:
        told = asked(servers, [3], capsys)
        assert told["batches"] == [[3]] and told["opened"] == [3]
        assert "first restart the broker that is cut off" in asked(servers, [1, 2, 3], capsys)["msg"]


class WithoutQuorum(FakeCluster):
    """Brokers that wait for ZooKeeper where somebody asks for the settings of topics, which they read from it."""

    asked = 0

    def describe_configs(self, request: Any, broker: int) -> Any:
        """Say nothing in time."""
        self.asked += 1
        one = request.resources[0]
        about = {"resource_type": one.resource_type, "resource_name": one.resource_name}
        return {"results": [{"error_code": TIMED_OUT, **about}]}


@pytest.mark.parametrize("question", ["order", "may_stop"])
def test_brokers_are_not_asked_again_while_zookeeper_has_no_quorum(
    question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each such question keeps a thread of a broker for as long; with all of them gone it answers nobody."""
    cluster = WithoutQuorum(3)
    cluster.topics = {"orders": [[1, 2, 3]]}
    with brokers(cluster) as servers:
        said = asked(servers, [1], capsys, question, timeout=60)
    assert said["failed"] and "Check whether ZooKeeper has a quorum" in said["msg"] and "after 60 s" not in said["msg"]
    assert cluster.asked == 1


def asked(
    servers: str, stop: list[int], capsys: pytest.CaptureFixture[str], question: str = "order", timeout: int = 1
) -> dict[str, Any]:
    """Return what the module answers."""
    listeners = {"CLIENT": {"bootstrap.servers": servers}}
    said = {"listeners": listeners, "brokers": stop, "stop": stop, "question": question, "timeout": timeout}
    capsys.readouterr()
    with patch_module_args(said), pytest.raises(SystemExit):
        kafka_gate.main()
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def in_the_way(cluster: FakeCluster) -> list[str]:
    """Return what keeps broker 1 from stopping."""
    with brokers(cluster) as servers:
        asked = Cluster({"CLIENT": {"bootstrap.servers": servers}})
        return [block.why for block in blocks(snapshot(asked, asked.state(), [1]), [1])]


@pytest.mark.parametrize("minimum", [{1: 1, 2: 1, 3: 2}, {1: 1, 2: 2, 3: 1}])
def test_the_highest_of_what_brokers_have_of_their_own_counts(minimum: dict[int, int]) -> None:
    """Whoever leads judges by its own: one with a lower one that was left in its file says nothing of the others.

    They are asked at once, so that the question takes no longer where there are many.
    """
    cluster = OwnMinimum(minimum)
    cluster.topics = {"pairs": [[2, 1]], "others": [[3, 1]]}
    assert set(in_the_way(cluster)) == {"1 of 2 replicas would remain, with min.insync.replicas 2"}
    assert sorted(cluster.asked[1:]) == [(2, ["others"]), (3, ["others"])], "one topic tells it of all"


def test_what_a_topic_says_is_asked_once() -> None:
    cluster = OwnMinimum({1: 9, 2: 9, 3: 9})
    cluster.topics, cluster.configs = {"pairs": [[2, 1]]}, {"pairs": {"min.insync.replicas": "1"}}
    assert in_the_way(cluster) == []
    assert [topics for _, topics in cluster.asked] == [["pairs"]]
