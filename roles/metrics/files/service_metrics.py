"""Writes metrics of a host's services for the node exporter: whether they run, pending restarts, ends of certificates.

Usage: service_metrics.py CONFIGURATION FILE. CONFIGURATION is JSON, {"units": [name], "certificates": [path of a PEM
file]}. FILE is written for the collector `textfile`, as a whole or not at all. Run it as root: keys are in the files.
"""

import base64
import calendar
import json
import os
import re
import subprocess
import sys
import time

DIGEST = re.compile(r"\bCONFIG_DIGEST=(\w+)")
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
SEQUENCE, UTC_TIME, GENERALIZED_TIME, VERSION = 0x30, 0x17, 0x18, 0xA0
HELP = {
    "millrace_unit_active": "1 if a unit of this host's functions is active, else 0",
    "millrace_unit_restart_owed": "1 if the process of a unit was started with another configuration than its file has",
    "millrace_certificate_end_seconds": "Unix time at which the first certificate of a file ends",
    "millrace_certificate_unreadable": "1 if a file has no certificate that can be read, else 0",
}


def element(data, at):
    """Return (tag, first byte of the content, end) of the DER element at a byte. Raises IndexError if it is cut off."""
    tag, length, at = data[at], data[at + 1], at + 2
    if length >= 0x80:
        size = length - 0x80
        length = int.from_bytes(data[at : at + size], "big")
        at += size
    if at + length > len(data):
        raise IndexError("cut off")
    return tag, at, at + length


def end_of(data):
    """Return the Unix time at which a certificate in DER ends. Raises ValueError or IndexError for other data."""
    _, at, _ = element(data, 0)  # Certificate
    _, at, end = element(data, at)  # TBSCertificate: [version], serial, algorithm, issuer, validity, ...
    fields = []
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


def first_end(text):
    """Return the Unix time at which the first of the certificates of a PEM text ends. Raises ValueError without one."""
    found = [base64.b64decode(one) for one in CERTIFICATE.findall(text)]
    if not found:
        raise ValueError("no certificate")
    return min(map(end_of, found))


def properties(units):
    """Return {unit: {property: value}} of units, as systemd knows them."""
    names = ["Id", "ActiveState", "MainPID", "Environment"]
    command = ["systemctl", "show", "--property=" + ",".join(names), "--", *units]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    blocks = [dict(line.split("=", 1) for line in one.splitlines() if "=" in line) for one in done.stdout.split("\n\n")]
    return {unit: blocks[place] for place, unit in enumerate(units)}  # in the order asked for


def owed(found):
    """Return whether the process of a unit has another digest of its configuration than the unit's file."""
    wanted = DIGEST.search(found.get("Environment", ""))
    if not wanted or found.get("MainPID", "0") == "0":
        return False
    try:
        with open(f"/proc/{found['MainPID']}/environ", "rb") as stream:
            running = DIGEST.search(stream.read().decode(errors="replace"))
    except OSError:  # it has just ended
        return False
    return bool(running) and running.group(1) != wanted.group(1)


def values(configuration):
    """Yield (metric, label, value of the label, value) of each unit and each certificate."""
    for unit, found in properties(configuration["units"]).items() if configuration["units"] else []:
        yield "millrace_unit_active", "unit", unit, int(found.get("ActiveState") == "active")
        yield "millrace_unit_restart_owed", "unit", unit, int(owed(found))
    for path in configuration["certificates"]:
        try:
            with open(path) as stream:
                end = first_end(stream.read())
        except (OSError, ValueError, IndexError):
            end = None
        yield "millrace_certificate_unreadable", "path", path, int(end is None)
        if end is not None:
            yield "millrace_certificate_end_seconds", "path", path, end


def text_of(found):
    """Return metrics in Prometheus's text format."""
    lines = []
    for metric in HELP:
        lines += [f"# HELP {metric} {HELP[metric]}", f"# TYPE {metric} gauge"]
        for name, label, value, number in found:
            if name == metric:
                escaped = value.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'{name}{{{label}="{escaped}"}} {number}')
    return "\n".join(lines) + "\n"


def main():
    """Write the file."""
    with open(sys.argv[1]) as stream:
        configuration = json.load(stream)
    beside = sys.argv[2] + ".new"
    with open(beside, "w") as stream:
        stream.write(text_of(list(values(configuration))))
    os.chmod(beside, 0o644)
    os.replace(beside, sys.argv[2])


if __name__ == "__main__":
    main()
