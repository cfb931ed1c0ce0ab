"""Declares what a job consists of: parameters, inputs, outputs and one function.

This module imports only the standard library.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import Any

from millrace_jobs import checks
from millrace_jobs.ends import REAL_TIME
from millrace_jobs.parts import Check, Sink, Source

_ALL_JOBS: dict[str, Check] = {
    "kafka": checks.kafka_properties,
    "jars_directory": checks.absolute_path,  # the role sets it for each job
    "topic_wait_seconds": checks.at_least(0),
}
_STREAMING_JOBS: dict[str, Check] = {
    "checkpoint": checks.absolute_path,
    "spark": checks.spark_properties,
    "trigger_interval": checks.interval,
}


def parameter(check: Check, **given: Any) -> Any:
    """Return a dataclass field for a parameter of a job; `check` checks its value in the configuration.

    `given` are further arguments of `dataclasses.field`. Without `default` the configuration must set the parameter.
    """
    return field(metadata={"check": check}, **given)


@dataclass(frozen=True)
class NoParameters:
    """The class of parameters for a job without parameters."""


@dataclass(frozen=True)
class Job:
    """A job. Each module of `millrace_jobs.jobs` defines one, under the name JOB.

    `transform(parameters, **inputs)` takes a DataFrame for each input, as the keyword argument with the input's name.
    It returns {output name: DataFrame}, or a DataFrame if the job has one output, and has no other effect. A job
    without Spark has `loop(parameters, outputs, stopping)` instead, which returns once `stopping` is set. `reads` has
    the names of those parameters that name topics which `loop` reads; one without a value means the topics of
    the outputs.
    """

    summary: str
    outputs: tuple[Sink, ...]
    inputs: tuple[Source, ...] = ()
    transform: Callable[..., Any] | None = None
    loop: Callable[..., None] | None = None
    parameters: Any = NoParameters
    reads: tuple[str, ...] = ()
    real_time: bool = False  # from topic to topic without state: it has the key trigger
    shuffles: bool = False  # its state is spread over tasks: it has the key shuffle_partitions

    def __post_init__(self) -> None:
        """Check that a real-time job has no dead letters.

        Dead letters need a second branch of the query, which Spark rejects for real-time queries.

        Raises:
            ValueError: `real_time` is set, and the contract of an input has dead letters.
        """
        if self.real_time and any(part.contract and part.contract.dead_letters for part in self.inputs):
            raise ValueError(f"{self.summary}: real_time is for contracts of bytes or text")

    @cached_property
    def keys(self) -> dict[str, Check]:
        """Return {configuration key: function that checks its value} for all keys that the job accepts."""
        checks_by_key = {**_ALL_JOBS, **({} if self.loop else _STREAMING_JOBS)}
        for part in (*self.inputs, *self.outputs):
            checks_by_key |= part.keys
        if self.shuffles:
            checks_by_key["shuffle_partitions"] = checks.at_least(1)
        if self.real_time:
            checks_by_key["trigger"] = checks.one_of("micro-batch", REAL_TIME)
        return checks_by_key | {item.name: item.metadata["check"] for item in fields(self.parameters)}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Return the names of the configuration keys that must be set for this job."""
        parameter_names = [item.name for item in fields(self.parameters) if item.default is MISSING]
        part_keys = [key for part in (*self.inputs, *self.outputs) for key in part.required]
        return tuple(dict.fromkeys([*([] if self.loop else ["checkpoint"]), *part_keys, *parameter_names]))

    def parameters_of(self, data: Mapping[str, object]) -> Any:
        """Return an object of the job's class `parameters` with the values in the checked configuration `data`."""
        return self.parameters(**{item.name: data[item.name] for item in fields(self.parameters) if item.name in data})


def discover_jobs() -> dict[str, Job]:
    """Return {job name: Job} from the constant JOB of each module of `millrace_jobs.jobs`.

    To add a job, add a module to that package; there is no list of jobs to change.
    """
    package = importlib.import_module("millrace_jobs.jobs")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return {name: importlib.import_module(f"millrace_jobs.jobs.{name}").JOB for name in names}
