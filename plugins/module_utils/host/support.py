"""Reads what helps to find the cause of a failure on this host, without secrets, for the module host_support.

Everything is read only, each file and command for itself: what cannot be read is listed with the reason.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host import probe, releases
from ansible_collections.millrace.kafka.plugins.module_utils.host.redaction import redacted

FOLDERS = (
    "/etc/kafka",
    "/etc/zookeeper",
    "/etc/spark-job",
    "/etc/spark-cluster",
    "/etc/mirror-maker",
    "/etc/lag-exporter",
    "/etc/postgresql",
    "/etc/prometheus",
    "/etc/grafana/provisioning",
    "/etc/millrace",
    "/etc/nftables.d",
    "/var/lib/millrace",
    "/opt/service-metrics",
)
FILES = ("/etc/hosts", "/etc/nftables.conf", "/etc/sysctl.d/60-millrace.conf", "/etc/millrace-rebalance.json")
# The units of services and timers that the roles write, and their drop-ins.
UNIT_FOLDER = "/etc/systemd/system"
UNIT_NAMES = re.compile(
    r"(kafka|zookeeper|mirror-maker|spark-(job|master|worker)|lag-exporter|postgresql|prometheus|service-metrics"
    r"|millrace)[\w.@-]*"
)
KINDS = (".properties", ".cfg", ".conf", ".json", ".yml", ".yaml", ".xml", ".nft", ".sh", ".service", ".timer")
BACKUP = ".before-failover"
KEY_NAMES = re.compile(
    r"\.(pem|key|crt|csr|jks|p12|pfx|pkcs12|keystore|truststore|ks)$|(^|/)(tls|ssl|pki|private)(/|$)"
)
SECRET_NAMES = re.compile(r"\.env$|secret|passw|credential|token|htpasswd|pgpass", re.IGNORECASE)
PROGRAMS = (".py", ".pyz")
UNIT_PROPERTIES = (
    "Id,Description,LoadState,ActiveState,SubState,UnitFileState,Result,ExecMainCode,ExecMainStatus,ExecMainPID,MainPID,"
    "NRestarts,Restart,NeedDaemonReload,StateChangeTimestamp,ActiveEnterTimestamp,InactiveEnterTimestamp,"
    "ExecMainStartTimestamp,ExecMainExitTimestamp,InvocationID,FragmentPath,DropInPaths,User,MemoryCurrent,MemoryPeak,"
    "MemoryMax,MemoryHigh,MemorySwapCurrent,CPUUsageNSec,IOReadBytes,IOWriteBytes,TasksCurrent,LimitNOFILE,LimitMEMLOCK,"
    "OOMPolicy,After,Requires,LastTriggerUSec,NextElapseUSecRealtime,Environment"
)
COMMANDS: dict[str, tuple[str, ...]] = {
    "kernel.txt": ("uname", "-a"),
    "uptime.txt": ("uptime",),
    "packages.txt": (
        *("dpkg-query", "--show", "openjdk-*", "postgresql*", "prometheus*", "grafana*", "nftables", "systemd"),
        *("chrony", "python3"),
    ),
    "unit_list.txt": ("systemctl", "list-units", "--all", "--no-pager", "--plain"),
    "failed_units.txt": ("systemctl", "list-units", "--failed", "--no-pager", "--plain"),
    "timers.txt": ("systemctl", "list-timers", "--all", "--no-pager"),
    "disks.txt": ("df", "--local", "--print-type", "--human-readable"),
    "inodes.txt": ("df", "--local", "--inodes"),
    "mounts.txt": ("findmnt", "--output", "TARGET,SOURCE,FSTYPE,OPTIONS"),
    "block_devices.txt": ("lsblk", "--output", "NAME,TYPE,SIZE,ROTA,RO,FSTYPE,MOUNTPOINTS"),
    "memory.txt": ("free", "--mebi"),
    "processes.txt": ("ps", "-e", "-o", "pid,ppid,user,stat,etime,time,rss,nlwp,comm", "--sort=-rss"),
    "listening.txt": ("ss", "--listening", "--tcp", "--udp", "--numeric", "--processes"),
    "socket_summary.txt": ("ss", "--summary"),
    "addresses.txt": ("ip", "address"),
    "routes.txt": ("ip", "route", "show", "table", "all"),
    "firewall.txt": ("nft", "list", "ruleset"),
    "clock.txt": ("timedatectl", "show"),
    "clock_sources.txt": ("chronyc", "-n", "sources"),
    "kernel_warnings.txt": (
        *("journalctl", "--dmesg", "--quiet", "--no-pager", "--utc", "--output=short-iso-precise"),
        *("--priority=warning", "--lines=2000"),
    ),
}
READ = {"os_release.txt": "/usr/lib/os-release", "meminfo.txt": "/proc/meminfo", "load.txt": "/proc/loadavg"}
PRESSURE = ("cpu", "io", "memory")
SECONDS = 30.0
"""How long a command may take; `df` waits for a disk that does not answer."""
CONFIG_BYTES, MOST_FILES = 262_144, 400
JOURNAL_BYTES = 8_388_608
STAMP = re.compile(r"([0-9-]+)T([0-9:]+)(?:[.][0-9]+)?Z?")


@dataclass(frozen=True)
class Collected:
    """One text for the bundle."""

    name: str
    """Path in the bundle's folder of the host, such as `files/etc/kafka/server.properties`."""
    source: str
    """Path of the file on the host, or the command."""
    content: str
    removed: int
    """How many secrets were removed."""
    cut: bool = False
    """Whether a part is missing, because the text is longer than allowed."""


