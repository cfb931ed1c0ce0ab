"""What a log dir holds, by the names in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

KAFKA_FILES = re.compile(
    r"\.lock|\.kafka_cleanshutdown|meta\.properties.*"
    r"|(cleaner|log-start|recovery-point|replication)-(offset-)?checkpoint.*"
    r"|.+-offset-checkpoint.*|.+-\d+(\.[0-9a-z]+-(delete|future|stray))?"
)
"""What a broker itself makes in a log dir."""
MADE_BY_MKFS = "lost+found"
"""Of ext4. A broker takes each folder for a partition, and does not start (UnifiedLog.parseTopicPartitionName)."""
REPLICA = re.compile(r"(.+)-(\d+)")
FUTURE = re.compile(r"(.+)-(\d+)\.[0-9a-z]+-future")


def foreign(names: Iterable[str]) -> list[str]:
    """Return what no broker made."""
    return [name for name in names if not KAFKA_FILES.fullmatch(name)]


def replicas(names: Iterable[str]) -> set[Place]:
    """Return the partitions of which there is a replica; one that is on its way there, or is being deleted, is none."""
    found = (REPLICA.fullmatch(name) for name in names)
    return {(one[1], int(one[2])) for one in found if one}


def futures(names: Iterable[str]) -> set[Place]:
    """Return the partitions of which a replica is on its way there from another log dir of the broker."""
    found = (FUTURE.fullmatch(name) for name in names)
    return {(one[1], int(one[2])) for one in found if one}


def named(places: Iterable[Place], shown: int = 3) -> str:
    """Return partitions by name, the first of them."""
    names = [f"{topic}-{number}" for topic, number in sorted(places)]
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
