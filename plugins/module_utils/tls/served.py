"""Which certificate a port serves and whose it accepts, asked by a handshake.

No Ansible import, nothing but the handshake is sent.
"""

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

# RFC 4514 with numbers for all attributes, which names.name knows whatever words this openssl has for them.
NAMES = "oid,sep_comma_plus,dn_rev,utf8,esc_2253,esc_ctrl,esc_msb"


@dataclass(frozen=True)
class Served:
    """The answer of one port: hexadecimal serial, last second of validity, subjects of the CAs that it accepts.

    There are none where it asks for no certificate.
    """

    serial: str = ""
    until: str = ""
    authorities: list[str] = field(default_factory=list)
    error: str = ""


def handshake(address: str, port: int, tls: Mapping[str, str], timeout: float = 5.0) -> Served:
    """Return what a port serves; `error` says why there is nothing.

    The certificate is verified as a client does, its names included.
    """
    try:
        with (
            socket.create_connection((address, port), timeout=timeout) as plain,
            tls_context(tls).wrap_socket(plain, server_hostname=address) as connection,
        ):
            found: Any = connection.getpeercert()
    except ssl.SSLCertVerificationError as error:
        return Served(error=f"certificate refused: {error.verify_message}")
    except OSError as error:
        return Served(error=str(error))
    until = datetime.fromtimestamp(ssl.cert_time_to_seconds(found["notAfter"]), UTC)
    return Served(f"{int(found['serialNumber'], 16):x}", until.strftime("%Y-%m-%dT%H:%M:%SZ"))


def accepted(address: str, port: int, tls: Mapping[str, str], timeout: float = 5.0) -> list[str]:
    """Return the subjects of the CAs that a port names when it asks for a certificate, as names.text has them.

    Python's ssl cannot tell.

    Raises ImportError where there is no cryptography.
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
        except ValueError:  # a common name of more than 64 bytes, and what else X.520 forbids
            return line

    return sorted(written(line) for line in found.group(1).splitlines()) if found else []


def observe(endpoints: Iterable[Mapping[str, Any]], tls: Mapping[str, str]) -> list[Served]:
    """Ask every endpoint {address, port, trusted} at once; CAs are asked for only where `trusted` is not empty."""

    def ask(endpoint: Mapping[str, Any]) -> Served:
        served = handshake(endpoint["address"], int(endpoint["port"]), tls)
        if served.error or not endpoint.get("trusted"):
            return served
        return Served(served.serial, served.until, accepted(endpoint["address"], int(endpoint["port"]), tls))

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(ask, endpoints))


def differs(endpoint: Mapping[str, Any], served: Served) -> str:
    """Return what an endpoint {serial, trusted} does otherwise than it should, '' where nothing."""
    if served.error:
        return served.error
    if served.serial != endpoint["serial"]:
        return f"serves the certificate {served.serial}, on its disk is {endpoint['serial']}"
    if endpoint.get("trusted") and served.authorities != sorted(endpoint["trusted"]):
        on_disk = ", ".join(sorted(endpoint["trusted"]))
        return f"trusts {', '.join(served.authorities) or 'nobody'}, on its disk is {on_disk}"
    return ""


def wait(endpoints: Sequence[Mapping[str, Any]], tls: Mapping[str, str], timeout: float) -> list[str]:
    """Ask until every endpoint does what it should, `timeout` seconds at most; return what is left.

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
