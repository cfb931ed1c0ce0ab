"""What is read of a cluster, with stand-ins for the client."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import confluent_kafka.admin
import pytest
from confluent_kafka import KafkaError, KafkaException

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.cluster import (
    UNKNOWN,
    Cluster,
    ClusterError,
    State,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition

LISTENERS = {"REPLICATION": {"bootstrap.servers": "b:9093"}}


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
    with pytest.raises(ClusterError, match="the leader of t-0 does not have this listener"):
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
    assert {number: facts["rack"] for number, facts in found.brokers.items()} == {1: "a", 2: UNKNOWN}


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
