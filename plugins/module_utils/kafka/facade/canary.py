"""Writes and reads the records of a canary (exporter/canary.py), with a producer and a consumer of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.exporter.canary import Answer, Message
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import client
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import AdminError, text_of

ANSWER = 0.5
"""Seconds within which a broker has to answer who leads the partitions."""
# The producer gives up a record after 5 s. Without idempotence: no error of one record ends the producer.
WRITES = {
    "acks": "all",
    "delivery.timeout.ms": 5000,
    "linger.ms": 0,
    "socket.nagle.disable": True,  # otherwise small requests wait for up to 40 ms
    "enable.idempotence": False,
    "queue.buffering.max.messages": 10_000,
    "allow.auto.create.topics": False,
    "topic.metadata.refresh.interval.ms": 5000,  # a topic may be created anew
}
# The consumer joins no group and commits nothing, so no group exists on the cluster.
READS = {
    "group.id": "unused",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "latest",
    "isolation.level": "read_uncommitted",
    "queued.max.messages.kbytes": 1024,
    "socket.nagle.disable": True,
    "allow.auto.create.topics": False,
    "topic.metadata.refresh.interval.ms": 5000,
}
MOST = 1000
"""Messages that are read at a time: others may write to the topic, too."""
KEY = b"canary"  # a compacted topic requires a key


class Wire:
    """The connections of a canary to the brokers."""

    def __init__(self, properties: Mapping[str, Any], topic: str, complain: Callable[[str], None]) -> None:
        """Connect with librdkafka's `properties`. Raises ClientError."""
        self.topic, self.complain = topic, complain
        self.found: list[Answer] = []
        own = {**properties, "error_cb": lambda error: complain(f"{error.str()} ({error.name()})")}
        self.producer, self.consumer = client.producer({**own, **WRITES}), client.consumer({**own, **READS})

    def leaders(self) -> dict[int, int]:
        """Return the leader of each partition, -1 without one; {} if the topic does not exist.

        The producer learns of new partitions and leaders by this, too. Raises AdminError if no broker answers.
        """
        from confluent_kafka import KafkaError, KafkaException

        try:
            topic = self.producer.list_topics(self.topic, timeout=ANSWER).topics[self.topic]
        except KafkaException as error:
            raise AdminError(text_of(error)) from error
        if topic.error and topic.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            self.complain(f"the topic {self.topic} does not exist")
            return {}
        if topic.error and not topic.partitions:
            raise AdminError(f"{topic.error.str()} ({topic.error.name()})")
        return {number: one.leader for number, one in topic.partitions.items()}

    def send(self, partition: int, number: int, value: bytes) -> None:
        """Start to write a record. Raises AdminError if the library does not take it."""
        from confluent_kafka import KafkaException

        def done(error: Any, message: Any) -> None:
            if error is None:
                self.found.append(Answer(number, float(message.latency() or 0), message.offset()))
            else:
                self.found.append(Answer(number, error=f"{self.topic}-{partition}: {error.str()} ({error.name()})"))

        try:
            self.producer.produce(self.topic, value, KEY, partition, on_delivery=done)
        except (KafkaException, BufferError) as error:
            raise AdminError(f"{self.topic}-{partition}: {text_of(error)}") from error

    def answers(self, seconds: float) -> list[Answer]:
        """Wait at most so many seconds for a result, and return the results since the last call."""
        self.producer.poll(seconds)
        found, self.found = self.found, []
        return found

    def assign(self, positions: Mapping[int, int]) -> None:
        """Read these partitions from these offsets, and no other partitions."""
        from confluent_kafka import TopicPartition

        self.consumer.assign([TopicPartition(self.topic, number, at) for number, at in sorted(positions.items())])

    def read(self, seconds: float) -> list[Message]:
        """Wait at most so many seconds for a record, and return the records that have arrived."""
        found = list[Message]()
        for number in range(MOST):
            message = self.consumer.poll(0.0 if number else seconds)
            if message is None:
                break
            if error := message.error():
                self.complain(f"reading {self.topic}: {error.str()} ({error.name()})")
            else:
                found.append(Message(message.partition(), message.offset(), message.value() or b""))
        return found

    def close(self) -> None:
        """Close the connections, without waiting for records that are on their way."""
        self.producer.purge()
        self.consumer.close()
