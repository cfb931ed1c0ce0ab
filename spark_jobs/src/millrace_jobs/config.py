"""The configuration of a job: one JSON object, checked as a whole before anything starts.

Standard library only: a preflight on a host without PySpark imports this module straight out of the wheel.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from millrace_jobs import checks
from millrace_jobs.errors import ConfigError

Check = Callable[[str, object], Iterator[str]]

# Without an interval an idle query asks again and again, and burns a good part of a core.
TRIGGER_INTERVAL = "1 second"
# What one batch may take: a stop waits for its end, so the first one after a day of downtime has to be
# short as well.
MAX_OFFSETS_PER_TRIGGER = 200_000
MAX_FILES_PER_TRIGGER = 100


@dataclass(frozen=True)
class Topic:
    """A Kafka topic, and the client properties (Kafka's own names) that reach it."""

    name: str
    client: Mapping[str, str]


@dataclass(frozen=True)
class Directory:
    """A directory of files in place of a topic, so that a job runs without Kafka."""

    path: str


@dataclass(frozen=True)
class Config:
    """What a job needs to run. Paths are absolute; `None` leaves the choice to Spark."""

    job: str
    source: Topic | Directory
    sink: Topic | Directory
    checkpoint: str
    jars_directory: str | None
    spark: Mapping[str, str]
    trigger_interval: str
    max_offsets_per_trigger: int
    max_files_per_trigger: int
    topic_wait_seconds: int
    shuffle_partitions: int | None

    @property
    def topics(self) -> list[Topic]:
        """The topics that must exist before the query starts."""
        return [end for end in (self.source, self.sink) if isinstance(end, Topic)]


@dataclass(frozen=True)
class Job:
    """One entry of the registry: what the job does, the keys it takes, where it reads and writes by default.

    `input_topic` is None for a job that reads files only.
    """

    summary: str
    keys: Mapping[str, Check]
    required: tuple[str, ...]
    input_topic: str | None
    output_topic: str


_COMMON: dict[str, Check] = {
    "checkpoint": checks.absolute_path,
    "kafka": checks.kafka_properties,
    "jars_directory": checks.absolute_path,
    "spark": checks.spark_properties,
    "trigger_interval": checks.interval,
    "max_files_per_trigger": checks.at_least(1),
    "topic_wait_seconds": checks.at_least(0),
    "input_directory": checks.input_directory,
    "output_topic": checks.topic_name,
    "output_directory": checks.absolute_path,
}

# The registry: `millrace-jobs NAME` runs `millrace_jobs.jobs.NAME.run`.
JOBS: dict[str, Job] = {
    "publish_lines": Job(
        summary="send the lines of new files in a directory to a topic",
        keys=_COMMON,
        required=("checkpoint", "input_directory"),
        input_topic=None,
        output_topic="streams-plaintext-input",
    ),
    "count_words": Job(
        summary="send running counts of a topic's words to another topic",
        keys={
            **_COMMON,
            "input_topic": checks.topic_name,
            "max_offsets_per_trigger": checks.at_least(1, 2**63 - 1),
            "shuffle_partitions": checks.at_least(1),
        },
        required=("checkpoint",),
        input_topic="streams-plaintext-input",
        output_topic="streams-wordcount-output",
    ),
}


def problems(job: str, data: Mapping[str, object]) -> list[str]:
    """Everything that is wrong with `data` as the configuration of `job`.

    Each line reads `KEY: what is wrong; what to do`. An empty list means that `parse` accepts it.
    """
    if job not in JOBS:
        return [f"job: {_unknown(job, JOBS)}"]
    spec = JOBS[job]
    found = [f"{key}: {_unknown(key, spec.keys)}" for key in data if key not in spec.keys]
    found += [f"{key}: is missing; add it" for key in spec.required if key not in data]
    for key, check in spec.keys.items():
        if key in data:
            found += check(key, data[key])
    return found + list(_contradictions(spec, data))


def parse(job: str, data: Mapping[str, object]) -> Config:
    """Turn `data` into the configuration of `job`.

    Raises:
        ConfigError: with all of `problems(job, data)`.
    """
    found = problems(job, data)
    if found:
        raise ConfigError(found)
    spec = JOBS[job]
    return Config(
        job=job,
        source=_end(data, "input", spec.input_topic),
        sink=_end(data, "output", spec.output_topic),
        checkpoint=str(data["checkpoint"]),
        jars_directory=_text(data, "jars_directory"),
        spark=_properties(data.get("spark")),
        trigger_interval=_text(data, "trigger_interval") or TRIGGER_INTERVAL,
        max_offsets_per_trigger=_number(data, "max_offsets_per_trigger", MAX_OFFSETS_PER_TRIGGER),
        max_files_per_trigger=_number(data, "max_files_per_trigger", MAX_FILES_PER_TRIGGER),
        topic_wait_seconds=_number(data, "topic_wait_seconds", 300),
        shuffle_partitions=_number(data, "shuffle_partitions", 0) or None,
    )


def load(job: str, file: Path) -> Config:
    """Read the configuration of `job` from a JSON file.

    Raises:
        ConfigError: each problem as `FILE: KEY: what is wrong; what to do`.
    """
    repeated: list[str] = []

    def remember_repeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        repeated.extend(sorted({name for name in names if names.count(name) > 1}))
        return dict(pairs)

    try:
        data = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=remember_repeated)
    except OSError as error:
        raise ConfigError([f"{file}: cannot be read ({error.strerror}); give a readable file"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{file}: is not UTF-8 text; save it as UTF-8"]) from None
    except json.JSONDecodeError as error:
        raise ConfigError([f"{file}: line {error.lineno}: is not JSON ({error.msg}); correct it"]) from None
    if not isinstance(data, dict):
        raise ConfigError([f"{file}: holds {checks.kind(data)}; write one JSON object"])
    found = [f"{name}: is given more than once; keep one" for name in repeated] + problems(job, data)
    if found:
        raise ConfigError([f"{file}: {problem}" for problem in found])
    return parse(job, data)


def _unknown(name: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else "remove it"
    return f"is unknown; {hint} (known: {', '.join(sorted(known))})"


def _contradictions(spec: Job, data: Mapping[str, object]) -> Iterator[str]:
    sides = ("output",) if spec.input_topic is None else ("input", "output")
    for side in sides:
        if f"{side}_topic" in data and f"{side}_directory" in data:
            yield f"{side}_directory: {side}_topic is given as well; keep one of the two"
    if any(f"{side}_directory" not in data for side in sides):
        kafka = data.get("kafka", {})
        if "kafka" not in data:
            yield "kafka: is missing, and a topic is used; add it with bootstrap.servers"
        elif isinstance(kafka, dict) and "bootstrap.servers" not in kafka:
            yield "kafka.bootstrap.servers: is missing, and a topic is used; write host:port,host:port"
    if spec.input_topic is not None:
        idle, used, end = (
            ("offsets", "files", "directory") if "input_directory" in data else ("files", "offsets", "topic")
        )
        if f"max_{idle}_per_trigger" in data:
            yield f"max_{idle}_per_trigger: the input is a {end}; use max_{used}_per_trigger"
    ends = [data.get(f"{side}_directory", data.get(f"{side}_topic")) for side in ("input", "output")]
    if ends[0] is not None and ends[0] == ends[1]:
        yield "output: is the same as the input, so the job would feed itself; give another"


def _end(data: Mapping[str, object], side: str, default: str | None) -> Topic | Directory:
    directory = _text(data, f"{side}_directory")
    if directory is not None:
        return Directory(directory)
    return Topic(_text(data, f"{side}_topic") or str(default), _properties(data.get("kafka")))


def _text(data: Mapping[str, object], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _number(data: Mapping[str, object], key: str, default: int) -> int:
    value = data.get(key)
    return value if isinstance(value, int) else default


def _properties(value: object) -> dict[str, str]:
    """Values as a properties file spells them: true, not True."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {name: str(item).lower() if isinstance(item, bool) else str(item) for name, item in pairs}
