"""A rule on what jobs hand to one another: no record comes back to where it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.base import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.host_types import Job, SparkNode
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.job_ends import RELAY
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.jobs import (
    READ_BACK,
    active,
    dead_letters,
    end,
    reads,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

Place = tuple[str, str]
"""Where records are: a cluster or a host, and the topic or directory there."""


@dataclass(frozen=True)
class Way:
    """A job that takes records from one place to another."""

    source: Place
    sink: Place
    job: str
    kind: str
    node: str
    dead: bool
    """Whether it takes those alone that do not fit."""


def loops(model: Model) -> Iterator[Problem]:
    """Several jobs do not hand records round: they would breed without end. Of one alone the job itself says it."""
    ours = {listener.advertised for broker in model.brokers for listener in broker.listeners}
    ways = [way for node in model.spark_nodes for job in active(node) for way in _ways(node, job, ours)]
    said: set[frozenset[str]] = set()
    for last in sorted(reversed(ways), key=lambda one: one.kind != RELAY):  # it, or who was added last, closes it
        way = _back(last, ways)
        jobs = frozenset(one.job for one in way)
        if len(jobs) < 2 or jobs in said or any(jobs >= other for other in said):
            continue
        said.add(jobs)
        told = "; ".join(f"{one.job} ({one.node}) hands {one.source[1]} on to {one.sink[1]}" for one in way[1:])
        what = "records that do not fit" if any(one.dead for one in way) else "records"
        wrong = f"what it reads from {last.source[1]} comes back there, for {told}: {what} would go round without end"
        advice = "write to where none of these jobs reads, or stop one of them"
        hosts = tuple(dict.fromkeys(one.node for one in ways if (one.job, one.sink) == (last.job, last.sink)))
        place = f"spark_job_jobs[{last.job}]"
        warning = any(one.dead for one in way)
        yield Problem(hosts, place, "JOB_LOOP", last.sink[1], wrong, advice, warning)


def _ways(node: SparkNode, job: Job, ours: set[str]) -> Iterator[Way]:
    if job.kind in READ_BACK:
        return
    servers = {entry.strip() for entry in str(job.kafka.get("bootstrap.servers")).split(",")}
    cluster = "" if servers & ours else ",".join(sorted(servers))
    source, sink = end(job, "input"), end(job, "output")
    sources = [(cluster, topic) for topic in reads(job)]
    sources += [(node.name, source[1])] if source and source[0] == "directory" else []
    sinks = [((node.name if sink[0] == "directory" else cluster, sink[1]), False)] if sink else []
    for one in sources:
        for other, unfit in [*sinks, *(((cluster, topic), True) for topic in dead_letters(job))]:
            if one != other:
                yield Way(one, other, job.name, job.kind, node.name, unfit)


def _back(first: Way, ways: list[Way]) -> list[Way]:
    """Return the shortest way on which records come back to where a job took them, with it before all others."""
    known, found = {first.sink}, [[first]]
    for path in found:  # which grows: all of one length before those that are longer
        for way in ways:
            if way.source == path[-1].sink:
                if way.sink == first.source:
                    return [*path, way]
                if way.sink not in known:
                    known.add(way.sink)
                    found.append([*path, way])
    return []
