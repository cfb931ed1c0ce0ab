"""Re-reads a whole topic, to be compared with the ledger."""

import time
from collections.abc import Mapping
from threading import Event

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from .ledger import CLIENT, Record, text_of


def read_all(properties: Mapping[str, str], topic: str, seconds: float = 60) -> list[Record]:
    """Read every partition from offset 0 to the end that it has now.

    Raises ValueError without such a topic, TimeoutError after `seconds`, KafkaException where a partition has no leader
    or lacks offset 0.
    """
    deadline = time.monotonic() + seconds
    own = {
        "group.id": "ledger",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "check.crcs": True,
    }
    consumer = Consumer({**CLIENT, **properties, **own})
    try:
        ends = {
            number: high_watermark(consumer, TopicPartition(topic, number), deadline)
            for number in partitions(consumer, topic, deadline)
        }
        left = {number for number, end in ends.items() if end > 0}
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        found: list[Record] = []
        while left:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic}: partitions {sorted(left)} not read to their ends {ends} in {seconds} s")
            for message in consumer.consume(5000, timeout=0.5):
                error, number, offset = message.error(), _number(message.partition()), _number(message.offset())
                if error is None:
                    key, where = text_of(message.key()), text_of(message.topic())
                    found.append(Record(key, message.value() or b"", number, offset, where))
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                if offset >= ends[number] - (error is None):
                    left.discard(number)
        return [record for record in found if record.offset < ends[record.partition]]
    finally:
        consumer.close()


def partitions(consumer: Consumer, topic: str, deadline: float) -> list[int]:
    """Return the numbers of a topic's partitions.

    A broker that has just started knows none yet, and the next answer may be another's.
    """
    pause = Event()
    while not (found := consumer.list_topics(topic, timeout=10).topics[topic].partitions):
        if time.monotonic() > deadline:
            raise ValueError(f"{topic}: no such topic")
        pause.wait(0.2)
    return sorted(found)


def high_watermark(consumer: Consumer, partition: TopicPartition, deadline: float) -> int:
    """Return the high watermark; ask again while a leader is too new to know it (KIP-207), or has just moved."""
    pause = Event()
    while True:
        try:
            return int(consumer.get_watermark_offsets(partition, timeout=10)[1])
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            pause.wait(0.1)


def _number(value: int | None) -> int:
    return -1 if value is None else value