@dataclass(frozen=True)
class LeftOut:
    """A file or command whose text is not in the bundle."""

    source: str
    reason: str


def collect(wanted: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return {'files': [Collected as a dict], 'left_out': [LeftOut as a dict]}.

    `wanted` are the options of the module host_support. No text in `files` has a secret that redaction recognizes.
    """
    found = [
        *_versions(wanted.get("java_executables") or ()),
        *_units(wanted["units"]),
        *(_command(f"system/{name}", command) for name, command in COMMANDS.items()),
        *(_file(f"system/{name}", path) for name, path in READ.items()),
        *(_file(f"system/pressure_{name}.txt", f"/proc/pressure/{name}") for name in PRESSURE),
        *configuration(wanted.get("folders") or FOLDERS, wanted.get("unit_folder") or UNIT_FOLDER),
        journal(wanted["units"], wanted["since"], wanted.get("to"), wanted["most"]),
    ]
    return {
        "files": [asdict(one) for one in found if isinstance(one, Collected)],
        "left_out": [asdict(one) for one in found if isinstance(one, LeftOut)],
    }


def configuration(folders: Sequence[str], unit_folder: str) -> Iterator[Collected | LeftOut]:
    """Yield the configuration files in `folders`, those of the project's units in `unit_folder`, and FILES."""
    paths = [path for folder in folders for path in _below(folder)]
    with suppress(OSError):
        names = sorted(name for name in os.listdir(unit_folder) if UNIT_NAMES.fullmatch(name))
        paths += [path for name in names for path in _below(os.path.join(unit_folder, name))]
    for path in paths[:MOST_FILES]:
        yield _configuration_file(path)
    yield from (_file(f"files{path}", path) for path in FILES if os.path.isfile(path))
    if len(paths) > MOST_FILES:
        yield LeftOut(f"{len(paths) - MOST_FILES} configuration files", f"more than {MOST_FILES} files")


def why_left_out(path: str) -> str:
    """Return why a configuration file is not collected, by its path; '' if it is collected."""
    name = path.lower()
    if KEY_NAMES.search(name):
        return "a key, a certificate or a keystore"
    if SECRET_NAMES.search(os.path.basename(name)):
        return "the file may consist of secrets"
    if name.endswith(PROGRAMS):
        return "a program"
    if not name.removesuffix(BACKUP).endswith(KINDS):
        return "not a known kind of configuration file"
    return ""


def journal(units: Sequence[str], since: str, until: str | None, most: int) -> Collected | LeftOut:
    """Return the newest `most` entries of the journals of `units` between two times, as journalctl takes them."""
    patterns = sorted({re.sub(r"[.]service$", "*", unit) for unit in units} | {"millrace-*"})
    command = [
        *("journalctl", "--quiet", "--no-pager", "--utc", "--output=short-iso-precise", f"--lines={most}"),
        f"--since={STAMP.sub(_spaced, since)}",
        *([f"--until={STAMP.sub(_spaced, until)}"] if until else []),
        *(f"--unit={pattern}" for pattern in patterns),
    ]
    return _command("journal.txt", command, JOURNAL_BYTES, newest=True)


def _spaced(match: re.Match[str]) -> str:
    return f"{match[1]} {match[2]}"


def _versions(javas: Sequence[str]) -> Iterator[Collected | LeftOut]:
    """Yield the versions of Kafka, ZooKeeper, Java, and the installed archives, such as releases of Spark jobs."""
    try:
        lines = [f"{path}: {version or 'unknown'}" for path, version in probe.javas(javas).items()]
        for product, versions in releases.releases(releases.PRODUCTS).items():
            lines += [f"{product} {name}: {version or 'unknown'}" for name, version in versions.items()]
        lines += [f"{path}: archive {checksum}" for path, checksum in sorted(probe.installed_archives().items())]
        lines += [f"{path} -> {os.readlink(path)}" for path in _links()]
        lines += [f"{name}: {value}" for name, value in {**probe.clock(), **probe.limits()}.items()]
        yield _collected("system/versions.txt", "versions", "\n".join(lines) + "\n", CONFIG_BYTES)
    except Exception as error:  # a result without the versions is worth more than none
        yield LeftOut("versions", f"{type(error).__name__}: {error}")


def _links() -> list[str]:
    found = [f"/opt/{name}/current" for name in sorted(os.listdir("/opt"))] if os.path.isdir("/opt") else []
    return [path for path in found if os.path.islink(path)]


def _units(units: Sequence[str]) -> Iterator[Collected | LeftOut]:
    """Yield the properties of the units of the host's functions, and of other units that the roles write."""
    # kafka-* shows kafka-registration.service, and so on, if systemd has loaded it.
    patterns = sorted({*units, *(re.sub(r"(@.*)?[.]\w+$", "-*", unit) for unit in units), "millrace-*"})
    properties = f"--property={UNIT_PROPERTIES}"
    yield _command("system/units.txt", ["systemctl", "show", "--no-pager", "--all", properties, "--", *patterns])


def _below(path: str) -> list[str]:
    """Return the regular files in a folder and its folders, sorted, without following links; a file itself."""
    if not os.path.isdir(path):
        return [path] if os.path.isfile(path) else []
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)


