"""What brokers answer to an election of leaders, on loopback and in Kafka's own protocol; no JVM."""

import json
import threading
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import elections
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import Cluster
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.elections import Elections
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.client import ClientError
from ansible_collections.millrace.kafka.plugins.modules import kafka_leaders

NOT_CONTROLLER, TIMED_OUT, NOT_AVAILABLE, NOT_NEEDED = 41, 7, 80, 84


def lead_again(cluster: FakeCluster, *answers: tuple[int, float], first: bool = False) -> tuple[list[str], str]:
    """Have broker 2 lead an internal partition, which is answered so, and one of clients."""
    cluster.topics = {"t": [[2, 1, 3]], "__o": [[2, 1, 3]]}
    cluster.led, cluster.elections = {("t", 0): 1, ("__o", 0): 1}, {"__o": list(answers)}
    with brokers(cluster) as servers:
        asking = Elections(Cluster({"CLIENT": {"bootstrap.servers": servers}}), [2])
        if first:
            asking.state()
        return asking.lead_again()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers need no time here."""
    monkeypatch.setattr(elections, "CONNECTED", 0.1)
    monkeypatch.setattr(elections, "FOLLOWED", 0.1)


@pytest.mark.parametrize("code", [NOT_AVAILABLE, NOT_NEEDED])
def test_an_answer_of_one_partition(cluster: FakeCluster, code: int) -> None:
    moved, why = lead_again(cluster, (code, 0))
    assert "t-0" in moved and ("Preferred leader was not available" in why) is (code == NOT_AVAILABLE)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("code", [NOT_CONTROLLER, TIMED_OUT])
def test_who_is_not_the_controller_any_more_refuses_nothing(cluster: FakeCluster, code: int) -> None:
    assert lead_again(cluster, (code, 0), (0, 0)) == (["__o-0", "t-0"], "")
    assert cluster.written == ["elect __o-0", "elect __o-0", "elect t-0"]


@pytest.mark.parametrize("first", [False, True])
def test_a_broker_that_owes_an_answer_is_asked_by_another_client(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """The client that waits for the answer gets no other answer for 60 s, when it connects anew: it would fail."""
    monkeypatch.setattr(elections, "ELECTION", 40.0)
    assert lead_again(cluster, (0, 300), first=first) == (["__o-0", "t-0"], "")


def test_what_was_led_and_is_refused_later_did_not_stay(cluster: FakeCluster) -> None:
    cluster.topics, cluster.led = {"__o": [[2, 1, 3]], "t": [[2, 1, 3]]}, {("__o", 0): 1, ("t", 0): 1}
    with brokers(cluster) as servers:
        asking = Elections(Cluster({"CLIENT": {"bootstrap.servers": servers}}), [2])
        asking.state()
        assert asking.moved == {"__o-0"}
        cluster.led, cluster.elections = {("__o", 0): 3, ("t", 0): 1}, {"__o": [(NOT_AVAILABLE, 0)]}
        moved, why = asking.lead_again()
    assert moved == ["t-0"] and "(__o-0): Broker: Preferred leader was not available" in why


def test_what_moves_late_is_seen_in_the_end(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """While that of clients is waited for."""
    monkeypatch.setattr(elections, "ELECTION", 5)
    elect, late = FakeCluster.elect_leaders, ("__o", 0)

    def carried_out(self: FakeCluster, request: Any, broker: int) -> Any:
        if any(topic.topic == "t" for topic in request.topic_partitions):
            del self.led[late]
            return elect(self, request, broker)
        threading.Event().wait(20)

    monkeypatch.setattr(FakeCluster, "elect_leaders", carried_out)
    assert lead_again(cluster) == (["__o-0", "t-0"], "")


@pytest.mark.usefixtures("clock")
def test_who_is_never_the_controller_costs_no_client_for_each_try(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it end in anything but words where a file that a client needs is gone."""
    made = list[Elections]()
    init = Elections.__init__

    def kept(self: Elections, *given: Any) -> None:
        made.append(self)
        init(self, *given)

    monkeypatch.setattr(Elections, "__init__", kept)

    def gone(_: object) -> None:
        raise ClientError("no ca.pem")

    moved, why = lead_again(cluster, (NOT_CONTROLLER, 0))
    assert moved == ["t-0"] and "Not controller" in why
    assert made[0].unanswered == []
    monkeypatch.setattr(elections, "Admin", gone)
    assert lead_again(cluster, (NOT_CONTROLLER, 0))[0] == ["t-0"]


def test_what_moved_is_told_with_what_nobody_answered(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """One election of all: one topic moves, one does not, and neither is answered."""
    cluster.topics, cluster.led = {"a": [[2, 1]], "b": [[2, 1]]}, {("a", 0): 1, ("b", 0): 1}
    cluster.elections = {"a": [(0, 20)], "b": [(NOT_AVAILABLE, 20)]}
    with brokers(cluster) as servers:
        given = {"listeners": {"CLIENT": {"bootstrap.servers": servers}}, "timeout": 5}
        with patch_module_args(given), pytest.raises(SystemExit):
            kafka_leaders.main()
    said = json.loads(capsys.readouterr().out)
    assert said["failed"] and said["changed"] and said["moved"] == ["a-0"]
    assert "no answer within 5 s. 1 partitions moved, all others keep their leader" in said["msg"]
