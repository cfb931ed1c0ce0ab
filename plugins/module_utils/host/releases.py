"""Which versions of Kafka and ZooKeeper a host has unpacked and runs, read-only; no Ansible import."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Iterable
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.properties import pairs
from ansible_collections.millrace.kafka.plugins.module_utils.host.units import shown

# By product: its unit, the jars that are there, and the name of the one that tells the version.
PRODUCTS = {
    "kafka": ("kafka.service", "/opt/kafka/current/libs", "kafka-clients"),
    "zookeeper": ("zookeeper.service", "/opt/zookeeper/current/lib", "zookeeper"),
}
PROTOCOL = "inter.broker.protocol.version"
IN_FORCE = "KAFKA_PROTOCOL"
"""In the environment of a broker's process: the protocol that it was started with (kafka.service.j2)."""
FILE = "/etc/kafka/server.properties"


def releases(products: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return by product the version that is `installed` and the one that `running` processes are of, '' for none.

    Of Kafka also `protocol`, what the running broker speaks to the others, else what its file says; '' where neither
    says it: then it is that of the version.
    """
    asked = [name for name in products if os.path.lexists(os.path.dirname(PRODUCTS[name][1]))]
    facts = shown("MainPID", [PRODUCTS[name][0] for name in asked]) if asked else []
    found: dict[str, dict[str, Any]] = {}
    for name, unit in zip(asked, facts, strict=True):
        _, folder, jar = PRODUCTS[name]
        process = unit.get("MainPID", "0")
        found[name] = {"installed": version_of(glob.glob(f"{folder}/*.jar"), jar), "running": ""}
        if process != "0":
            found[name]["running"] = version_of(open_files(process), jar)
        if name == "kafka":
            found[name]["protocol"] = (process != "0" and not read_it(process) and in_force(process)) or in_file()
    return found


def version_of(paths: Iterable[str], jar: str) -> str:
    """Return the version in the name of a jar, as 3.9.2 of kafka-clients-3.9.2.jar; '' where it is not among them."""
    pattern = re.compile(rf"{re.escape(jar)}-(\d+\.\d+\.\d+)[^/]*\.jar")
    found = [match[1] for path in paths if (match := pattern.fullmatch(os.path.basename(path)))]
    return found[0] if found else ""


def open_files(process: str) -> list[str]:
    """Return the files that a process holds open; [] where it has ended."""
    try:
        return [target for name in os.listdir(f"/proc/{process}/fd") if (target := held(process, name))]
    except OSError:
        return []


def held(process: str, descriptor: str) -> str:
    """Return the file of a descriptor, '' where it is closed since."""
    try:
        return os.readlink(f"/proc/{process}/fd/{descriptor}")
    except OSError:
        return ""


def read_it(process: str, path: str = FILE) -> bool:
    """Tell whether a process has begun since the file was written, so that it has read what stands there.

    Its environment may be older than that: systemd gives the one that it has loaded, and a run that ended between the
    file and systemd's reload left the two apart.
    """
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
            ticks = int(stream.read().rpartition(")")[2].split()[19])  # starttime (proc_pid_stat(5)), since the boot
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return os.stat(path).st_mtime < time.time() - age
    except (OSError, ValueError, IndexError):
        return False


def in_force(process: str) -> str:
    """Return the protocol that a broker's process was started with; '' of one of before this was noted there."""
    try:
        with open(f"/proc/{process}/environ", "rb") as stream:
            said = stream.read().split(b"\0")
    except OSError:
        return ""
    name = f"{IN_FORCE}=".encode()
    return next((line[len(name) :].decode(errors="replace") for line in said if line.startswith(name)), "")


def in_file(path: str = FILE) -> str:
    """Return the protocol that the file of the broker that is installed says; '' where it says none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return dict(pairs(stream.read())).get(PROTOCOL, "")
    except OSError:
        return ""
