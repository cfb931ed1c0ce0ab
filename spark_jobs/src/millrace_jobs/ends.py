"""Describes where a job reads and writes, as its configuration sets it. Standard library only."""

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
    """A Kafka topic, and the client properties (Kafka's names) to reach it."""

    name: str
    client: Mapping[str, str]


@dataclass(frozen=True)
class Directory:
    """A directory of files instead of a topic, so that a job runs without Kafka."""

    path: str


@dataclass(frozen=True)
class Database:
    """A PostgreSQL database: connection properties with libpq's names."""

    client: Mapping[str, str]


End = Topic | Directory | Database


@dataclass(frozen=True)
class Start:
    """Where a query without a checkpoint starts; `of` is the time (ISO 8601) or the name of the group."""

    at: Literal["earliest", "latest", "timestamp", "group"] = "earliest"
    of: str = ""


def start_of(value: object) -> Start:
    """Return the start for a value that `checks.start` accepted."""
    if isinstance(value, dict):
        ((at, of),) = value.items()
        return Start(at, str(of))
    return Start("latest") if value == "latest" else Start()


@dataclass(frozen=True)
class Input:
    """One source of a job."""

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
        """The topics that are read."""
        end = self.end
        return [end, *(Topic(name, end.client) for name in self.more)] if isinstance(end, Topic) else []
