"""Log directories of brokers and what they hold, through kafka-python; no Ansible import."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin, AdminError, refused
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

AT_ONCE = 4
"""Brokers that are asked at the same time: one thread reads the answers of all, and each names every replica."""


@dataclass(frozen=True)
class LogDir:
    """One log directory of a broker; bytes of its file system are None where the broker does not tell."""

    broker: int
    path: str
    total: int | None = None
    free: int | None = None
    sizes: Mapping[Place, int] = field(default_factory=dict)
    """Bytes by partition."""
    coming: Mapping[Place, int] = field(default_factory=dict)
    """Bytes so far, by partition that comes here from another log dir of the broker."""
    given_up: bool = False
    """Whether the broker serves nothing from it any more."""


def log_dirs(admin: Admin, brokers: Iterable[int], only: Collection[Place] = ()) -> list[LogDir]:
    """Return the directories of brokers, those that they gave up among them. Raises AdminError, ImportError.

    Each broker is asked itself, of these partitions, or of all where none is named.
    """
    found = []
    for said in told(admin, brokers, only).values():
        if isinstance(said, AdminError):
            raise said
        found += said
    return found


def told(admin: Admin, brokers: Iterable[int], only: Collection[Place] = ()) -> dict[int, list[LogDir] | AdminError]:
    """Return the same by broker, in the order of their ids, or why one did not tell. Raises AdminError, ImportError.

    They are asked side by side.
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
    """Return one directory of a broker's answer."""
    sizes: dict[Place, int] = {}
    coming: dict[Place, int] = {}
    for topic in one.topics:
        for partition in topic.partitions:
            held = coming if partition.is_future_key else sizes
            held[topic.name, partition.partition_index] = partition.partition_size
    total, free = (value if value >= 0 else None for value in (one.total_bytes, one.usable_bytes))
    return LogDir(broker, one.log_dir, total, free, sizes, coming, bool(one.error_code))


def alter(admin: Admin, broker: int, wanted: Mapping[Place, str]) -> dict[Place, str]:
    """Have a broker copy replicas to other of its log dirs, where they take the place of those that it has.

    To the one where a replica is calls off what is under way. Return why some do not, by partition. Raises AdminError,
    ImportError.
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
