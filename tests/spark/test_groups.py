"""Offsets of consumer groups, against a real broker: told to tools, and taken as a start."""

import json
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from millrace_jobs.errors import JobError
from millrace_jobs.groups import GroupCommitter, committed, offsets_of

from .broker import Broker


def shown(broker: Broker, group: str, topic: str) -> Callable[[], list[int]]:
    """What a lag tool reads of two partitions."""
    asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, number) for number in (0, 1)])]

    def read() -> list[int]:
        (future,) = broker.admin.list_consumer_group_offsets(asked).values()
        return [one.offset for one in future.result(60).topic_partitions or ()]

    return read


def test_what_progress_says() -> None:
    """Offsets of topics, and none of files."""
    assert offsets_of('{"a":{"0":5,"1":7},"b":{"0":1}}') == {("a", 0): 5, ("a", 1): 7, ("b", 0): 1}
    assert offsets_of('{"logOffset":3}') == offsets_of(None) == offsets_of("null") == {}


def test_the_least_of_all_queries_is_committed(broker: Broker) -> None:
    """A group without members, that a start is taken from."""
    topic, client = broker.topic(partitions=2), {"bootstrap.servers": broker.servers}
    broker.send(topic, ["a", "b", "c"])
    group = GroupCommitter(client, f"g-{topic}")
    early = GroupCommitter(client, f"g-{topic}", queries=2)
    early.offer("one", {(topic, 0): 3})
    early.close()
    assert shown(broker, f"g-{topic}", topic)() == [-1001, -1001]  # what the other one holds is not known yet
    group.offer("one", {(topic, 0): 3})
    group.offer("two", {(topic, 0): 2})
    group.close()
    assert shown(broker, f"g-{topic}", topic)() == [2, -1001]
    assert json.loads(committed(client, f"g-{topic}", topic)) == {topic: {"0": 2, "1": -2}}
    with pytest.raises(JobError, match=f"^group nobody: has no offsets of topic {topic}; give another start"):
        committed(client, "nobody", topic)


def test_a_group_that_others_are_in_does_not_stop_a_job(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    """Its members' offsets are left alone, and the log says so."""
    topic, client = broker.topic(), {"bootstrap.servers": broker.servers}
    member = Consumer({**client, "group.id": f"g-{topic}", "log_level": 0})
    member.subscribe([topic])
    for _ in range(300):
        if member.assignment():
            break
        member.poll(0.1)
    group = GroupCommitter(client, f"g-{topic}")
    group.offer("one", {(topic, 0): 3})
    group.close()
    member.close()
    (record,) = caplog.records
    assert record.message.startswith(f"group g-{topic}: offsets not committed (")
