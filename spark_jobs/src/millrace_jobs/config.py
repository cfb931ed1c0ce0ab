"""Reads the configuration of a job, one JSON object, and checks all of it before anything starts.

This module needs no PySpark: the preflight of the Ansible collection imports it from the wheel on a host without Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import Any

from millrace_jobs import checks
from millrace_jobs.ends import REAL_TIME, Database, Directory, Input, Topic
from millrace_jobs.errors import ConfigError
from millrace_jobs.job import Job, discover_jobs
from millrace_jobs.parts import KafkaSource, number, properties

# Without an interval an idle query polls continuously, which costs a good part of a core.
TRIGGER_INTERVAL = "1 second"
# With the real-time trigger: how often progress is stored. Spark accepts no shorter interval.
CHECKPOINT_INTERVAL = "5 seconds"
_SECONDS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600}
_FEEDS_ITSELF = "so the job would feed itself; give another"
JOBS: dict[str, Job] = discover_jobs()


@dataclass(frozen=True)
class Config:
    """The checked configuration of a job. Paths are absolute. None means that the configuration sets no value."""

    job: str
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Topic | Directory | Database]
    kafka: Mapping[str, str]
    checkpoint: str
    jars_directory: str | None
    spark: Mapping[str, str]
    trigger_interval: str
    real_time: bool
    topic_wait_seconds: int
    shuffle_partitions: int | None
    group: str | None
    parameters: Any

    @property
    def trigger_seconds(self) -> float:
        """How often a batch begins, in seconds; 0 for a job without queries."""
        count, unit = self.trigger_interval.split()
        return 0.0 if JOBS[self.job].loop else int(count) * _SECONDS[unit.rstrip("s")]

    @property
    def topics(self) -> list[Topic]:
        """All topics that must exist before the job starts.

        They are the topics of inputs, outputs and dead letters, and the topics that parameters name.
        """
        ends = [end for source in self.inputs.values() for end in (*source.topics, source.dead_letters)]
        names = [getattr(self.parameters, name) for name in JOBS[self.job].reads]
        parameter_topics = [Topic(name, self.kafka) for name in names if name]
        return [end for end in (*ends, *self.outputs.values(), *parameter_topics) if isinstance(end, Topic)]


def problems(job: str, data: Mapping[str, object]) -> list[str]:
    """Return all problems of `data`, a parsed JSON object, as the configuration of the job with the name `job`.

    Each problem is a line `KEY: what is wrong; what to do`. If the list is empty, `parse` accepts `data`.
    """
    if job not in JOBS:
        return [f"job: {_unknown(job, JOBS)}"]
    spec = JOBS[job]
    lines = [f"{key}: {_unknown(key, spec.keys)}" for key in data if key not in spec.keys]
    lines += [f"{key}: is missing; add it" for key in spec.required if key not in data]
    for key, check in spec.keys.items():
        if key in data:
            lines += check(key, data[key])
    return lines + list(_contradictions(spec, data))


def parse(job: str, data: Mapping[str, object]) -> Config:
    """Return the Config for `data`, a parsed JSON object, and the job with the name `job`.

    Raises:
        ConfigError: `data` has problems; the error contains all of them.
    """
    lines = problems(job, data)
    if lines:
        raise ConfigError(lines)
    spec = JOBS[job]
    kafka = properties(data.get("kafka"))
    real_time = data.get("trigger") == REAL_TIME
    return Config(
        job=job,
        inputs={part.name: part.bind(data, kafka) for part in spec.inputs},
        outputs={part.name: part.bind(data, kafka) for part in spec.outputs},
        kafka=kafka,
        checkpoint=_text(data, "checkpoint") or "",
        jars_directory=_text(data, "jars_directory"),
        spark=properties(data.get("spark")),
        trigger_interval=_text(data, "trigger_interval") or (CHECKPOINT_INTERVAL if real_time else TRIGGER_INTERVAL),
        real_time=real_time,
        topic_wait_seconds=number(data, "topic_wait_seconds", 300),
        shuffle_partitions=number(data, "shuffle_partitions", 0) or None,
        group=_text(data, "group"),
        parameters=spec.parameters_of(data),
    )


def load(job: str, file: Path) -> Config:
    """Return the Config that a JSON file contains for the job with the name `job`.

    Raises:
        ConfigError: the file cannot be read or has problems; the error has a line `FILE: KEY: what is wrong; what to
            do` for each problem.
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
    except RecursionError:
        raise ConfigError([f"{file}: is nested too deeply to be read; write one JSON object"]) from None
    except ValueError:  # https://docs.python.org/3/library/stdtypes.html#int-max-str-digits
        raise ConfigError([f"{file}: contains a number with too many digits; give a smaller one"]) from None
    if not isinstance(data, dict):
        raise ConfigError([f"{file}: contains {checks.kind(data)}; write one JSON object"])
    lines = [f"{name}: is set more than once; keep one" for name in repeated] + problems(job, data)
    if lines:
        raise ConfigError([f"{file}: {problem}" for problem in lines])
    return parse(job, data)


