"""A flow of MirrorMaker: its cluster copies a topic of its own, which costs no second cluster.

Everything else is as between two clusters: connections, users, tasks, transactions.
"""

import re
import secrets
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from faults.inventory import Inventory
from faults.lab import Lab, until

from operations.conftest import Operator

UNIT = "mirror-maker.service"
TOPIC, COPY, PARTITIONS = "mirrored", "west.mirrored", 4


@pytest.fixture(scope="module")
def lab(inventory: Inventory) -> Lab:
    return Lab(inventory)


@pytest.fixture(scope="module")
def topic(inventory: Inventory, lab: Lab) -> Iterator[str]:
    """The topic that the flow of the lab copies."""
    if not inventory.hosts("mirror_maker"):
        pytest.skip("no host has the function mirror_maker")
    lab.admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(30)
    try:
        yield TOPIC
    finally:
        for future in lab.admin.delete_topics([TOPIC, COPY]).values():
            future.result(30)


def publish(inventory: Inventory, begin: int, end: int) -> None:
    """Write the numbers from `begin` to before `end`, one record each."""
    producer = Producer({**inventory.admin_properties, "acks": "all"})
    for number in range(begin, end):
        producer.produce(TOPIC, str(number), str(number), number % PARTITIONS)
    assert producer.flush(60) == 0


def copied(inventory: Inventory, *begin: TopicPartition) -> Counter[int]:
    """Return how often each number is in the copy, as a reader of committed records sees it."""
    reader = Consumer(
        {**inventory.admin_properties, "group.id": "unused", "isolation.level": "read_committed",
         "enable.auto.commit": False, "enable.partition.eof": True}
    )  # fmt: skip
    reader.assign(list(begin) or [TopicPartition(COPY, number, 0) for number in range(PARTITIONS)])
    found, left = Counter[int](), PARTITIONS
    while left:
        for message in reader.consume(500, 5):
            if message.error():
                left -= 1
            else:
                found[int(message.value() or b"")] += 1
    reader.close()
    return found


def test_a_killed_worker(inventory: Inventory, lab: Lab, topic: str) -> None:
    """The other worker goes on, and everything is copied once."""
    publish(inventory, 0, 400)
    until("the copy", lambda: COPY in lab.admin.list_topics(timeout=10).topics, 120)
    until("all records copied", lambda: len(copied(inventory)) == 400, 120)
    lab.kill(inventory.hosts("mirror_maker")[0], UNIT)
    publish(inventory, 400, 800)
    until("all records copied", lambda: len(copied(inventory)) == 800, 120)
    assert set(copied(inventory).values()) == {1}


def test_no_password_is_in_a_topic(inventory: Inventory, lab: Lab, topic: str) -> None:
    """Workers keep their configuration in a topic, which every user who may read it sees."""
    password = inventory.kafka_properties["sasl.password"]
    reader = Consumer({**inventory.admin_properties, "group.id": "unused", "enable.partition.eof": True})
    reader.assign([TopicPartition("mm2-configs.west.internal", 0, 0)])
    texts = list[str]()
    while True:
        (message,) = reader.consume(1, 10)
        if message.error():
            break
        texts.append((message.value() or b"").decode())
    reader.close()
    assert any("sasl.jaas.config" in text for text in texts) and not [text for text in texts if password in text]


def test_a_group_moves_to_the_copy(inventory: Inventory, lab: Lab, topic: str, operator: Operator) -> None:
    """It reads everything that it has not read, and few records twice; a group with a member is not moved."""
    group = f"mirrored-{secrets.token_hex(4)}"
    publish(inventory, 800, 1200)
    begin = [TopicPartition(TOPIC, number, 250) for number in range(PARTITIONS)]
    lab.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, begin)])[group].result(30)
    until("all records copied", lambda: len(copied(inventory)) == 1200, 120)

    said = ("mirror_switch", "-e", "flow=west")
    shown = operator.play(*said)
    assert shown.code == 0 and len(re.findall(rf"{group} +{COPY} ", shown.output)) == PARTITIONS, shown.output[-3000:]
    assert lab.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
    moved = operator.play(*said, "-e", "confirm=west")
    assert moved.code == 0, moved.output[-3000:]
    answer = lab.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
    places = [one for one in answer.topic_partitions if one.topic == COPY]
    found = copied(inventory, *places)
    unread = {number for number in range(1200) if number // PARTITIONS >= 250}
    assert len(places) == PARTITIONS and unread <= set(found)
    assert len(found) <= len(unread) + 100, "records of one flush have few different times"
