"""An application that reads from one cluster, and keeps what it has read when it moves to the other."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Event, Thread

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from faults.background import Background
from faults.ledger import CLIENT, Record, text_of

COMMIT = 1.0
"""Seconds between two commits."""
LAST = 10.0
"""Seconds that the last commit, and leaving the group, may take; a cluster that was killed does not answer."""


@dataclass
class Sink:
    """What applications have read: an idempotent sink knows each key once."""

    times: Counter[str] = field(default_factory=Counter)
    """How often each key was read."""
    disordered: list[str] = field(default_factory=list)
    """Keys that were read the first time behind a later one of their writer and partition."""
    latest: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, key: str, partition: int) -> None:
        """Take a record."""
        writer, _, number = key.rpartition("-")
        place = (writer, partition)
        if not self.times[key] and int(number) < self.latest.get(place, -1):
            self.disordered.append(key)
        self.latest[place] = max(int(number), self.latest.get(place, -1))
        self.times[key] += 1

    @property
    def read_again(self) -> int:
        """Records that were read more than once."""
        return sum(times > 1 for times in self.times.values())


class Application(Background):
    """Reads topics as a member of a group and commits once a second, from the beginning of a block to its end.

    Commits are not waited for but at the end, so that the application ends although its cluster was killed.
    """

    def __init__(self, properties: Mapping[str, str], group: str, topics: Sequence[str], sink: Sink) -> None:
        """Connect; nothing is read before the block begins."""
        own = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        more = {"session.timeout.ms": 6000, "topic.metadata.refresh.interval.ms": 2000}
        self._answered = Event()
        self.consumer = Consumer({**CLIENT, **properties, **own, **more, "on_commit": self._committed})
        self.topics, self.sink = list(topics), sink
        self.arrived = dict[tuple[str, int], list[float]]()
        """When records of each partition were read (monotonic seconds)."""
        self._began = time.monotonic()
        super().__init__(f"application {group}")

    def silent(self) -> float:
        """Return for how many seconds no record was read, at most since the beginning."""
        return time.monotonic() - max([self._began, *(times[-1] for times in list(self.arrived.values()))])

    def gap(self, begin: float, end: float) -> float:
        """Return the longest time in seconds without a record of some partition, between two times."""
        gaps = [0.0]
        for times in self.arrived.values():
            inside = [begin, *(at for at in times if begin < at < end), end]
            gaps.append(max(later - earlier for earlier, later in pairwise(inside)))
        return max(gaps)

    def close(self) -> None:
        """Leave the group; of a cluster that was killed, no answer is waited for."""
        leaving = Thread(target=self.consumer.close, daemon=True)
        leaving.start()
        leaving.join(LAST)

    def work(self) -> None:
        """Read and commit until stopped."""
        self.consumer.subscribe(self.topics)
        committed = time.monotonic()
        while not self.stopping.is_set():
            for message in self.consumer.consume(500, 0.2):
                if message.error():
                    continue  # a topic that is not there yet, or the end of a partition
                partition = int(message.partition() or 0)
                self.sink.add(text_of(message.key()), partition)
                self.arrived.setdefault((text_of(message.topic()), partition), []).append(time.monotonic())
            if time.monotonic() > committed + COMMIT:
                self._commit()
                committed = time.monotonic()
        self._answered.clear()
        self._commit()
        self.consumer.pause(self.consumer.assignment())  # what is read now would not be committed
        deadline = time.monotonic() + LAST
        while not self._answered.is_set() and time.monotonic() < deadline:
            self.consumer.poll(0.1)

    def _commit(self) -> None:
        try:
            self.consumer.commit(asynchronous=True)
        except KafkaException as error:
            self._committed(error.args[0], [])

    def _committed(self, error: KafkaError | None, _places: Sequence[TopicPartition]) -> None:
        """Take the answer to a commit."""
        self._answered.set()
        if error and error.code() != KafkaError._NO_OFFSET:  # nothing was read yet
            print(f"no commit: {error}")


def renamed(records: Iterable[Record], topic: str) -> list[Record]:
    """Return records of a copy as if they were in the original."""
    return [replace(record, topic=topic) for record in records]
