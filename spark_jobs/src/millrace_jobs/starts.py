"""Resolves the start of a query with a fresh checkpoint to offsets.

A start is a time, a consumer group, the earliest or the latest record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

from millrace_jobs.ends import Input, Start
from millrace_jobs.errors import JobError
from millrace_jobs.groups import committed
from millrace_jobs.paths import exists
from millrace_jobs.topics import admin_properties

_ANSWER_SECONDS = 10
_EARLIEST = -2  # as Spark writes it
Offsets = dict[str, dict[str, int]]  # topic -> partition -> offset, as Spark's startingOffsets


def milliseconds(moment: str) -> int:
    """Return a time as milliseconds since 1970 in UTC.

    `moment` is ISO 8601 text with a time zone, such as 2026-01-31T12:00:00Z.
    """
    return round(datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() * 1000)


def of_group(client: Mapping[str, str], group: str, source: Input) -> str:
    """Return the offsets that a consumer group has committed for all topics of `source`.

    The result is JSON for the option startingOffsets of Spark's Kafka source. `client` has the properties of
    librdkafka.

    Raises:
        JobError: the group has no offsets of one of the topics, or no broker answers.
    """
    offsets: Offsets = {}
    for topic in source.topics:
        offsets |= json.loads(committed(client, group, topic.name))
    return json.dumps(offsets)


def stored_start(checkpoint: str, source: Input) -> str | None:
    """Return the offsets that `store_start` wrote into a checkpoint, as JSON for Spark's startingOffsets.

    Return None if nothing was stored. A partition that was added to a topic later starts at its first record.

    Raises:
        JobError: no broker answers.
    """
    stored: Offsets = {}
    for topic in source.topics:
        file = _file(checkpoint, topic.name)
        stored |= json.loads(file.read_text(encoding="utf-8")) if exists(file) else {}
    if not stored:
        return None
    with _consumer(source) as consumer:
        offsets = {
            topic.name: {str(number): _EARLIEST for number in _partitions(consumer, topic.name)}
            | stored.get(topic.name, {})
            for topic in source.topics
        }
    return json.dumps(offsets)


def store_start(checkpoint: str, source: Input, offsets: Offsets) -> None:
    """Write start offsets, {topic: {partition: offset}}, into a new checkpoint.

    The query reads them at its first start, where they override the start in the configuration.
    """
    for topic in source.topics:  # one file for each topic, so that their order in the configuration does not matter
        file = _file(checkpoint, topic.name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({topic.name: offsets[topic.name]}), encoding="utf-8")


def resolve(source: Input, start: Start) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Return {(topic, partition): (first offset, offset of `start`, end offset)} for all partitions of `source`.

    The end offset is the offset after the last record. If `start` is a time, a partition without a record at or after
    that time starts at its end offset. If `start` is a consumer group, a partition without an offset of the group
    starts at its first offset.

    Raises:
        JobError: the group has no offsets of one of the topics, or no broker answers.
    """
    positions: dict[tuple[str, int], tuple[int, int, int]] = {}
    group = json.loads(of_group(_client(source), start.of, source)) if start.at == "group" else {}
    with _consumer(source) as consumer:
        for topic in source.topics:
            numbers = _partitions(consumer, topic.name)
            milliseconds_since_1970 = milliseconds(start.of) if start.at == "timestamp" else 0
            requested = [TopicPartition(topic.name, number, milliseconds_since_1970) for number in numbers]
            answers = consumer.offsets_for_times(requested, timeout=_ANSWER_SECONDS) if start.at == "timestamp" else []
            by_time = {answer.partition: answer.offset for answer in answers}
            for number in numbers:
                first, end = consumer.get_watermark_offsets(TopicPartition(topic.name, number), _ANSWER_SECONDS)
                offset = {"earliest": first, "latest": end}.get(start.at, -1)
                if start.at == "group":
                    offset = group[topic.name][str(number)]
                elif start.at == "timestamp":
                    offset = by_time[number]
                    offset = end if offset < 0 else offset
                positions[topic.name, number] = (first, first if offset < 0 else offset, end)
    return positions


def partitions(source: Input) -> list[tuple[str, int]]:
    """Return a pair (topic, partition number) for each partition of the source.

    Raises:
        JobError: no broker answers.
    """
    with _consumer(source) as consumer:
        return [(topic.name, number) for topic in source.topics for number in _partitions(consumer, topic.name)]


def _file(checkpoint: str, topic: str) -> Path:
    return Path(checkpoint) / f"starts-{topic}"


def _client(source: Input) -> dict[str, str]:
    return admin_properties(source.topics[0].client)


@contextmanager
def _consumer(source: Input) -> Iterator[Consumer]:
    """Context manager: yield a consumer for the brokers of `source` that joins no group and commits nothing.

    Raises:
        JobError: the block raised a KafkaException, for example because no broker answers.
    """
    settings = {"group.id": "millrace-jobs", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({**_client(source), **settings})
    try:
        yield consumer
    except KafkaException as error:
        names = ", ".join(topic.name for topic in source.topics)
        raise JobError(f"topic {names}: its offsets cannot be read ({error.args[0].str()}); try again") from None
    finally:
        consumer.close()


def _partitions(consumer: Consumer, topic: str) -> list[int]:
    metadata = consumer.list_topics(topic, timeout=_ANSWER_SECONDS).topics[topic]
    if metadata.error is not None:
        raise KafkaException(metadata.error)
    return sorted(metadata.partitions)
