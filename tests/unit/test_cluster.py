"""What is read of a cluster, and the election of preferred leaders, with stand-ins for the client."""

import json
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import confluent_kafka.admin
import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition

from ansible_collections.millrace.kafka.plugins.module_utils.kafka import cluster
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import (
    Cluster,
    ClusterError,
    State,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.waits import Verdict
from ansible_collections.millrace.kafka.plugins.modules import kafka_gate

LISTENERS = {"REPLICATION": {"bootstrap.servers": "b:9093"}}


class Brokers:
    """Stands in for AdminClient and for what it sees: each election moves what is asked for."""

    def __init__(self, *partitions: Partition) -> None:
        self.partitions = list(partitions)
        self.asked: list[tuple[Any, list[tuple[str, int]]]] = []
        self.refuse = self.silent = False
        self.deaf = False

    def elect_leaders(self, kind: ElectionType, partitions: list[TopicPartition]) -> "Future[Any]":
        self.asked.append((kind, [(p.topic, p.partition) for p in partitions]))
        answer: Future[Any] = Future()
        if self.silent:
            return answer
        if self.refuse:
            answer.set_exception(KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)))
            return answer
        wanted = {(p.topic, p.partition) for p in partitions} if not self.deaf else set()
        self.partitions = [
            replace(p, leader=p.replicas[0]) if (p.topic, p.number) in wanted else p for p in self.partitions
        ]
        answer.set_result({})
        return answer


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Partition 0 is led as wanted, 1 by another, 2 by another since the preferred one is not in sync."""
    found = Brokers(
        Partition("t", 0, 1, (1, 2), (1, 2)), Partition("t", 1, 1, (2, 1), (1, 2)), Partition("t", 2, 1, (3, 1), (1,))
    )
    monkeypatch.setattr(confluent_kafka.admin, "AdminClient", lambda _: found)
    monkeypatch.setattr(Cluster, "state", lambda _: State({1: {}, 2: {}, 3: {}}, 1, found.partitions))
    return found


def test_who_alone_was_in_sync_with_what_has_no_leader() -> None:
    """Another one in sync would lead, whoever is away; what is led is in nobody's way."""
    rows = [(0, -1, (3,)), (1, 7, (3,)), (2, -1, (2, 3)), (3, 2, (2,)), (4, -1, ())]
    partitions = [Partition("t", number, leader, (3, 2), isr) for number, leader, isr in rows]
    assert State({2: {}, 3: {}}, 2, partitions).alone() == {3: ["t-0", "t-1"]}


def test_who_follows_nobody_is_not_out_of_sync() -> None:
    """Broker 3 is down, and was the last in sync with 0 and 1: its start mends them, and no restart of the others.

    Broker 4 is registered, and answers nobody.
    """
    rows = [(0, -1, (3,)), (1, 3, (3,)), (2, 4, (4,)), (3, 1, (1,))]
    partitions = [Partition("t", number, leader, (1, 2, 3, 4), isr) for number, leader, isr in rows]
    assert State({1: {}, 2: {}, 4: {}}, 1, partitions, mute={4}).out_of_sync() == {2: 1, 4: 1}


@pytest.mark.parametrize(
    ("knows", "problems"),
    [
        ((1, 2), []),
        ((1,), ["broker 2 is not registered"]),
        ((), ["broker 1 is not registered", "broker 2 is not registered", "no controller"]),
    ],
)
def test_what_a_broker_says_counts_only_with_the_brokers_it_knows(
    monkeypatch: pytest.MonkeyPatch, knows: tuple[int, ...], problems: list[str]
) -> None:
    """One question, and not to describe the cluster: who has just started knows no other broker and no partition."""
    nodes = {number: SimpleNamespace(id=number, host="b", port=9093) for number in knows}
    metadata = SimpleNamespace(
        cluster_id=None, orig_broker_id=1, brokers=nodes, controller_id=1 if knows else -1, topics={}
    )
    monkeypatch.setattr(
        confluent_kafka.admin, "AdminClient", lambda _: SimpleNamespace(list_topics=lambda timeout: metadata)
    )
    assert Cluster(LISTENERS).state().problems([1, 2]) == problems


