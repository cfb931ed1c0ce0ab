"""Lists the topics and directories that a job uses with a configuration, which may still have problems.

This module needs no PySpark: the preflight of the Ansible collection imports it from the wheel on a host without Spark,
and compares the topics with the declared topics and ACLs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields

from millrace_jobs import checks
from millrace_jobs.config import JOBS
from millrace_jobs.job import Job
from millrace_jobs.parts import FileSink, KafkaSink, KafkaSource

Named = dict[str, str]
"""{topic or directory: configuration key that sets it}"""


@dataclass(frozen=True)
class Uses:
    """The topics and directories of a job: those that its configuration names, and the job's default topics."""

    reads: Named
    writes: Named
    dead_letters: Named
    input_directories: Named
    output_directories: Named
    spark: bool
    """False for a job without Spark, which reads topics without a consumer group."""
    archive: bool
    """True if output directories store the job's progress by topic, so that jobs of other topics may share them."""
    state: bool
    """True if tasks of the job store state in its checkpoint."""


def uses(job: str, data: Mapping[str, object]) -> dict[str, object] | None:
    """Return the fields of Uses for the job with the name `job`; None if there is no such job.

    `data` is a parsed JSON object. Invalid names, which `config.problems` reports, are left out.
    """
    spec = JOBS.get(job)
    if spec is None:
        return None
    sources = [part for part in spec.inputs if isinstance(part, KafkaSource)]
    sinks = [part for part in spec.outputs if isinstance(part, KafkaSink)]
    reads = [(name, part.topic_key) for part in sources for name in part.read_of(data)]
    writes = [(name, f"{part.name}_topic") for part in sinks for name in part.topics_of(data)]
    dead = [(part.dead_letters_of(data), "dead_letter_topic") for part in sources if part.read_of(data)]
    return asdict(
        Uses(
            reads=_topics(data, [*reads, *_read_by_loop(spec, data, writes)]),
            writes=_topics(data, writes),
            dead_letters=_topics(data, dead),
            input_directories=_directories(data, [part.name for part in spec.inputs]),
            output_directories=_directories(data, [part.name for part in spec.outputs]),
            spark=spec.loop is None,
            archive=any(isinstance(part, FileSink) for part in spec.outputs),
            state=spec.shuffles,
        )
    )


def _read_by_loop(spec: Job, data: Mapping[str, object], writes: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the topics that the loop of a job without Spark reads, with the parameters that name them.

    A parameter without a value means the topics that the job writes.
    """
    defaults = {item.name: item.default for item in fields(spec.parameters) if item.default is not MISSING}
    for key in spec.reads:
        named = data.get(key, defaults.get(key))
        yield from [(str(named), key)] if named else writes


def _topics(data: Mapping[str, object], pairs: Iterable[tuple[str | None, str]]) -> Named:
    """Return {topic: key} of `pairs` in their order, without numbers and invalid names."""
    topics: Named = {}
    for name, key in pairs:
        given = data.get(key, name)  # a default is not in the configuration
        if name in (given if isinstance(given, list) else [given]) and not list(checks.topic_name(key, name)):
            topics.setdefault(str(name), key)
    return topics


def _directories(data: Mapping[str, object], names: list[str]) -> Named:
    """Return {directory: key} of the inputs or outputs with these names for which the configuration names one."""
    given = {key: data[key] for key in (f"{name}_directory" for name in names) if key in data}
    return {
        checks.normalized_path(str(path)): key
        for key, path in given.items()
        if not list(checks.absolute_path(key, path))
    }
