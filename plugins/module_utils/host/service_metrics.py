"""Writes metrics of a host's services for the node exporter: whether they run, pending restarts, ends of certificates.

The program of service-metrics.timer (roles/metrics). Its arguments are CONFIGURATION and FILE. CONFIGURATION is JSON,
{"units": [name], "certificates": [path of a PEM file]}. FILE is written for the collector `textfile`, as a whole or not
at all. It runs as root: keys are in the files.
"""

from __future__ import annotations

import base64
import calendar
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ansible_collections.millrace.kafka.plugins.module_utils.host.units import behind, shown

Sample = tuple[str, str, str, int]
"""(metric, label, value of the label, value)."""
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
SEQUENCE, UTC_TIME, GENERALIZED_TIME, VERSION = 0x30, 0x17, 0x18, 0xA0
HELP = {
    "millrace_unit_active": "1 if a unit of this host's functions is active, else 0",
    "millrace_unit_restart_owed": "1 if the process of a unit was started with another configuration than its file has",
    "millrace_certificate_end_seconds": "Unix time at which the first certificate of a file ends",
    "millrace_certificate_unreadable": "1 if a file has no certificate that can be read, else 0",
}


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
        yield "millrace_unit_active", "unit", unit, int(state == "active")
        yield "millrace_unit_restart_owed", "unit", unit, int(unit in older)
    for path in certificates:
        end: int | None = None
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                end = first_end(stream.read())
        except (OSError, ValueError, IndexError):
            pass
        yield "millrace_certificate_unreadable", "path", path, int(end is None)
        if end is not None:
            yield "millrace_certificate_end_seconds", "path", path, end


def text_of(found: Sequence[Sample]) -> str:
    """Return metrics in Prometheus's text format."""
    lines = list[str]()
    for metric, text in HELP.items():
        lines += [f"# HELP {metric} {text}", f"# TYPE {metric} gauge"]
        for name, label, value, number in found:
            if name == metric:
                escaped = value.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'{name}{{{label}="{escaped}"}} {number}')
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the metrics file `arguments[1]`, as the configuration file `arguments[0]` asks; return 0.

    Raises StateError if systemd does not answer, OSError or ValueError if a file cannot be read or written.
    """
    configuration, file = arguments
    with open(configuration, encoding="utf-8") as stream:
        wanted: Mapping[str, list[str]] = json.load(stream)
    beside = f"{file}.new"
    with open(beside, "w", encoding="utf-8") as stream:
        stream.write(text_of(list(samples(wanted["units"], wanted["certificates"]))))
    os.chmod(beside, 0o644)
    os.replace(beside, file)
    return 0
