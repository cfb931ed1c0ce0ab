"""Reads the log dirs of brokers, and moves replicas between the log dirs of a broker, with kafka-python."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, AdminError, refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

AT_ONCE = 4
"""Number of brokers asked in parallel: one thread reads all answers, and each answer lists every replica."""


@dataclass(frozen=True)
class LogDir:
    """One log dir of a broker; `total` and `free` are bytes of its file system, None if the broker reports none."""

    broker: int
    path: str
    total: int | None = None
    free: int | None = None
    sizes: Mapping[Place, int] = field(default_factory=dict)
    """By partition, the bytes of its replica in this log dir."""
    coming: Mapping[Place, int] = field(default_factory=dict)
    """Bytes copied so far, by partition that is being copied here from another log dir of the broker."""
    given_up: bool = False
    """Whether the broker has taken the log dir offline."""


def log_dirs(admin: Admin, brokers: Iterable[int], only: Collection[Place] = ()) -> list[LogDir]:
    """Return the log dirs of brokers, including offline ones, each with its replicas.

    If `only` is not empty, just the replicas of these partitions are read. Raises AdminError if a broker rejects the
    request or does not answer, ImportError without kafka-python.
    """
    dirs = []
    for answer in by_broker(admin, brokers, only).values():
        if isinstance(answer, AdminError):
            raise answer
        dirs += answer
    return dirs


def by_broker(
    admin: Admin, brokers: Iterable[int], only: Collection[Place] = ()
) -> dict[int, list[LogDir] | AdminError]:
    """Return {broker: its log dirs, or an AdminError if the broker did not answer}, sorted by broker id.

    Brokers are asked in parallel. If `only` is not empty, just the replicas of these partitions are read. Raises
    AdminError if no client can connect, ImportError without kafka-python.
    """
    library = kafka_python.of(admin)
    from kafka.errors import for_code
    from kafka.protocol.admin import DescribeLogDirsRequest

    of: dict[str, list[int]] = {}
    for topic, number in sorted(only):
        of.setdefault(topic, []).append(number)
    named = [DescribeLogDirsRequest.DescribableLogDirTopic(topic=t, partitions=parts) for t, parts in of.items()]

    def ask(broker: int) -> list[LogDir] | AdminError:
        try:
            answer = library.ask(DescribeLogDirsRequest(topics=named or None), ASK, broker)
        except AdminError as error:
            return error
        if answer.error_code:
            return refused(for_code(answer.error_code).__name__)
        return [_read(broker, one) for one in answer.results]

    asked = sorted(brokers)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(asked, pool.map(ask, asked), strict=True))


def _read(broker: int, one: Any) -> LogDir:
    """Convert one log dir in a broker's answer to a LogDir."""
    sizes: dict[Place, int] = {}
    coming: dict[Place, int] = {}
    for topic in one.topics:
        for partition in topic.partitions:
            held = coming if partition.is_future_key else sizes
            held[topic.name, partition.partition_index] = partition.partition_size
    total, free = (value if value >= 0 else None for value in (one.total_bytes, one.usable_bytes))
    return LogDir(broker, one.log_dir, total, free, sizes, coming, bool(one.error_code))


def alter(admin: Admin, broker: int, wanted: Mapping[Place, str]) -> dict[Place, str]:
    """Make a broker copy replicas to other log dirs of its own; return {partition that it rejects: reason}.

    `wanted` is {partition: path of the log dir}. The path of the log dir that has the replica now cancels a running
    copy. Raises AdminError if the whole request is rejected or not answered, ImportError without kafka-python.
    """
    library = kafka_python.of(admin)
    from kafka.errors import for_code
    from kafka.protocol.admin import AlterReplicaLogDirsRequest as Request

    paths: dict[str, dict[str, list[int]]] = {}
    for (topic, number), path in sorted(wanted.items()):
        paths.setdefault(path, {}).setdefault(topic, []).append(number)
    kind = Request.AlterReplicaLogDir
    dirs = [
        kind(
            path=path,
            topics=[kind.AlterReplicaLogDirTopic(name=name, partitions=parts) for name, parts in of_path.items()],
        )
        for path, of_path in paths.items()
    ]
    found = library.ask(Request(dirs=dirs), admin.patience, broker)
    return {
        (topic.topic_name, one.partition_index): for_code(one.error_code).__name__
        for topic in found.results
        for one in topic.partitions
        if one.error_code
    }
