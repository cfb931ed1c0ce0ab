"""Commits the offsets that a job has finished to a consumer group, so that tools can show the job's lag.

The job itself continues from its checkpoint and never reads these offsets.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from threading import Condition, Thread
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millrace_jobs.errors import JobError

_LOG = logging.getLogger(__name__)
_ANSWER_SECONDS = 10
_RETRY_SECONDS = 0.2
_COMMIT_AGAIN_SECONDS = 3600  # brokers delete offsets of a group without members after a week
_COORDINATOR_MOVING = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
T = TypeVar("T")
Offsets = dict[tuple[str, int], int]


def offsets_of(progress_end: str | None) -> Offsets:
    """Return {(topic, partition): next offset} from the end offset of a source in Spark's progress.

    `progress_end` is JSON text or None. The result is {} if the source is not a topic.
    """
    try:
        content = json.loads(progress_end or "{}")
    except ValueError:
        return {}
    topics = content.items() if isinstance(content, dict) else ()
    return {
        (topic, int(number)): int(offset)
        for topic, partitions in topics
        if isinstance(partitions, dict)
        for number, offset in partitions.items()
    }


def committed(client: Mapping[str, str], group: str, topic: str) -> str:
    """Return the offsets that a consumer group has committed for a topic, as JSON for Spark's startingOffsets.

    For a partition without a committed offset the JSON has -2, which means its first record. `client` has the
    properties of librdkafka.

    Raises:
        JobError: the group has no offset in any partition of the topic, or no broker answers.
    """
    consumer = Consumer({**client, "group.id": group, "enable.auto.commit": False, "log_level": 0})
    try:
        partitions = consumer.list_topics(topic, timeout=_ANSWER_SECONDS).topics[topic].partitions
        requested = [TopicPartition(topic, number) for number in partitions]
        answer = _retry_coordinator(lambda: consumer.committed(requested, timeout=_ANSWER_SECONDS))
    except KafkaException as error:
        raise JobError(f"group {group}: its offsets cannot be read ({error.args[0].str()}); try again") from None
    finally:
        consumer.close()
    offsets = {str(partition.partition): partition.offset if partition.offset >= 0 else -2 for partition in answer}
    if set(offsets.values()) <= {-2}:
        raise JobError(f"group {group}: has no offsets of topic {topic}; give another start")
    return json.dumps({topic: offsets})


def _retry_coordinator(ask: Callable[[], T]) -> T:
    """Return the result of `ask`; repeat it for up to 10 seconds while the group has no coordinator.

    A group has no coordinator for a moment after a broker started or the coordinator moved.

    Raises:
        KafkaException: there was no coordinator for 10 seconds, or `ask` raised another error.
    """
    deadline = time.monotonic() + _ANSWER_SECONDS
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in _COORDINATOR_MOVING or time.monotonic() >= deadline:
                raise
        time.sleep(_RETRY_SECONDS)


class GroupCommitter:
    """Commits the offsets that the queries of a job have finished to a consumer group.

    It commits in a thread of its own, so that no batch waits for a commit.
    """

    def __init__(self, client: Mapping[str, str], group: str, queries: int = 1) -> None:
        """Start the thread, which commits nothing until `queries` different queries have called `offer`.

        `client` has the properties of librdkafka, `group` is the name of the consumer group.
        """
        self._queries = queries
        self._consumer = Consumer({**client, "group.id": group, "enable.auto.commit": False, "log_level": 0})
        self._group = group
        self._of_query: dict[str, Offsets] = {}
        self._changed = Condition()
        self._fresh = False
        self._closed = False
        self._thread = Thread(target=self._run, name="group-offsets", daemon=True)
        self._thread.start()

    def offer(self, query: str, offsets: Offsets) -> None:
        """Accept the offsets after a finished batch of the query with the name `query`; the thread commits them.

        If several queries read the same partition, the smallest of their offsets is committed.
        """
        if offsets:
            with self._changed:
                self._of_query[query] = offsets
                self._fresh = True
                self._changed.notify()

    def close(self) -> None:
        """Commit the offsets that are not committed yet and end the thread; wait for that at most 20 seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(2 * _ANSWER_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._fresh or self._closed, _COMMIT_AGAIN_SECONDS)
                last, self._fresh = self._closed, False
                least: Offsets = {}
                reports = self._of_query.values() if len(self._of_query) >= self._queries else ()
                for offsets in reports:
                    for place, offset in offsets.items():
                        least[place] = min(offset, least.get(place, offset))
            if least:
                self._commit(least)
            if last and not self._fresh:
                self._consumer.close()
                return

    def _commit(self, offsets: Offsets) -> None:
        positions = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        try:
            results = _retry_coordinator(lambda: self._consumer.commit(offsets=positions, asynchronous=False))
            errors = [result.error.str() for result in results or () if result.error]
        except KafkaException as error:
            errors = [error.args[0].str()]
        if errors:
            lag = "the shown lag is too high until the next batch"
            _LOG.warning("group %s: offsets not committed (%s); %s", self._group, errors[0], lag)
