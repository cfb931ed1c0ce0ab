"""Declares the kinds of sources and sinks that a job can have, each with its configuration keys and their checks.

`bind` of each kind returns the topic, directory or database that a configuration names. Standard library only: a
control node imports this module from the wheel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from millrace_jobs import checks
from millrace_jobs.contract import Contract
from millrace_jobs.ends import (
    MAX_FILES_PER_TRIGGER,
    MAX_OFFSETS_PER_TRIGGER,
    REAL_TIME,
    Database,
    Directory,
    Input,
    Topic,
    start_of,
)

Check = Callable[[str, object], Iterator[str]]
Data = Mapping[str, object]


@dataclass(frozen=True)
class KafkaSource:
    """A topic as the source of a job: records with key, value, headers and their place in the topic.

    `name` begins the configuration keys, as in input_topic. With `files`, the configuration may name a directory of
    text files instead of a topic. With `several`, it names a list of topics.
    """

    contract: Contract
    name: str = "input"
    files: bool = False
    several: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for `files` without a contract of text, and for `several` with a default topic."""
        if self.files and self.contract.codec != "text":
            raise ValueError(f"{self.name}: lines of files have no envelope, which {self.contract.codec} needs")
        if self.several and self.contract.topic is not None:
            raise ValueError(f"{self.name}: several topics have no default; give a contract without one")

    @property
    def topic(self) -> str | None:
        """The topic to read if the configuration names none; None if the configuration must name it."""
        return self.contract.topic

    @property
    def _key(self) -> str:
        return f"{self.name}_topics" if self.several else f"{self.name}_topic"

    @property
    def keys(self) -> dict[str, Check]:
        """Return {configuration key: the check of its value}."""
        keys: dict[str, Check] = {
            self._key: checks.topic_names if self.several else checks.topic_name,
            f"{self.name}_start": checks.start,
            f"{self.name}_isolation": checks.one_of("read_committed", "read_uncommitted"),
            "max_offsets_per_trigger": checks.at_least(1, 2**63 - 1),
            "group": checks.group_name,
        }
        if self.files:
            keys |= {
                f"{self.name}_directory": checks.input_directory,
                "max_files_per_trigger": checks.at_least(1),
            }
        if self.contract.dead_letters:
            keys["dead_letter_topic"] = checks.topic_name
        return keys

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys that must be set."""
        return () if self.contract.topic else (self._key,)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield a line, `KEY: what is wrong; what to do`, for keys of `data` that exclude each other."""
        yield from _either(self.name, data)
        on_files = self.files and f"{self.name}_directory" in data
        wrong_limit, right_limit, kind = (
            ("offsets", "files", "directory") if on_files else ("files", "offsets", "topic")
        )
        if self.files and f"max_{wrong_limit}_per_trigger" in data:
            yield f"max_{wrong_limit}_per_trigger: the {self.name} is a {kind}; use max_{right_limit}_per_trigger"
        for key in (f"{self.name}_start", f"{self.name}_isolation", "group"):
            if on_files and key in data:
                yield f"{key}: the {self.name} is a directory, which has none; remove it"

    def read_of(self, data: Data) -> list[str]:
        """Return the names of the topics to read; empty if `data` names a directory, or no topic where it must."""
        if f"{self.name}_directory" in data:
            return []
        topics = data.get(self._key, self.contract.topic)
        return [str(name) for name in (topics if isinstance(topics, list) else [topics]) if name is not None]

    def topics_of(self, data: Data) -> list[str]:
        """Return the names of the topics to read and of the dead-letter topic; empty for a directory."""
        topics = self.read_of(data)
        return [*topics, *filter(None, [self.dead_letters_of(data)])] if topics else []

    def bind(self, data: Data, client: Mapping[str, str]) -> Input:
        """Return what to read, from the checked configuration `data`.

        `client` has the properties of Kafka's Java client for all topics.
        """
        topics = self.read_of(data)
        dead_letters = self.dead_letters_of(data)
        return Input(
            end=Topic(topics[0], client) if topics else Directory(str(data[f"{self.name}_directory"])),
            more=tuple(topics[1:]),
            start=start_of(data.get(f"{self.name}_start")),
            isolation=None if (isolation := data.get(f"{self.name}_isolation")) is None else str(isolation),
            max_offsets=None
            if data.get("trigger") == REAL_TIME
            else number(data, "max_offsets_per_trigger", MAX_OFFSETS_PER_TRIGGER),
            max_files=number(data, "max_files_per_trigger", MAX_FILES_PER_TRIGGER),
            dead_letters=Topic(dead_letters, client) if dead_letters and topics else None,
        )

    def dead_letters_of(self, data: Data) -> str | None:
        """Return the name of the topic for records that do not fit the contract.

        Return None if every record fits the contract, as for bytes and text.
        """
        default = self.contract.dead_letters
        return str(data.get("dead_letter_topic", default)) if default else None


