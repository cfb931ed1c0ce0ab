"""Reads a cluster again and again for the exporter: what does not answer is left out and counted, not an error."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import client
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, AdminError, answer
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

# The exporter reads one record of a partition, so it fetches little at once. It reads open transactions, too:
# consumers of committed records wait at the first record of such a transaction.
ONE_RECORD = {
    "isolation.level": "read_uncommitted",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "group.id": "unused",
    "auto.offset.reset": "error",
    "fetch.message.max.bytes": 1024,  # a larger record arrives all the same
    "queued.min.messages": 1,
    "fetch.wait.max.ms": 100,
    "fetch.queue.backoff.ms": 50,  # until a partition that was left is fetched again
}


def offsets(admin: Admin, places: Iterable[Place]) -> tuple[dict[Place, int], dict[Place, int]]:
    """Return the first offset of each partition that answers, and the offset that its next record gets."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    specs: Any = OffsetSpec
    found: list[dict[Place, int]] = []
    for spec in (specs.earliest(), specs.latest()):
        asked = {TopicPartition(topic, number): spec for topic, number in places}
        futures = admin.client.list_offsets(asked, request_timeout=ASK) if asked else {}
        known: dict[Place, int] = {}
        for one, future in futures.items():
            with suppress(AdminError):
                known[one.topic, one.partition] = answer(future, ASK).offset
        found.append(known)
    both = found[0].keys() & found[1].keys()
    earliest, latest = ({place: one[place] for place in both} for one in found)
    return earliest, latest


def names(admin: Admin) -> tuple[list[str], int]:
    """Return the names of all consumer groups, and how many brokers did not answer (1 if none did)."""
    try:
        found = answer(admin.client.list_consumer_groups(request_timeout=ASK), ASK)
    except AdminError:
        return [], 1
    return sorted({one.group_id for one in found.valid if one.group_id}), len(found.errors)


class FirstRecords:
    """Finds the times of records at given offsets, with one connection to each broker."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        """Connect with librdkafka's `properties`. Raises ClientError."""
        self.consumer = client.consumer({**properties, **ONE_RECORD})

    def times(self, begin: Mapping[Place, int], seconds: float) -> tuple[dict[Place, int | None], set[Place]]:
        """Return the timestamp of the first record from an offset on (ms since 1970), within `seconds`.

        A partition without such a record has None. Partitions without an answer are left out; the second value are
        those that may not be read.
        """
        from confluent_kafka import KafkaError, TopicPartition

        found, denied = dict[Place, int | None](), set[Place]()
        left, deadline = {*begin}, time.monotonic() + seconds
        self.consumer.assign([TopicPartition(topic, number, begin[topic, number]) for topic, number in sorted(begin)])
        while left and time.monotonic() < deadline:
            message = self.consumer.poll(min(0.2, max(0.0, deadline - time.monotonic())))
            if message is None or message.topic() is None:
                continue
            place, error = (message.topic(), message.partition()), message.error()
            if place not in left:  # a later record
                continue
            if error is None:
                found[place] = message.timestamp()[1]
            elif error.code() == KafkaError._PARTITION_EOF:
                found[place] = None
            elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                denied.add(place)
            left.discard(place)
        self.consumer.unassign()
        return found, denied

    def close(self) -> None:
        """Close the connections."""
        self.consumer.close()
