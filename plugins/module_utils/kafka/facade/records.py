"""Records of a topic: read, deleted, and how much of each disk they take; no Ansible import."""

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

READ = {"enable.auto.commit": False, "enable.partition.eof": True, "group.id": "unused", "check.crcs": True}


def delete(admin: Admin, before: Mapping[Place, int]) -> dict[str, str]:
    """Delete the records of partitions before an offset each; return why some failed, as topic-partition."""
    from confluent_kafka import TopicPartition

    wanted = [TopicPartition(topic, number, offset) for (topic, number), offset in before.items()]
    futures = admin.client.delete_records(wanted, request_timeout=WRITE, operation_timeout=WRITE - 5)
    return failures([(f"{one.topic}-{one.partition}", future) for one, future in futures.items()], WRITE)


def read(
    admin: Admin, begin: Mapping[Place, int], until: Mapping[Place, int], wanted: Callable[[Any], bool], limit: int
) -> list[dict[str, Any]]:
    """Return up to `limit` records that are wanted, of partitions from an offset each until another (not with it).

    Nothing is committed, and nobody's group is joined. Raises AdminError where no record comes for 10 s.
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
                deadline = time.monotonic() + ASK
                if error and error.code() != KafkaError._PARTITION_EOF:
                    raise AdminError(error.str())
                # The end of a partition can stand before `until`: what is left of a transaction is no record.
                if error or message.offset() >= until[place] - 1:
                    left.discard(place)
                if not error and message.offset() < until[place] and len(found) < limit and wanted(message):
                    found.append(shown(message))
            if time.monotonic() > deadline:
                raise AdminError(f"no record came for {ASK:.0f} s")
    finally:
        consumer.close()
    return found


def text(value: bytes | None) -> str | None:
    """Return bytes as text, in hexadecimal digits where they are none."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"hex {value.hex()}"


def shown(message: Any) -> dict[str, Any]:
    """Return a record for people."""
    return {
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
        "key": text(message.key()),
        "headers": [{name: text(value)} for name, value in message.headers() or []],
        "value": text(message.value()),
    }


def sizes(admin: Admin, topic: str) -> list[dict[str, Any]]:
    """Return how many bytes a topic takes, by broker and log dir. Raises AdminError, ImportError."""
    other = kafka_python.of(admin).client
    asked = "DescribeLogDirsRequest"
    return sizes_of(kafka_python.bounded(ASK, lambda: other.describe_log_dirs(topic_partitions=[topic]), asked))


def sizes_of(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the bytes of all partitions together, by broker and log dir, of what brokers answer."""
    found = []
    for answered in answers:
        for folder in answered["log_dirs"]:
            partitions = [one for topic in folder["topics"] for one in topic["partitions"]]
            taken = sum(one["partition_size"] for one in partitions)
            row = {"broker": answered["broker"], "log_dir": folder["log_dir"], "bytes": taken}
            found.append({**row, "partitions": len(partitions), "free_bytes": folder.get("usable_bytes")})
    return sorted(found, key=lambda row: (row["broker"], row["log_dir"]))