def _unknown(name: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else "remove it"
    return f"is unknown; {hint} (known: {', '.join(sorted(known))})"


def _contradictions(spec: Job, data: Mapping[str, object]) -> Iterator[str]:
    if data.get("trigger") == REAL_TIME:
        yield from _real_time_problems(data)
    parts = (*spec.inputs, *spec.outputs)
    for part in parts:
        yield from part.contradictions(data)
    if any(part.topics_of(data) for part in parts):
        kafka = data.get("kafka", {})
        if "kafka" not in data:
            yield "kafka: is missing, but a topic is used; add it with bootstrap.servers"
        elif isinstance(kafka, dict) and "bootstrap.servers" not in kafka:
            yield "kafka.bootstrap.servers: is missing, but a topic is used; write host:port,host:port"
        if isinstance(kafka, dict) and "group" in data and kafka.get("group.id") == data["group"]:
            yield "group: is the same as kafka.group.id, so Spark's readers would join it; remove kafka.group.id"
    yield from _shared_topics(spec, data)
    yield from _shared_folders(spec, data)


def _shared_topics(spec: Job, data: Mapping[str, object]) -> Iterator[str]:
    read: set[str] = set()
    dead: set[str | None] = set()
    for part in spec.inputs:
        if isinstance(part, KafkaSource):
            topics = {*part.read_of(data)}
            for name in sorted(topics & read):
                yield f"{part.name}: {name} is already an input, so its records would be read twice; name another topic"
            read |= topics
            dead.add(part.dead_letters_of(data))
    if not read.isdisjoint(dead):
        yield "dead_letter_topic: is the same as the input topic, so bad records would be read again; give another"
    for sink in spec.outputs:
        written = {*sink.topics_of(data)}
        if not read.isdisjoint(written):
            yield f"{sink.name}: is the same as the input, {_FEEDS_ITSELF}"
        for name in sorted(written.intersection(dead)):
            problem = f"{name} is the {sink.name} too, so bad records would be mixed with good ones"
            yield f"dead_letter_topic: {problem}; give another"


def _shared_folders(spec: Job, data: Mapping[str, object]) -> Iterator[str]:
    """Yield a problem for each pair of folders (inputs, outputs, checkpoint) that are the same or nested."""
    keys = {
        "checkpoint": "checkpoint",
        **{part.name: f"{part.name}_directory" for part in (*spec.inputs, *spec.outputs)},
    }
    paths = {
        name: checks.normalized_path(str(data[key]))
        for name, key in keys.items()
        if key in data and not list(checks.absolute_path(key, data[key]))
    }
    ends = [{part.name for part in parts} for parts in (spec.inputs, spec.outputs)]
    for (first, first_path), (second, second_path) in combinations(paths.items(), 2):
        feeds_itself = all(not names.isdisjoint({first, second}) for names in ends)
        advice = _FEEDS_ITSELF if feeds_itself else "so the files of both would be mixed; give another"
        if first_path == second_path:
            yield f"{second}: is the same as the {first}, {advice}"
        elif second_path.startswith(f"{first_path}/"):
            yield f"{second}: lies below the {first}, {advice}"
        elif first_path.startswith(f"{second_path}/"):
            yield f"{first}: lies below the {second}, {advice}"


def _real_time_problems(data: Mapping[str, object]) -> Iterator[str]:
    interval = data.get("trigger_interval")
    if isinstance(interval, str) and not list(checks.interval("", interval)):
        number, unit = interval.split()
        if int(number) * _SECONDS[unit.rstrip("s")] < 5:
            problem = "is how often real-time stores its progress, at least 5 seconds"
            yield f"trigger_interval: {problem}; give more, or remove the key"
    if "max_offsets_per_trigger" in data:
        yield "max_offsets_per_trigger: real-time has no batches to limit; remove it"


def _text(data: Mapping[str, object], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None
