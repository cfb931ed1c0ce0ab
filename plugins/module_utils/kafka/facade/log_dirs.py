"""Log directories of brokers and what they hold, through kafka-python; no Ansible import."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import kafka_python
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import ASK, Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place


@dataclass(frozen=True)
class LogDir:
    """One log directory of a broker; bytes of its file system are None where the broker does not tell."""

    broker: int
    path: str
    total: int | None = None
    free: int | None = None
    sizes: Mapping[Place, int] = field(default_factory=dict)
    """Bytes by partition."""
    given_up: bool = False
    """Whether the broker serves nothing from it any more."""


def log_dirs(admin: Admin, brokers: Iterable[int], only: Collection[Place] = ()) -> list[LogDir]:
    """Return the directories of brokers, those that they gave up among them. Raises AdminError, ImportError.

    Each broker is asked itself, of these partitions, or of all where none is named.
    """
    library = kafka_python.of(admin)
    from kafka.protocol.admin import DescribeLogDirsRequest

    of: dict[str, list[int]] = {}
    for topic, number in sorted(only):
        of.setdefault(topic, []).append(number)
    named = [DescribeLogDirsRequest.DescribableLogDirTopic(topic=t, partitions=parts) for t, parts in of.items()]
    found = []
    for broker in sorted(brokers):
        for one in library.ask(DescribeLogDirsRequest(topics=named or None), ASK, broker).results:
            sizes = {
                (topic.name, partition.partition_index): partition.partition_size
                for topic in one.topics
                for partition in topic.partitions
                if not partition.is_future_key
            }
            total, free = (value if value >= 0 else None for value in (one.total_bytes, one.usable_bytes))
            found.append(LogDir(broker, one.log_dir, total, free, sizes, bool(one.error_code)))
    return found
