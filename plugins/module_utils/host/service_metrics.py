"""Writes metrics of a host's services for the node exporter: units, pending restarts, certificates, Spark jobs.

The program of service-metrics.timer (roles/metrics). Its arguments are CONFIGURATION and FILE. CONFIGURATION is JSON,
{"units": [name], "certificates": [path of a PEM file], "jobs": directory with the status files of Spark jobs}. FILE is
written for the collector `textfile`, as a whole or not at all. It runs as root: keys are in the files.
"""

from __future__ import annotations

import base64
import calendar
import datetime
import glob
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.units import behind, shown

Sample = tuple[str, Mapping[str, str], float]
"""(metric, {label: its value}, value)."""
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
SEQUENCE, UTC_TIME, GENERALIZED_TIME, VERSION = 0x30, 0x17, 0x18, 0xA0
HELP = {
    "millrace_unit_active": "1 if a unit of this host's functions is active, else 0",
    "millrace_unit_restart_owed": "1 if the process of a unit was started with another configuration than its file has",
    "millrace_certificate_end_seconds": "Unix time at which the first certificate of a file ends",
    "millrace_certificate_unreadable": "1 if a file has no certificate that can be read, else 0",
    "millrace_job_progress_seconds": "Unix time at which a Spark job made progress last",
    "millrace_job_trigger_seconds": "How often a batch of a Spark job may begin",
    "millrace_job_waiting": "1 if a Spark job waits for brokers, topics, its database or cores, else 0",
    "millrace_job_batch_end_seconds": "Unix time at which the last batch of a query ended",
    "millrace_job_rows_per_second": "Rows per second of the last batch of a query",
    "millrace_job_lag_records": "Records of its topics that a query has not read",
    "millrace_job_late_rows": "Rows since the start that were too late for the watermark of a query",
    "millrace_job_state_bytes": "Size of the state of a query",
}
WAITING = "waiting for "
OF_QUERIES = {
    "millrace_job_rows_per_second": "rows_per_second",
    "millrace_job_lag_records": "lag_records",
    "millrace_job_late_rows": "late",
    "millrace_job_state_bytes": "state_bytes",
}
"""{metric: key of a query in the status file}; a value that does not apply to a query is null."""


def element(data: bytes, at: int) -> tuple[int, int, int]:
    """Return (tag, first byte of the content, end) of the DER element at a byte. Raises IndexError if it is cut off."""
    tag, length, at = data[at], data[at + 1], at + 2
    if length >= 0x80:
        size = length - 0x80
        length = int.from_bytes(data[at : at + size], "big")
        at += size
    if at + length > len(data):
        raise IndexError("cut off")
    return tag, at, at + length


def end_of(data: bytes) -> int:
    """Return the Unix time at which a certificate in DER ends. Raises ValueError or IndexError for other data."""
    _, at, _ = element(data, 0)  # Certificate
    _, at, end = element(data, at)  # TBSCertificate: [version], serial, algorithm, issuer, validity, ...
    fields = list[tuple[int, int]]()
    while at < end:
        tag, first, at = element(data, at)
        if tag != VERSION:
            fields.append((tag, first))
    tag, first = fields[3]
    if tag != SEQUENCE:
        raise ValueError("no validity")
    _, _, at = element(data, first)  # notBefore
    tag, first, last = element(data, at)
    if tag not in (UTC_TIME, GENERALIZED_TIME):
        raise ValueError("no time")
    text = data[first:last].decode("ascii")
    if tag == UTC_TIME:
        text = ("20" if int(text[:2]) < 50 else "19") + text  # RFC 5280, section 4.1.2.5.1
    return calendar.timegm(time.strptime(text, "%Y%m%d%H%M%SZ"))


def first_end(text: str) -> int:
    """Return the Unix time at which the first of the certificates of a PEM text ends. Raises ValueError without one."""
    found = [base64.b64decode(one) for one in CERTIFICATE.findall(text)]
    if not found:
        raise ValueError("no certificate")
    return min(map(end_of, found))