def _configuration_file(path: str) -> Collected | LeftOut:
    if os.path.islink(path):
        return LeftOut(path, f"a link to {os.readlink(path)}")
    reason = why_left_out(path)
    return LeftOut(path, reason) if reason else _file(f"files{path}", path)


def _file(name: str, path: str) -> Collected | LeftOut:
    """Return the text of a file without secrets."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return LeftOut(path, "not a regular file")
            content = stream.read(CONFIG_BYTES * 4)
    except OSError as error:
        return LeftOut(path, error.strerror or str(error))
    if b"\0" in content:
        return LeftOut(path, "not a text file")
    return _collected(name, path, content.decode(errors="replace"), CONFIG_BYTES)


def _command(name: str, command: Sequence[str], most: int = CONFIG_BYTES, newest: bool = False) -> Collected | LeftOut:
    """Return what a command prints, without secrets: its errors too, if it fails."""
    source = " ".join(command)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "200"},
            start_new_session=True,
        )
    except OSError as error:
        return LeftOut(source, error.strerror or str(error))
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # not waited for: a process may hang in the kernel
        return LeftOut(source, f"no answer within {SECONDS:.0f} s")
    text = printed.decode(errors="replace")
    if process.returncode:
        text += f"(exit status {process.returncode})\n"
    return _collected(name, source, text, most, newest)


def _collected(name: str, source: str, text: str, most: int, newest: bool = False) -> Collected:
    """Return a text without secrets, of at most `most` characters: the first ones, or with `newest` the last ones.

    Secrets are removed before the text is cut, because a part of a secret would not be recognized.
    """
    clean, removed = redacted(text)
    cut = len(clean) > most
    if cut and newest:
        clean = clean[-most:].partition("\n")[2]
    elif cut:
        clean = clean[:most].rpartition("\n")[0] + "\n"
    return Collected(name, source, clean, removed, cut)
