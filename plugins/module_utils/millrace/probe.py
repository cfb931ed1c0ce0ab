"""Read-only facts of the host this runs on; no Ansible import."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import socket
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any


def addresses() -> list[str]:
    """Return the host's IPv4 and IPv6 addresses, loopback left out."""
    text = subprocess.run(["ip", "-o", "addr", "show", "scope", "global"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\binet6? ([0-9a-f.:]+)", text)


def mounts(paths: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return per path whether it is a mount point, and size and free space in bytes where it exists."""
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        found[path] = {"mounted": os.path.ismount(path)}
        if os.path.exists(path):
            status = os.statvfs(path)
            found[path] |= {"size": status.f_blocks * status.f_frsize, "free": status.f_bavail * status.f_frsize}
    return found


def properties(path: str) -> dict[str, str]:
    """Return a Java properties file of plain lines as a dict, {} where there is none."""
    try:
        with open(path, encoding="utf-8") as stream:
            return dict(line.strip().split("=", 1) for line in stream if "=" in line and not line.startswith("#"))
    except (FileNotFoundError, NotADirectoryError):
        return {}


def first_line(path: str) -> str:
    """Return the first line of a file, '' where there is none."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.readline().strip()
    except FileNotFoundError:
        return ""


def clock_synchronized() -> bool:
    """Ask the kernel (adjtimex(2), status TIME_ERROR = 5 when nobody keeps the clock); read-only."""
    buffer = ctypes.create_string_buffer(512)  # struct timex, modes = 0: read
    return bool(0 <= ctypes.CDLL(None).adjtimex(buffer) < 5)


def installed_archives() -> list[str]:
    """Return the SHA-512 of every archive that the module `install_archives` unpacked."""
    return sorted({first_line(path) for path in glob.glob("/opt/*/*/.sha512") + glob.glob("/opt/*/*/*/.sha512")})


def units(names: Iterable[str]) -> dict[str, str]:
    """Return systemd's ActiveState of each unit."""
    asked = list(names)
    if not asked:
        return {}
    text = subprocess.run(["systemctl", "is-active", *asked], capture_output=True, text=True).stdout.split()
    return dict(zip(asked, text, strict=True))


def four_letter_word(address: str, port: int, word: str, timeout: float = 2.0) -> str:
    """Return a ZooKeeper server's answer to `srvr`, `mntr` or `ruok`; '' when it does not answer."""
    answer = b""
    try:
        with socket.create_connection((address, port), timeout=timeout) as connection:
            connection.sendall(word.encode())
            while chunk := connection.recv(65536):
                answer += chunk
    except OSError:
        return ""
    return answer.decode(errors="replace")


def zookeeper_mode(answer: str) -> str:
    """Return leader, follower, observer or standalone from the text of `srvr`; 'not serving' or 'down' otherwise."""
    found = re.search(r"^Mode: (\w+)", answer, re.MULTILINE)
    return found.group(1) if found else ("not serving" if answer else "down")


def probe(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return all facts of one host for the options of the module host_probe."""
    port = wanted.get("zookeeper_port")
    return {
        "addresses": addresses(),
        "clock_synchronized": clock_synchronized(),
        "mounts": mounts(wanted["mounts"]),
        "meta_properties": {path: properties(f"{path}/meta.properties") for path in wanted["kafka_log_dirs"]},
        "myid": first_line(f"{wanted['zookeeper_data_dir']}/myid") if wanted.get("zookeeper_data_dir") else "",
        "archives": installed_archives(),
        "java": os.access(wanted["java_executable"], os.X_OK),
        "units": units(wanted["units"]),
        "zookeeper_mode": zookeeper_mode(four_letter_word(wanted["zookeeper_address"], port, "srvr")) if port else "",
    }