def test_a_leader_that_a_listener_does_not_show_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka answers leader -1 for one that lacks the listener; taken for offline, its last copies could be stopped."""
    hidden = SimpleNamespace(
        id=0, leader=-1, replicas=[2, 3], isrs=[2], error=KafkaError(KafkaError.LISTENER_NOT_FOUND)
    )
    metadata = SimpleNamespace(
        cluster_id=None,
        orig_broker_id=1,
        brokers={1: SimpleNamespace(id=1, host="b", port=9093)},
        controller_id=1,
        topics={"t": SimpleNamespace(partitions={0: hidden})},
    )
    monkeypatch.setattr(
        confluent_kafka.admin, "AdminClient", lambda _: SimpleNamespace(list_topics=lambda timeout: metadata)
    )
    with pytest.raises(ClusterError, match="the leader of t-0 does not have it"):
        Cluster(LISTENERS).state()


def test_a_rack_is_what_the_broker_itself_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """None for one that does not answer."""
    said: Future[Any] = Future()
    said.set_result({"broker.rack": SimpleNamespace(value="a")})
    refused: Future[Any] = Future()
    refused.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
    answers = {"1": said, "2": refused}
    client = SimpleNamespace(
        describe_configs=lambda resources, request_timeout: {one: answers[one.name] for one in resources}
    )
    monkeypatch.setattr(confluent_kafka.admin, "AdminClient", lambda _: client)
    found = Cluster(LISTENERS).with_racks(State({1: {"rack": None}, 2: {"rack": None}}, 1, []))
    assert {number: facts["rack"] for number, facts in found.brokers.items()} == {1: "a", 2: None}


def test_what_another_leads_is_elected(brokers: Brokers) -> None:
    moved, left = Cluster(LISTENERS).prefer(5)
    assert brokers.asked == [(ElectionType.PREFERRED, [("t", 1)])]
    assert [str(p) for p in moved] == ["t-1"] and left == []
    assert [p.leader for p in brokers.partitions] == [1, 2, 1]


def test_only_what_prefers_one_of_these_is_elected(brokers: Brokers) -> None:
    assert Cluster(LISTENERS).prefer(5, [1]) == ([], []) and brokers.asked == []
    moved, left = Cluster(LISTENERS).prefer(5, [2])
    assert [str(p) for p in moved] == ["t-1"] and left == []


def test_who_leads_nothing_is_given_one_partition_first(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """An internal one, and the others when their followers had the time to connect: those of clients by themselves."""
    monkeypatch.setattr(cluster, "CONNECTED", 0.1)
    rows = [("__consumer_offsets", 4), ("a", 0), ("__consumer_offsets", 3), ("b", 1)]
    brokers.partitions += [Partition(topic, number, 1, (2, 1), (1, 2)) for topic, number in rows]
    moved, left = Cluster(LISTENERS).prefer(5, [2])
    assert len(moved) == 5 and left == []
    first, clients, others = [sorted(asked) for _, asked in brokers.asked]
    assert clients == [("a", 0), ("b", 1), ("t", 1)] and {first[0][0], others[0][0]} == {"__consumer_offsets"}
    assert len(first) == len(others) == 1 and first != others
    brokers.asked.clear()
    brokers.partitions = [replace(p, leader=1) for p in brokers.partitions]
    assert len(Cluster(LISTENERS).prefer(5)[0]) == 5 and len(brokers.asked) == 1, "at the end all lead something"


def test_who_is_back_gets_an_internal_partition_while_the_rest_is_waited_for(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, as soon as it is in sync with one; the others are not made to wait once more."""
    monkeypatch.setattr(cluster, "CONNECTED", 30)
    asking = Cluster(LISTENERS)
    assert asking.state_and_first([2]).led_by_another() and not brokers.asked
    brokers.partitions += [Partition("__consumer_offsets", number, 1, (2, 1), (1,)) for number in (3, 4)]
    asking.state_and_first([2])
    assert not brokers.asked, "it is not in sync"
    brokers.partitions[3:] = [replace(p, isr=(1, 2)) for p in brokers.partitions[3:]]
    asking.state_and_first([2])
    asking.state_and_first([2])
    assert [asked for _, asked in brokers.asked] == [[("__consumer_offsets", 4)]]
    asking.led_since -= 30
    moved, why = asking.lead_again([2])
    assert moved == ["__consumer_offsets-3", "__consumer_offsets-4", "t-1"] and not why
    assert [asked for _, asked in brokers.asked[1:]] == [[("t", 1)], [("__consumer_offsets", 3)]]
    again = Cluster(LISTENERS)
    brokers.partitions.append(Partition("__other", 0, 1, (2, 1), (1, 2)))
    again.state_and_first([2])
    assert len(brokers.asked) == 3, "another part of the wait has given it one"
    assert again.led_since > 0, "how long ago, nobody knows"