@dataclass(frozen=True)
class FileSource:
    """The text files in a directory as the source of a job: a record per line, whose key is the file's base name."""

    name: str = "input"
    contract: None = None
    topic: None = None

    @property
    def keys(self) -> dict[str, Check]:
        """Return {configuration key: the check of its value}."""
        return {"max_files_per_trigger": checks.at_least(1), f"{self.name}_directory": checks.input_directory}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys that must be set."""
        return (f"{self.name}_directory",)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield nothing: no key of this source excludes another."""
        return iter(())

    def topics_of(self, data: Data) -> list[str]:
        """Return an empty list: a directory needs no topic."""
        return []

    def bind(self, data: Data, client: Mapping[str, str]) -> Input:
        """Return what to read, from the checked configuration `data`; `client` is not used."""
        limit = number(data, "max_files_per_trigger", MAX_FILES_PER_TRIGGER)
        return Input(Directory(str(data[f"{self.name}_directory"])), max_files=limit)


@dataclass(frozen=True)
class KafkaSink:
    """A topic as the output of a job, written at least once: Spark's Kafka sink uses no transactions.

    `mode` is Spark's output mode. With `files`, the configuration may name a directory instead of a topic.
    """

    contract: Contract
    name: str = "output"
    files: bool = False
    mode: Literal["append", "update"] = "append"

    @property
    def topic(self) -> str | None:
        """The topic to write if the configuration names none; None if the configuration must name it."""
        return self.contract.topic

    @property
    def keys(self) -> dict[str, Check]:
        """Return {configuration key: the check of its value}."""
        files: dict[str, Check] = {f"{self.name}_directory": checks.absolute_path} if self.files else {}
        return {f"{self.name}_topic": checks.topic_name, **files}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys that must be set."""
        return () if self.contract.topic else (f"{self.name}_topic",)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield a problem, `KEY: what is wrong; what to do`, if `data` names both a topic and a directory."""
        yield from _either(self.name, data)

    def topics_of(self, data: Data) -> list[str]:
        """Return the name of the topic to write, in a list; empty if `data` names a directory."""
        topics = data.get(f"{self.name}_topic", self.contract.topic)
        return [] if f"{self.name}_directory" in data or topics is None else [str(topics)]

    def bind(self, data: Data, client: Mapping[str, str]) -> Topic | Directory:
        """Return the topic or the directory to write, from the checked configuration `data`.

        `client` has the properties of Kafka's Java client.
        """
        topics = self.topics_of(data)
        return Topic(topics[0], client) if topics else Directory(str(data[f"{self.name}_directory"]))


@dataclass(frozen=True)
class FileSink:
    """A directory of Parquet files as the output of a job, written exactly once: each record is in one file.

    `folders` are columns: a subfolder for each of their values holds the files. Rows must have the columns `topic`,
    `partition` and `offset` of their records.
    """

    folders: tuple[str, ...]
    name: str = "output"
    contract: None = None
    topic: None = None

    @property
    def keys(self) -> dict[str, Check]:
        """Return {configuration key: the check of its value}."""
        return {f"{self.name}_directory": checks.absolute_path}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys that must be set."""
        return (f"{self.name}_directory",)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield nothing: no key of this output excludes another."""
        return iter(())

    def topics_of(self, data: Data) -> list[str]:
        """Return an empty list: a directory needs no topic."""
        return []

    def bind(self, data: Data, client: Mapping[str, str]) -> Directory:
        """Return the directory to write, from the checked configuration `data`; `client` is not used."""
        return Directory(str(data[f"{self.name}_directory"]))


@dataclass(frozen=True)
class PostgresSink:
    """A PostgreSQL table as the output of a job, exactly once: one transaction writes rows and their offsets.

    A new row replaces the stored row with the same `key` columns. `merge` is {column: SQL for its value after that},
    where `excluded` is the new row and `held` the stored row; other columns take the new value.
    """

    table: str
    key: tuple[str, ...]
    migrations: str  # folder below millrace_jobs/migrations
    merge: Mapping[str, str] = field(default_factory=dict)
    name: str = "output"
    contract: None = None
    topic: None = None

    @property
    def keys(self) -> dict[str, Check]:
        """Return {configuration key: the check of its value}."""
        return {"database": checks.database}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys that must be set."""
        return ("database",)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield nothing: no key of this output excludes another."""
        return iter(())

    def topics_of(self, data: Data) -> list[str]:
        """Return an empty list: a database needs no topic."""
        return []

    def bind(self, data: Data, client: Mapping[str, str]) -> Database:
        """Return the database to write, from the checked configuration `data`; `client` is not used."""
        return Database(properties(data["database"]))


Source = KafkaSource | FileSource
Sink = KafkaSink | FileSink | PostgresSink


def number(data: Data, key: str, default: int) -> int:
    """Return `data[key]` if it is a whole number, otherwise `default`."""
    value = data.get(key)
    return value if isinstance(value, int) else default


def properties(value: object) -> dict[str, str]:
    """Return the items of the object `value` as {name: text}; empty for any other value.

    The texts are written as in a properties file: true instead of True, 10000000 instead of 1e7.
    """
    pairs = value.items() if isinstance(value, dict) else ()
    return {name: _property_text(item) for name, item in pairs}


def _property_text(item: object) -> str:
    if isinstance(item, float) and item.is_integer():
        return str(int(item))
    return str(item).lower() if isinstance(item, bool) else str(item)


def _either(name: str, data: Data) -> Iterator[str]:
    if f"{name}_topic" in data and f"{name}_directory" in data:
        yield f"{name}_directory: {name}_topic is set too; keep one of the two"
