"""Reads by a handshake which certificate a port serves, and which CAs it accepts; sends nothing else."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.tls.client import tls_context

# RFC 4514 with numbers for all attributes, which names.name can parse, whatever names this openssl has for them.
NAMES = "oid,sep_comma_plus,dn_rev,utf8,esc_2253,esc_ctrl,esc_msb"


@dataclass(frozen=True)
class Served:
    """The answer of one port: hexadecimal serial, last second of validity, subjects of the CAs that it accepts.

    `authorities` is empty if the port requests no certificate.
    """

    serial: str = ""
    until: str = ""
    authorities: list[str] = field(default_factory=list)
    error: str = ""


def handshake(address: str, port: int, tls: Mapping[str, str], timeout: float = 5.0) -> Served:
    """Return the certificate that a port serves, or `error`.

    The certificate is verified as by a client, including its names.
    """
    try:
        with (
            socket.create_connection((address, port), timeout=timeout) as plain,
            tls_context(tls).wrap_socket(plain, server_hostname=address) as connection,
        ):
            certificate: Any = connection.getpeercert()
    except ssl.SSLCertVerificationError as error:
        return Served(error=f"certificate rejected: {error.verify_message}")
    except OSError as error:
        return Served(error=str(error))
    until = datetime.fromtimestamp(ssl.cert_time_to_seconds(certificate["notAfter"]), UTC)
    return Served(f"{int(certificate['serialNumber'], 16):x}", until.strftime("%Y-%m-%dT%H:%M:%SZ"))


def accepted(address: str, port: int, tls: Mapping[str, str], timeout: float = 5.0) -> list[str]:
    """Return the subjects of the CAs that a port names when it requests a certificate, in the form of names.text.

    Uses openssl, since Python's ssl does not report them. Raises ImportError without cryptography.
    """
    from ansible_collections.millrace.kafka.plugins.module_utils.tls import names

    command = ["openssl", "s_client", "-connect", f"[{address}]:{port}" if ":" in address else f"{address}:{port}"]
    command += ["-CAfile", tls["ca"], "-cert", tls["certificate"], "-key", tls["certificate"], "-nameopt", NAMES]
    try:
        text = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, errors="replace"
        ).stdout
    except subprocess.TimeoutExpired:
        return []
    found = re.search(
        r"^Acceptable client certificate CA names\n(.*?)^(?:Client Certificate Types|Requested Signature)",
        text,
        re.MULTILINE | re.DOTALL,
    )

    def written(line: str) -> str:
        try:
            return names.text(names.name(line))
        except ValueError:  # a name that X.520 forbids, as a common name of more than 64 bytes
            return line

    return sorted(written(line) for line in found.group(1).splitlines()) if found else []


def observe(endpoints: Iterable[Mapping[str, Any]], tls: Mapping[str, str]) -> list[Served]:
    """Read all endpoints {address, port, trusted} in parallel; CAs are read only if `trusted` is not empty."""

    def ask(endpoint: Mapping[str, Any]) -> Served:
        served = handshake(endpoint["address"], int(endpoint["port"]), tls)
        if served.error or not endpoint.get("trusted"):
            return served
        return Served(served.serial, served.until, accepted(endpoint["address"], int(endpoint["port"]), tls))

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(ask, endpoints))


def differs(endpoint: Mapping[str, Any], served: Served) -> str:
    """Return how an endpoint differs from the files on its disk {serial, trusted}, '' if it does not."""
    if served.error:
        return served.error
    if served.serial != endpoint["serial"]:
        return f"serves the certificate {served.serial}, on its disk is {endpoint['serial']}"
    if endpoint.get("trusted") and served.authorities != sorted(endpoint["trusted"]):
        on_disk = ", ".join(sorted(endpoint["trusted"]))
        return f"trusts {', '.join(served.authorities) or 'no CA'}, on its disk is {on_disk}"
    return ""


def wait(endpoints: Sequence[Mapping[str, Any]], tls: Mapping[str, str], timeout: float) -> list[str]:
    """Wait until all endpoints match the files on their disks, at most `timeout` seconds; return the differences.

    An endpoint is {host, address, port, serial, trusted}.
    """
    deadline, tick = time.monotonic() + timeout, threading.Event()
    while True:
        found = [
            (endpoint, differs(endpoint, served))
            for endpoint, served in zip(endpoints, observe(endpoints, tls), strict=True)
        ]
        left = [
            f"{endpoint['host']} ({endpoint['address']}:{endpoint['port']}) {text}" for endpoint, text in found if text
        ]
        if not left or time.monotonic() >= deadline:
            return left
        tick.wait(0.5)
