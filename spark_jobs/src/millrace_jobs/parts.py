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
    """A topic as the source of a job: rows with key, value, headers and the record's place in the topic.

    `contract` gives the default topic and the form of its records. `name` is the prefix of the configuration keys, as
    in input_topic. With `files`, the configuration may name a directory of text files instead of a topic. With
    `several`, the configuration names a list of topics.
    """

    contract: Contract
    name: str = "input"
    files: bool = False
    several: bool = False

    def __post_init__(self) -> None:
        """Check that the fields fit each other.

        Raises:
            ValueError: `files` is set and the codec of the contract is not text, or `several` is set and the contract
                names a default topic.
        """
        if self.files and self.contract.codec != "text":
            raise ValueError(f"{self.name}: lines of files have no envelope, which {self.contract.codec} needs")
        if self.several and self.contract.topic is not None:
            raise ValueError(f"{self.name}: several topics have no default; give a contract without one")

    @property
    def topic(self) -> str | None:
        """The topic to read if the configuration names none; None if the configuration must name it."""
        return self.contract.topic

    @property
    def topic_key(self) -> str:
        """The configuration key that names the topic, or the topics if `several` is set."""
        return f"{self.name}_topics" if self.several else f"{self.name}_topic"

    @property
    def keys(self) -> dict[str, Check]:
        """Return {configuration key: function that checks its value} for this source."""
        keys: dict[str, Check] = {
            self.topic_key: checks.topic_names if self.several else checks.topic_name,
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
        """Return the configuration keys of this source that must be set."""
        return () if self.contract.topic else (self.topic_key,)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield a problem for each set of keys that exclude each other in the configuration `data`.

        A problem is a line such as `group: the input is a directory, which has none; remove it`.
        """
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
        """Return the names of the topics that the configuration `data` lets this source read.

        The list is empty if `data` names a directory, or if neither `data` nor the contract names a topic.
        """
        if f"{self.name}_directory" in data:
            return []
        topics = data.get(self.topic_key, self.contract.topic)
        return [str(name) for name in (topics if isinstance(topics, list) else [topics]) if name is not None]

    def topics_of(self, data: Data) -> list[str]:
        """Return the names of the topics that this source needs: those it reads, and the dead-letter topic.

        The list is empty if the configuration `data` names a directory, or if no topic is named.
        """
        topics = self.read_of(data)
        return [*topics, *filter(None, [self.dead_letters_of(data)])] if topics else []

    def bind(self, data: Data, client: Mapping[str, str]) -> Input:
        """Return the topics or the directory to read, with start and limits, from the checked configuration `data`.

        `client` has the properties of Kafka's Java client, which are the same for all topics.
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
        """Return the name of the dead-letter topic: it receives records that do not fit the contract.

        Return None if the contract has no dead letters because it accepts every record (its codec is bytes or text).
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
        """Return {configuration key: function that checks its value} for this source."""
        return {"max_files_per_trigger": checks.at_least(1), f"{self.name}_directory": checks.input_directory}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys of this source that must be set."""
        return (f"{self.name}_directory",)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield nothing: no configuration key of this source excludes another key."""
        return iter(())

    def topics_of(self, data: Data) -> list[str]:
        """Return an empty list: a directory needs no topic."""
        return []

    def bind(self, data: Data, client: Mapping[str, str]) -> Input:
        """Return the directory to read, with the limit of files in a batch, from the checked configuration `data`.

        `client` is not used.
        """
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
        """Return {configuration key: function that checks its value} for this output."""
        files: dict[str, Check] = {f"{self.name}_directory": checks.absolute_path} if self.files else {}
        return {f"{self.name}_topic": checks.topic_name, **files}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys of this output that must be set."""
        return () if self.contract.topic else (f"{self.name}_topic",)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield a problem if the configuration `data` names a topic and a directory for this output.

        The problem is a line `KEY: what is wrong; what to do`.
        """
        yield from _either(self.name, data)

    def topics_of(self, data: Data) -> list[str]:
        """Return a list with the name of the topic to write.

        The list is empty if the configuration `data` names a directory, or if neither `data` nor the contract names a
        topic.
        """
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

    The rows must have the columns `topic`, `partition` and `offset` of their records. `folders` are the columns by
    which the files are divided into folders: each value of such a column has its own folder.
    """

    folders: tuple[str, ...]
    name: str = "output"
    contract: None = None
    topic: None = None

    @property
    def keys(self) -> dict[str, Check]:
        """Return {configuration key: function that checks its value} for this output."""
        return {f"{self.name}_directory": checks.absolute_path}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys of this output that must be set."""
        return (f"{self.name}_directory",)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield nothing: no configuration key of this output excludes another key."""
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

    A new row replaces the stored row whose `key` columns have the same values. `merge` is {column: SQL expression for
    the column's value in that case}; in the SQL, `excluded` is the new row and `held` the stored row. A column that is
    not in `merge` takes the value of the new row.
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
        """Return {configuration key: function that checks its value} for this output."""
        return {"database": checks.database}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the configuration keys of this output that must be set."""
        return ("database",)

    def contradictions(self, data: Data) -> Iterator[str]:
        """Yield nothing: no configuration key of this output excludes another key."""
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
    """Return {name: value as text} for a JSON object `value`; return {} if `value` is no object.

    The texts have the form of a properties file: `true` for True, `10000000` for 1e7.
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
