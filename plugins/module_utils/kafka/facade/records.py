"""Reads and deletes records of a topic, and reads the space that the topic uses on each disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import client, kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import (
    ASK,
    WRITE,
    Admin,
    AdminError,
    failures,
)
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place


class DeletedError(AdminError):
    """Records were deleted while they were read."""


READ = {"enable.auto.commit": False, "enable.partition.eof": True, "group.id": "unused", "check.crcs": True}
# Else a reader whose records were deleted meanwhile would continue at the end, as if there were none.
READ["auto.offset.reset"] = "error"


def delete(admin: Admin, before: Mapping[Place, int]) -> dict[str, str]:
    """Delete the records before an offset of each partition; return {TOPIC-NUMBER of a failed partition: reason}.

    `before` is {(topic, partition): offset}.
    """
    from confluent_kafka import TopicPartition

    wanted = [TopicPartition(topic, number, offset) for (topic, number), offset in before.items()]
    futures = admin.client.delete_records(wanted, request_timeout=WRITE, operation_timeout=WRITE - 5)
    return failures([(f"{one.topic}-{one.partition}", future) for one, future in futures.items()], WRITE)


def read(
    admin: Admin, begin: Mapping[Place, int], until: Mapping[Place, int], wanted: Callable[[Any], bool], limit: int
) -> list[dict[str, Any]]:
    """Return records in a range of offsets that `wanted` accepts, at most `limit` records of all partitions together.

    `begin` and `until` are {(topic, partition): offset}: reading starts at `begin` and ends before `until`. No offset
    is committed, and no group is joined. Raises AdminError if a read fails, or if no record arrives for ASK seconds.
    Raises DeletedError if records were deleted meanwhile.
    """
    from confluent_kafka import KafkaError, TopicPartition

    left = {place for place in begin if begin[place] < until[place]}
    if not left:
        return []
    consumer = client.consumer({**admin.properties, **READ})
    found: list[dict[str, Any]] = []
    deadline = time.monotonic() + ASK
    try:
        consumer.assign([TopicPartition(topic, number, begin[topic, number]) for topic, number in sorted(left)])
        while left and len(found) < limit:
            for message in consumer.consume(500, timeout=0.5):
                place, error = (message.topic(), message.partition()), message.error()
                if error and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                    continue  # the library asks for the coordinator of a group, which is not used
                deadline = time.monotonic() + ASK
                if error and error.code() == KafkaError._AUTO_OFFSET_RESET:
                    raise DeletedError("records were deleted while they were read: run this again")
                if error and error.code() != KafkaError._PARTITION_EOF:
                    raise AdminError(error.str())
                # The last record of a partition can be before `until`: markers of transactions are not records.
                if error or message.offset() >= until[place] - 1:
                    left.discard(place)
                if not error and message.offset() < until[place] and len(found) < limit and wanted(message):
                    found.append(as_dict(message))
            if time.monotonic() > deadline:
                raise AdminError(f"no record came for {ASK:.0f} s")
    finally:
        consumer.close()
    return found


def text(value: bytes | None) -> str | None:
    """Return bytes as text, or as `hex DIGITS` if they are not UTF-8; None stays None."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"hex {value.hex()}"


def as_dict(message: Any) -> dict[str, Any]:
    """Convert a record of the library to a dict, the form in which the module kafka_topic returns records."""
    return {
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
        "key": text(message.key()),
        "headers": [{name: text(value)} for name, value in message.headers() or []],
        "value": text(message.value()),
    }


def sizes(admin: Admin, topic: str) -> list[dict[str, Any]]:
    """Return one dict for each log dir of each broker: the bytes of a topic in it, and the free bytes.

    Raises AdminError if the request is rejected or not answered, ImportError without kafka-python.
    """
    other = kafka_python.of(admin).client
    asked = "DescribeLogDirsRequest"
    return sizes_of(kafka_python.bounded(ASK, lambda: other.describe_log_dirs(topic_partitions=[topic]), asked))


def sizes_of(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one dict for each log dir of each broker: bytes, number of partitions, and free bytes.

    `answers` are the brokers' answers, as kafka-python returns them.
    """
    found = []
    for answered in answers:
        for folder in answered["log_dirs"]:
            partitions = [one for topic in folder["topics"] for one in topic["partitions"]]
            taken = sum(one["partition_size"] for one in partitions)
            row = {"broker": answered["broker"], "log_dir": folder["log_dir"], "bytes": taken}
            found.append({**row, "partitions": len(partitions), "free_bytes": folder.get("usable_bytes")})
    return sorted(found, key=lambda row: (row["broker"], row["log_dir"]))
