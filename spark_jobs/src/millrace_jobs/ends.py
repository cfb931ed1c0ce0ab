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
    """A Kafka topic; `client` has the properties with which Kafka's Java client connects to its brokers."""

    name: str
    client: Mapping[str, str]


@dataclass(frozen=True)
class Directory:
    """A directory of files: an archive, or a folder that replaces a topic in a job that runs without Kafka."""

    path: str


@dataclass(frozen=True)
class Database:
    """A PostgreSQL database; `client` has its connection properties under the names of libpq, such as dbname."""

    client: Mapping[str, str]


End = Topic | Directory | Database


@dataclass(frozen=True)
class Start:
    """The record at which a query without a checkpoint starts to read.

    `at` is the kind of start. `of` is an ISO 8601 time if `at` is "timestamp", the name of a consumer group if `at` is
    "group", and empty otherwise.
    """

    at: Literal["earliest", "latest", "timestamp", "group"] = "earliest"
    of: str = ""


def start_of(value: object) -> Start:
    """Return the Start for a value of the configuration that `checks.start` accepted.

    None, for a configuration without the key, gives the earliest record.
    """
    if isinstance(value, dict):
        ((at, of),) = value.items()
        return Start(at, str(of))
    return Start("latest") if value == "latest" else Start()


@dataclass(frozen=True)
class Input:
    """What a job reads through one source: the topics or the directory, the start, and the limit of one batch."""

    end: Topic | Directory
    start: Start = field(default_factory=Start)
    isolation: str | None = None
    """`isolation.level`; None: the level with which the checkpoint began."""
    max_offsets: int | None = MAX_OFFSETS_PER_TRIGGER
    """The largest number of records in a batch; None: no limit."""
    max_files: int = MAX_FILES_PER_TRIGGER
    dead_letters: Topic | None = None
    more: tuple[str, ...] = ()
    """Further topics of the same brokers, which are read together with the topic `end`."""

    @property
    def topics(self) -> list[Topic]:
        """All topics of this source; empty if the source is a directory."""
        end = self.end
        return [end, *(Topic(name, end.client) for name in self.more)] if isinstance(end, Topic) else []
