"""The section of the health page about Spark jobs: where each runs, its state, its last batch, and its lag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.health.kafka import Section, readable_size, table

HEADLINE = ("host", "job", "runs on", "state", "batch", "age", "rows/s", "lag", "lag s", "watermark", "state size")


def spark_jobs(hosts: Mapping[str, Any], probes: Mapping[str, Any]) -> Section:
    """Return (lines of the section on Spark jobs, problems), from what `millrace-jobs status` printed on each host.

    Problems are jobs that wait, write no status or make no progress. The section on units reports jobs that do not run.
    `hosts` is {host: its declared facts}. `probes` is {host: result of the module host_probe}.
    """
    problems = [
        f"the status of the jobs on {host} is not known: {error}"
        for host in hosts
        if (error := probes.get(host, {}).get("jobs_error"))
    ]
    problems += [
        f"job {job['job']} on {host}: {job['problem']}; see `journalctl -u spark-job@{job['job']}` on that host"
        for host, job in listed(hosts, probes)
        if job["problem"] and job["unit"] == "active"
    ]
    found = list(rows(hosts, probes))
    return (["Spark jobs", *table(HEADLINE, found)] if found else [], problems)


def listed(hosts: Iterable[str], probes: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (host, facts of a job) for each job that a host has."""
    yield from ((host, job) for host in hosts for job in probes.get(host, {}).get("jobs") or ())


def rows(hosts: Iterable[str], probes: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of HEADLINE for each query of each job; a job without queries has one row."""
    for host, job in listed(hosts, probes):
        for query in job["queries"] or [{}]:
            cells = [query.get(name) for name in ("batch", "batch_age", "rows_per_second", "lag_records")]
            cells += [query.get(name) for name in ("lag_seconds", "watermark")]
            size = query.get("state_bytes")
            name = job["job"] if len(job["queries"]) < 2 else f"{job['job']} {query['query']}"
            size_text = "-" if size is None else readable_size(size)
            yield (host, name, job["runs_on"], job["state"], *map(_text, cells), size_text)


def _text(value: Any) -> str:
    return "-" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
