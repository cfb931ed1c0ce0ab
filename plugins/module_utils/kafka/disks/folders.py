"""Classifies the files and folders of a log dir by their names. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

KAFKA_FILES = re.compile(
    r"\.lock|\.kafka_cleanshutdown|meta\.properties.*"
    r"|(cleaner|log-start|recovery-point|replication)-(offset-)?checkpoint.*"
    r"|.+-offset-checkpoint.*|.+-\d+(\.[0-9a-z]+-(delete|future|stray))?"
)
"""Names of the files and folders that a broker creates in a log dir."""
MADE_BY_MKFS = "lost+found"
"""A folder that mkfs.ext4 creates. A broker takes each folder in a log dir for a partition, and fails to start if it
finds this one (UnifiedLog.parseTopicPartitionName)."""
REPLICA = re.compile(r"(.+)-(\d+)")
FUTURE = re.compile(r"(.+)-(\d+)\.[0-9a-z]+-future")


def foreign(names: Iterable[str]) -> list[str]:
    """Return the names in a log dir that no broker gives to a file or folder; `names` are all names in the log dir."""
    return [name for name in names if not KAFKA_FILES.fullmatch(name)]


def replicas(names: Iterable[str]) -> set[Place]:
    """Return the partitions whose replica is in a log dir, by the `names` of the files and folders in it.

    Unfinished copies are left out.
    """
    matches = (REPLICA.fullmatch(name) for name in names)
    return {(match[1], int(match[2])) for match in matches if match}


def futures(names: Iterable[str]) -> set[Place]:
    """Return the partitions that the broker is copying to a log dir from another of its log dirs.

    `names` are the names of the files and folders in the log dir that receives the copies.
    """
    matches = (FUTURE.fullmatch(name) for name in names)
    return {(match[1], int(match[2])) for match in matches if match}


def named(places: Iterable[Place], shown: int = 3) -> str:
    """Return a text as `a-0, a-1, a-2 and 5 more`: the first `shown` partitions, and how many more there are."""
    names = [f"{topic}-{number}" for topic, number in sorted(places)]
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
