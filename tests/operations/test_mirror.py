"""A flow of MirrorMaker: its cluster copies a topic of its own, which costs no second cluster.

Everything else is as between two clusters: connections, users, tasks, transactions.
"""

import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from faults.inventory import Inventory
from faults.lab import Lab, until

from operations.conftest import Operator

UNIT = "mirror-maker.service"
PARTITIONS = 4
LATE = 400
"""Seconds after which something is taken for missing: on a busy machine, tasks take a minute to move or start again."""
SILENT = 15
"""Requests in a row without a record after which a reader gives up."""


@pytest.fixture(scope="module")
def lab(inventory: Inventory) -> Lab:
    return Lab(inventory)


@pytest.fixture
def topic(inventory: Inventory, lab: Lab) -> Iterator[str]:
    """A topic that the flow of the lab copies; its name is new, because MirrorMaker continues at old offsets."""
    if not inventory.hosts("mirror_maker"):
        pytest.skip("no host has the function mirror_maker")
    name = f"mirrored-{secrets.token_hex(4)}"
    lab.admin.create_topics([NewTopic(name, PARTITIONS, 3)])[name].result(30)
    try:
        yield name
    finally:
        lab.admin.delete_topics([name])[name].result(30)
        lab.admin.delete_topics([f"west.{name}"])


def publish(inventory: Inventory, topic: str, begin: int, end: int) -> None:
    """Write the numbers from `begin` to before `end`, one record each, a second apart, beginning an hour ago.

    Older records than retention allows would be gone after the brokers' next check, which is every five minutes.
    """
    producer, first = Producer({**inventory.admin_properties, "acks": "all"}), int(time.time() - 3600) * 1000
    for number in range(begin, end):
        producer.produce(topic, str(number), str(number), number % PARTITIONS, timestamp=first + number * 1000)
    assert producer.flush(60) == 0


def copied(inventory: Inventory, topic: str, *begin: TopicPartition) -> Counter[int]:
    """Return how often each number is in the copy of a topic, as a reader of committed records sees it."""
    reader = Consumer(
        {**inventory.admin_properties, "group.id": "unused", "isolation.level": "read_committed",
         "enable.auto.commit": False, "enable.partition.eof": True}
    )  # fmt: skip
    reader.assign(list(begin) or [TopicPartition(f"west.{topic}", number, 0) for number in range(PARTITIONS)])
    found, left = Counter[int](), set(range(PARTITIONS))
    silent = 0
    while left and silent < SILENT:
        messages = reader.consume(500, 1)
        silent = 0 if messages else silent + 1
        for message in messages:
            error = message.error()
            if not error:
                found[int(message.value() or b"")] += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition())
    reader.close()
    return found


def test_a_killed_worker(inventory: Inventory, lab: Lab, topic: str) -> None:
    """The other worker goes on, and everything is copied once."""
    publish(inventory, topic, 0, 400)
    until("the copy", lambda: f"west.{topic}" in lab.admin.list_topics(timeout=10).topics, LATE)
    until("all records copied", lambda: len(copied(inventory, topic)) == 400, LATE)
    lab.kill(inventory.hosts("mirror_maker")[0], UNIT)
    publish(inventory, topic, 400, 800)
    until("all records copied", lambda: len(copied(inventory, topic)) == 800, LATE)
    assert set(copied(inventory, topic).values()) == {1}


def test_no_password_is_in_a_topic(inventory: Inventory, topic: str) -> None:
    """Workers keep their configuration in a topic, which every user who may read it sees."""
    assert inventory.lab_directory
    users = ("mirror_reader", "mirror_maker")
    passwords = [(inventory.lab_directory / "secrets" / user).read_text().split()[0] for user in users]
    reader = Consumer({**inventory.admin_properties, "group.id": "unused", "enable.partition.eof": True})
    reader.assign([TopicPartition("mm2-configs.west.internal", 0, 0)])
    texts = list[str]()
    while True:
        (message,) = reader.consume(1, 10)
        if message.error():
            break
        texts.append((message.value() or b"").decode())
    reader.close()
    assert any("sasl.jaas.config" in text for text in texts) and not [
        text for text in texts for password in passwords if password in text
    ]


def test_a_group_moves_to_the_copy(inventory: Inventory, lab: Lab, topic: str, operator: Operator) -> None:
    """It reads everything that it has not read, and nothing twice, for its records have different times."""
    group = f"mirrored-{secrets.token_hex(4)}"
    publish(inventory, topic, 0, 1200)
    begin = [TopicPartition(topic, number, 250) for number in range(PARTITIONS)]
    lab.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, begin)])[group].result(30)
    until("all records copied", lambda: len(copied(inventory, topic)) == 1200, LATE)

    moved = operator.play("mirror_switch", "-e", "flow=west", "-e", "confirm=west")
    rows = re.findall(rf"{group} +west\.{topic} +\d .* time\b", moved.output)
    assert (moved.code, len(rows)) == (0, PARTITIONS), moved.output[-3000:]
    answer = lab.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
    places = [one for one in answer.topic_partitions if one.topic == f"west.{topic}"]
    assert len(places) == PARTITIONS
    assert set(copied(inventory, topic, *places)) == {number for number in range(1200) if number // PARTITIONS >= 250}
