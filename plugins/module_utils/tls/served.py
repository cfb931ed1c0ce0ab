"""Reads which certificate a port serves and which CAs it accepts, by a TLS handshake that sends no data."""

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
    """The answer of one port: its certificate's serial number (hexadecimal) and end of validity (UTC).

    `authorities` are the subjects of the CAs that the port accepts, [] if the port requests no client certificate.
    """

    serial: str = ""
    until: str = ""
    authorities: list[str] = field(default_factory=list)
    error: str = ""


def handshake(address: str, port: int, tls: Mapping[str, str], timeout: float = 5.0) -> Served:
    """Connect to the port and return the certificate that it serves; if this fails, the result has `error` set.

    `tls` has the paths of the PEM files `ca` and `certificate`. The certificate of the port is verified as by any
    client, including its names. `timeout` is in seconds.
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
    """Return the sorted subjects of the CAs whose client certificates the port accepts, as texts of RFC 4514.

    These are read with openssl, since Python's ssl does not report them. Return [] if the port names no CA or does not
    answer. Raises ImportError if cryptography is not installed.
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
    """Return what each endpoint {address, port, trusted} serves; all endpoints are read in parallel.

    The CAs that an endpoint accepts are read only if its `trusted` is not empty.
    """

    def ask(endpoint: Mapping[str, Any]) -> Served:
        served = handshake(endpoint["address"], int(endpoint["port"]), tls)
        if served.error or not endpoint.get("trusted"):
            return served
        return Served(served.serial, served.until, accepted(endpoint["address"], int(endpoint["port"]), tls))

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(ask, endpoints))


def differs(endpoint: Mapping[str, Any], served: Served) -> str:
    """Return how the port's certificate or CAs differ from the files on its host, '' if they do not.

    The endpoint has the facts of these files: `serial` of the certificate, and `trusted`, the subjects of the CAs.
    """
    if served.error:
        return served.error
    if served.serial != endpoint["serial"]:
        return f"serves the certificate {served.serial}, on its disk is {endpoint['serial']}"
    if endpoint.get("trusted") and served.authorities != sorted(endpoint["trusted"]):
        on_disk = ", ".join(sorted(endpoint["trusted"]))
        return f"trusts {', '.join(served.authorities) or 'no CA'}, on its disk is {on_disk}"
    return ""


def wait(endpoints: Sequence[Mapping[str, Any]], tls: Mapping[str, str], timeout: float) -> list[str]:
    """Wait until each port serves the certificate and CAs in its host's files; return the differences that are left.

    An endpoint is {host, address, port, serial, trusted}. The wait takes at most `timeout` seconds.
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
