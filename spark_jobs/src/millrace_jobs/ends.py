"""Data classes for what a job reads and writes: topics, directories and databases. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# Limits of one batch. A stop waits for the end of the batch, so the first batch after a day of downtime must be short.
MAX_OFFSETS_PER_TRIGGER = 200_000
MAX_FILES_PER_TRIGGER = 100
# The trigger without batches.
REAL_TIME = "real-time"


@dataclass(frozen=True)
class Topic:
    """A Kafka topic, and the properties of Kafka's Java client with which to connect to its brokers."""

    name: str
    client: Mapping[str, str]


@dataclass(frozen=True)
class Directory:
    """A directory of files: an archive, or the replacement of a topic in a job that runs without Kafka."""

    path: str


@dataclass(frozen=True)
class Database:
    """A PostgreSQL database: its connection properties, with the names that libpq gives them."""

    client: Mapping[str, str]


End = Topic | Directory | Database


@dataclass(frozen=True)
class Start:
    """Where a query without a checkpoint starts to read.

    `of` is the time (ISO 8601) if `at` is timestamp, the name of the consumer group if `at` is group, and else empty.
    """

    at: Literal["earliest", "latest", "timestamp", "group"] = "earliest"
    of: str = ""


def start_of(value: object) -> Start:
    """Return the Start for a configuration value that `checks.start` accepted; None means the earliest record."""
    if isinstance(value, dict):
        ((at, of),) = value.items()
        return Start(at, str(of))
    return Start("latest") if value == "latest" else Start()


@dataclass(frozen=True)
class Input:
    """What a job reads through one of its sources, from which start, and how much of it in one batch."""

    end: Topic | Directory
    start: Start = field(default_factory=Start)
    isolation: str | None = None
    """`isolation.level`; None: the level with which the checkpoint began."""
    max_offsets: int | None = MAX_OFFSETS_PER_TRIGGER
    """None: no limit."""
    max_files: int = MAX_FILES_PER_TRIGGER
    dead_letters: Topic | None = None
    more: tuple[str, ...] = ()
    """Topics of the same brokers that are read along with the first."""

    @property
    def topics(self) -> list[Topic]:
        """The topics to read; empty if the source is a directory."""
        end = self.end
        return [end, *(Topic(name, end.client) for name in self.more)] if isinstance(end, Topic) else []
