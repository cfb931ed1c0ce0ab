"""A commit of offsets that brokers answer with an error for a partition is no success."""

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.groups import commit


def answered(errors: Mapping[int, int]) -> Admin:
    """Return an admin whose brokers answer with these errors, {partition: code}."""

    def alter(asked: list[ConsumerGroupTopicPartitions], **_: Any) -> dict[str, Future[Any]]:
        found = []
        for place in asked[0].topic_partitions or ():
            code = errors.get(place.partition)
            error = KafkaError(code) if code else None
            found.append(SimpleNamespace(topic=place.topic, partition=place.partition, error=error))
        future = Future[Any]()
        future.set_result(SimpleNamespace(topic_partitions=found))
        return {asked[0].group_id: future}

    return cast(Admin, SimpleNamespace(client=SimpleNamespace(alter_consumer_group_offsets=alter), patience=1.0))


OFFSETS = {("orders", 0): 5, ("orders", 1): 7}


def test_all_partitions_were_written() -> None:
    assert commit(answered({}), {"readers": OFFSETS}) == {}


def test_one_partition_was_refused() -> None:
    failed = commit(answered({1: KafkaError.NOT_ENOUGH_REPLICAS}), {"readers": OFFSETS})
    assert list(failed) == ["readers"]
    assert failed["readers"].endswith("(NOT_ENOUGH_REPLICAS)")


def test_an_error_is_reported_once() -> None:
    code = KafkaError.REQUEST_TIMED_OUT
    failed = commit(answered({0: code, 1: code}), {"readers": OFFSETS})
    assert failed["readers"].count("REQUEST_TIMED_OUT") == 1