def samples(units: Sequence[str], certificates: Iterable[str]) -> Iterator[Sample]:
    """Yield the metrics of each unit and of each file of certificates."""
    states = [unit.get("ActiveState") for unit in shown("Id,ActiveState", units)] if units else []
    older = behind(units)["older"]
    for unit, state in zip(units, states, strict=True):
        yield "millrace_unit_active", {"unit": unit}, state == "active"
        yield "millrace_unit_restart_owed", {"unit": unit}, unit in older
    for path in certificates:
        end: int | None = None
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                end = first_end(stream.read())
        except (OSError, ValueError, IndexError):
            pass
        yield "millrace_certificate_unreadable", {"path": path}, end is None
        if end is not None:
            yield "millrace_certificate_end_seconds", {"path": path}, end


def job_samples(directory: str) -> Iterator[Sample]:
    """Yield the metrics of the running Spark jobs, whose status files are DIRECTORY/JOB/status.json.

    A file that cannot be read, or has no status, has no metrics; systemd removes the file of a job that stops.
    """
    for file in sorted(glob.glob(f"{glob.escape(directory)}/*/status.json")):
        name = os.path.basename(os.path.dirname(file))
        try:
            with open(file, encoding="utf-8") as stream:
                yield from list(of_job(name, json.load(stream)))
        except Exception:  # whatever a job wrote: the metrics of other services do not depend on it
            continue


def of_job(name: str, status: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the metrics of one job; raise an error for a status without its keys (millrace_jobs/status.py)."""
    yield "millrace_job_progress_seconds", {"spark_job": name}, unix_time(status["progress"])
    yield "millrace_job_trigger_seconds", {"spark_job": name}, float(status["trigger_seconds"])
    yield "millrace_job_waiting", {"spark_job": name}, status["state"].startswith(WAITING)
    for query in status["queries"]:
        labels = {"spark_job": name, "query": str(query["query"])}
        if query.get("ended"):
            yield "millrace_job_batch_end_seconds", labels, unix_time(query["ended"])
        for metric, key in OF_QUERIES.items():
            if query.get(key) is not None:
                yield metric, labels, float(query[key])


def unix_time(text: str) -> float:
    """Return the Unix time of an ISO 8601 time in UTC, such as 2026-01-31T12:00:00.000Z."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def text_of(found: Sequence[Sample]) -> str:
    """Return metrics in Prometheus's text format."""
    lines = list[str]()
    for metric, text in HELP.items():
        of_metric = [(labels, number) for name, labels, number in found if name == metric]
        if of_metric or not metric.startswith("millrace_job_"):
            lines += [f"# HELP {metric} {text}", f"# TYPE {metric} gauge"]
        for labels, number in of_metric:
            pairs = ",".join(f'{label}="{escaped(value)}"' for label, value in labels.items())
            lines.append(f"{metric}{{{pairs}}} {number_text(number)}")
    return "\n".join(lines) + "\n"


def escaped(value: str) -> str:
    """Return the value of a label as it is in quotes."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def number_text(number: float) -> str:
    """Return a number without a fraction if it is whole."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def main(arguments: Sequence[str]) -> int:
    """Write the metrics file `arguments[1]`, as the configuration file `arguments[0]` asks; return 0.

    Raises StateError if systemd does not answer, OSError or ValueError if a file cannot be read or written.
    """
    configuration, file = arguments
    with open(configuration, encoding="utf-8") as stream:
        wanted: Mapping[str, Any] = json.load(stream)
    beside = f"{file}.new"
    with open(beside, "w", encoding="utf-8", errors="replace") as stream:
        found = [*samples(wanted["units"], wanted["certificates"]), *job_samples(wanted["jobs"])]
        stream.write(text_of(found))
    os.chmod(beside, 0o644)
    os.replace(beside, file)
    return 0
