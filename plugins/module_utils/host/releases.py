"""Reads the installed and the running versions of Kafka and ZooKeeper on this host."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Iterable
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.properties import pairs
from ansible_collections.millrace.kafka.plugins.module_utils.host.units import shown

# By product: its unit, the directory of its jars, and the jar whose name has the version.
PRODUCTS = {
    "kafka": ("kafka.service", "/opt/kafka/current/libs", "kafka-clients"),
    "zookeeper": ("zookeeper.service", "/opt/zookeeper/current/lib", "zookeeper"),
}
PROTOCOL = "inter.broker.protocol.version"
IN_FORCE = "KAFKA_PROTOCOL"
"""Environment variable of a broker's process: the protocol with which the broker was started (kafka.service.j2)."""
FILE = "/etc/kafka/server.properties"


def releases(products: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return {product: versions} for those of the products (kafka, zookeeper) that are installed.

    Keys of the versions, each '' if unknown:
    `installed`: the version of the installed files.
    `running`: the version of the running process.
    `protocol` (kafka only): inter.broker.protocol.version of the running broker, otherwise that of its properties file.
    It is '' if neither sets it; then the version of Kafka determines the protocol.
    """
    asked = [name for name in products if os.path.lexists(os.path.dirname(PRODUCTS[name][1]))]
    facts = shown("MainPID", [PRODUCTS[name][0] for name in asked]) if asked else []
    versions: dict[str, dict[str, Any]] = {}
    for name, unit in zip(asked, facts, strict=True):
        _, folder, jar = PRODUCTS[name]
        process = unit.get("MainPID", "0")
        versions[name] = {"installed": version_of(glob.glob(f"{folder}/*.jar"), jar), "running": ""}
        if process != "0":
            versions[name]["running"] = version_of(open_files(process), jar)
        if name == "kafka":
            versions[name]["protocol"] = (process != "0" and not read_it(process) and in_force(process)) or in_file()
    return versions


def version_of(paths: Iterable[str], jar: str) -> str:
    """Return the version in the file name of the jar `jar` among `paths`: 3.9.2 for `kafka-clients-3.9.2.jar`.

    Return '' if no path is that jar.
    """
    pattern = re.compile(rf"{re.escape(jar)}-(\d+\.\d+\.\d+)[^/]*\.jar")
    versions = [match[1] for path in paths if (match := pattern.fullmatch(os.path.basename(path)))]
    return versions[0] if versions else ""


def open_files(process: str) -> list[str]:
    """Return the paths of the files that the process (its id) has open; [] if the process has ended."""
    try:
        return [target for name in os.listdir(f"/proc/{process}/fd") if (target := held(process, name))]
    except OSError:
        return []


def held(process: str, descriptor: str) -> str:
    """Return the path of the file that a process has open under this descriptor; '' if it was closed meanwhile."""
    try:
        return os.readlink(f"/proc/{process}/fd/{descriptor}")
    except OSError:
        return ""


def read_it(process: str, path: str = FILE) -> bool:
    """Tell whether the process was started after the file `path` was last written, and has thus read its present text.

    The environment of the process may still be older than the file: systemd passes the unit as it was last loaded, and
    a run may be interrupted between writing the file and reloading systemd.
    """
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
            ticks = int(stream.read().rpartition(")")[2].split()[19])  # starttime (proc_pid_stat(5)), since the boot
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return os.stat(path).st_mtime < time.time() - age
    except (OSError, ValueError, IndexError):
        return False


def in_force(process: str) -> str:
    """Return the inter-broker protocol version in the environment of the broker's process; '' if it has none."""
    try:
        with open(f"/proc/{process}/environ", "rb") as stream:
            variables = stream.read().split(b"\0")
    except OSError:
        return ""
    name = f"{IN_FORCE}=".encode()
    return next((line[len(name) :].decode(errors="replace") for line in variables if line.startswith(name)), "")


def in_file(path: str = FILE) -> str:
    """Return inter.broker.protocol.version as the broker's properties file sets it; '' if it is not set."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return dict(pairs(stream.read())).get(PROTOCOL, "")
    except OSError:
        return ""
