"""A stand-in for the client that has leaders elected."""

from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import replace
from typing import Any

from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from unit.clock import Clock

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition


class Answer(Future[Any]):
    """An answer that costs the seconds of a fake clock while it is missing."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def result(self, timeout: float | None = None) -> Any:
        if not self.done():
            assert timeout is not None, "it would wait for ever"
            self.clock.rest(timeout)
            raise NoAnswer
        return super().result(0)


class Brokers:
    """Stands in for AdminClient and for what it sees: each election moves what is asked for."""

    def __init__(self, clock: Clock, *partitions: Partition) -> None:
        self.clock = clock
        self.partitions = list(partitions)
        self.asked: list[tuple[Any, list[tuple[str, int]]]] = []
        self.refuse = self.silent = False
        self.late: set[str] = set()
        """Topics whose election is done, and not answered."""
        self.mute: set[str] = set()
        """Topics whose election is neither done nor answered."""
        self.deaf: set[str] = set()
        """Topics that stay with who leads them."""

    def elect_leaders(self, kind: ElectionType, partitions: list[TopicPartition]) -> "Future[Any]":
        self.asked.append((kind, [(p.topic, p.partition) for p in partitions]))
        answer = Answer(self.clock)
        if self.silent:
            return answer
        if self.refuse:
            answer.set_exception(KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)))
            return answer
        topics = {p.topic for p in partitions}
        if topics & self.mute:
            return answer
        wanted = {(p.topic, p.partition) for p in partitions if p.topic not in self.deaf}
        self.partitions = [
            replace(p, leader=p.replicas[0]) if (p.topic, p.number) in wanted else p for p in self.partitions
        ]
        if not topics & self.late:
            why = KafkaError(KafkaError.PREFERRED_LEADER_NOT_AVAILABLE)
            answer.set_result({p: why if p.topic in self.deaf else None for p in partitions})
        return answer