def test_a_first_partition_that_is_refused_is_asked_for_with_the_rest(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody rests for connections to who leads nothing."""
    monkeypatch.setattr(cluster, "CONNECTED", 0.1)
    brokers.partitions.append(Partition("__consumer_offsets", 3, 1, (2, 1), (1, 2)))
    brokers.refuse, asking = True, Cluster(LISTENERS)
    asking.state_and_first([2])
    asking.state_and_first([2])
    assert len(brokers.asked) == 1 and asking.led_since < 0 and asking.moved == []
    brokers.refuse = False
    assert asking.lead_again([2]) == (["__consumer_offsets-3", "t-1"], "")
    assert [asked for _, asked in brokers.asked[1:]] == [[("__consumer_offsets", 3)], [("t", 1)]]


def test_a_question_without_an_answer_is_asked_again(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that has just started may owe one; none within the time is an error."""
    answers = [ClusterError("no answer"), None, ClusterError("no answer")]

    def asked(_: Cluster) -> State:
        if answers and (error := answers.pop(0)):
            raise error
        return State({1: {}, 2: {}, 3: {}}, 1, brokers.partitions)

    monkeypatch.setattr(Cluster, "state", asked)
    moved, left = Cluster(LISTENERS).prefer(5)
    assert [str(p) for p in moved] == ["t-1"] and left == [] and not answers
    answers[:] = [ClusterError("no answer")] * 100
    with pytest.raises(ClusterError, match="no answer"):
        Cluster(LISTENERS).prefer(0.5)


def test_nothing_is_asked_where_all_lead(brokers: Brokers) -> None:
    brokers.partitions = brokers.partitions[:1]
    assert Cluster(LISTENERS).prefer(5) == ([], [])
    assert brokers.asked == []


def test_what_moved_before_a_refusal_is_told(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that moved leaders changed something, whatever came after."""
    monkeypatch.setattr(cluster, "CONNECTED", 0.1)
    brokers.partitions += [Partition("__consumer_offsets", number, 1, (2, 1), (1, 2)) for number in (3, 4)]
    elect = brokers.elect_leaders

    def once(kind: ElectionType, partitions: Any, **options: Any) -> Future[Any]:
        brokers.refuse = len(brokers.asked) == 2
        return elect(kind, partitions, **options)

    monkeypatch.setattr(brokers, "elect_leaders", once)
    moved, why = Cluster(LISTENERS).lead_again([2])
    assert moved == ["__consumer_offsets-4", "t-1"] and "CLUSTER_AUTHORIZATION_FAILED" in why


def test_what_does_not_move_is_told_after_the_timeout(brokers: Brokers) -> None:
    brokers.deaf = True
    moved, left = Cluster(LISTENERS).prefer(0.3)
    assert [str(p) for p in moved] == [str(p) for p in left] == ["t-1"]


def test_a_refusal_is_in_the_clients_own_words(brokers: Brokers) -> None:
    brokers.refuse = True
    with pytest.raises(ClusterError, match=r"election of preferred leaders: .*CLUSTER_AUTHORIZATION_FAILED"):
        Cluster(LISTENERS).prefer(5)


def test_a_roll_goes_on_without_an_election(
    brokers: Brokers, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What refuses is a warning; who is back leads what it prefers to, and nobody else's moves."""
    warned = list[str]()
    monkeypatch.setattr(AnsibleModule, "warn", lambda _, text: warned.append(text))
    monkeypatch.setattr(kafka_gate, "ask", lambda *_: Verdict(True, {}))

    def back(stop: int, **more: object) -> dict[str, Any]:
        given = {"listeners": LISTENERS, "brokers": [1, 2, 3], "stop": [stop], "question": "back", **more}
        with patch_module_args(given), pytest.raises(SystemExit):
            kafka_gate.main()
        said: dict[str, Any] = json.loads(capsys.readouterr().out)
        return said

    assert "moved" not in back(2) and back(1, prefer=True)["moved"] == [] and not brokers.asked
    assert "moved" not in back(2, prefer=True, _ansible_check_mode=True) and not brokers.asked
    brokers.refuse = True
    said = back(2, prefer=True)
    assert "failed" not in said and not said["changed"] and "CLUSTER_AUTHORIZATION_FAILED" in warned[0]
    brokers.refuse = False
    said = back(2, prefer=True)
    assert said["moved"] == ["t-1"] and said["changed"] and len(warned) == 1


def test_silence_is_told_with_the_timeout(brokers: Brokers) -> None:
    brokers.silent = True
    with pytest.raises(ClusterError, match=r"election of preferred leaders: no answer within 0 s"):
        Cluster(LISTENERS).prefer(0.1)


def test_brokers_that_nobody_declares() -> None:
    """Registered ones, those with replicas and those without; and ids that are in replicas alone."""
    partitions = [
        Partition("a", 0, 1, (1, 4), (1, 4)),
        Partition("a", 1, 4, (4, 6), (4,)),
        Partition("b", 0, 1, (1,), (1,)),
    ]
    state = State({1: {}, 4: {}, 5: {}}, 1, partitions)
    assert state.undeclared([1, 2]) == {4: 2, 5: 0, 6: 1}
    assert state.undeclared([1, 2, 4, 5, 6]) == {}
