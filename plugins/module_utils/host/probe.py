"""Reads the facts of the host on which this code runs, for the module host_probe."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import json
import os
import re
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ansible_collections.millrace.kafka.plugins.module_utils.host.marks import run_of
from ansible_collections.millrace.kafka.plugins.module_utils.host.mounts import mounts, noexec, settled
from ansible_collections.millrace.kafka.plugins.module_utils.host.network import attempts
from ansible_collections.millrace.kafka.plugins.module_utils.host.properties import pairs
from ansible_collections.millrace.kafka.plugins.module_utils.host.releases import FILE, releases
from ansible_collections.millrace.kafka.plugins.module_utils.host.units import behind, failing, restarts
from ansible_collections.millrace.kafka.plugins.module_utils.printable import printable

JOBS = "/opt/spark-job/current/bin/millrace-jobs"


def addresses() -> list[str]:
    """Return the IPv4 and IPv6 addresses of this host with global scope, without loopback."""
    text = subprocess.run(
        ["ip", "-o", "addr", "show", "scope", "global"], capture_output=True, text=True, check=True
    ).stdout
    return re.findall(r"\binet6? ([0-9a-f.:]+)", text)


def installed_log_dirs() -> list[str]:
    """Return the log dirs of the installed broker (log.dirs); [] if no broker is installed."""
    value = properties("/etc/kafka/server.properties").get("log.dirs", "")
    return [path.strip() for path in value.split(",") if path.strip()]


def dropped(installed: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Return the log dirs in `installed` that are not in `wanted`, the declared log dirs."""
    kept = {os.path.normpath(path) for path in wanted}
    return [path for path in installed if os.path.normpath(path) not in kept]


def installed_listeners(key: str = "listeners") -> dict[str, tuple[str, int]]:
    """Return {listener name: (address, port)} of the installed broker; {} if no broker is installed.

    `key` is the property: listeners or advertised.listeners.
    """
    value = properties("/etc/kafka/server.properties").get(key, "")
    found = re.findall(r"([^,/\s]+)://([^,]*):(\d+)", value)
    return {name.upper(): (address, int(port)) for name, address, port in found}


def installed_ensemble(older: bool) -> dict[str, list[str]]:
    """Return {id: addresses} of the servers in the installed zoo.cfg; {} if no ZooKeeper server is installed.

    Return {} too if the server listens for other servers on all its addresses (quorumListenOnAllIPs). With `older`, its
    process was started before zoo.cfg changed, so that setting may not be in use yet.
    """
    settings = properties("/etc/zookeeper/zoo.cfg")
    lines = {key.partition(".")[2]: value for key, value in settings.items() if key.startswith("server.")}
    everywhere = settings.get("quorumListenOnAllIPs", "").lower() == "true"
    if everywhere and not older:
        return {}
    return {number: re.findall(r"(?:^|\|)([^:|]+):", value) for number, value in lines.items()}


def installed_client_ports() -> list[int]:
    """Return the client ports of the installed ZooKeeper server, TLS first; [] if none is installed."""
    settings = properties("/etc/zookeeper/zoo.cfg")
    return [int(settings[key]) for key in ("secureClientPort", "clientPort") if settings.get(key, "").isdecimal()]


def locks(unit: str) -> set[str]:
    """Return the paths of the `.lock` files that the process of the unit has open: a broker opens one per log dir.

    The set is empty if the broker is down, or has just started and has not locked any log dir yet.
    """
    process = subprocess.run(
        ["systemctl", "show", "-p", "MainPID", "--value", unit], capture_output=True, text=True
    ).stdout.strip()
    held = set()
    for descriptor in glob.glob(f"/proc/{process}/fd/*") if process not in ("", "0") else []:
        with contextlib.suppress(FileNotFoundError):  # closed since
            held.add(os.readlink(descriptor))
    return {name for name in held if name.endswith("/.lock")}


def served(log_dirs: Iterable[str], held: Collection[str]) -> dict[str, list[str]]:
    """Return {'serves': log dirs that the running broker uses, 'given_up': log dirs that the broker has taken offline}.

    `held` are the `.lock` files that the broker's process has open. The broker uses a log dir if its `.lock` is in
    `held`, even if another file system is mounted over the log dir now. If `held` is empty, no log dir counts as
    offline.
    """
    ours = [path for path in log_dirs if f"{os.path.realpath(path)}/.lock" in held]
    return {"serves": ours, "given_up": [path for path in log_dirs if path not in ours] if held else []}


def properties(path: str) -> dict[str, str]:
    """Return the Java properties file as a dict; {} if it cannot be read."""
    return dict(pairs(read(path)))


def first_line(path: str) -> str:
    """Return the first line of the file without spaces around it; '' if the file cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.readline().strip()
    except OSError:
        return ""


def clock() -> dict[str, Any]:
    """Return {'synchronized': whether the kernel's clock is synchronized, 'time': seconds since 1970}.

    The system call adjtimex(2) returns TIME_ERROR = 5 if the clock is not synchronized.
    """
    buffer = ctypes.create_string_buffer(512)  # struct timex, modes = 0: read
    return {"synchronized": 0 <= ctypes.CDLL(None).adjtimex(buffer) < 5, "time": time.time()}


def javas(executables: Iterable[str]) -> dict[str, str]:
    """Return {path: version of Java} for those of the paths that are a Java executable."""
    runs = (path for path in executables if os.path.isfile(path) and os.access(path, os.X_OK))
    return {path: java_version(path) for path in runs}


def java_version(executable: str) -> str:
    """Return the version of the Java executable, as 17.0.9; '' if the version is unknown.

    The version is read from the file `release` of the installation, without starting a JVM.
    """
    home = os.path.dirname(os.path.dirname(os.path.realpath(executable)))
    found = re.search(r'JAVA_VERSION="([^"]*)"', read(f"{home}/release"))
    return found.group(1) if found else ""


def postgresql() -> dict[str, Any]:
    """Return two facts about PostgreSQL on this host.

    `release`: name and version of the operating system, as `debian 12`.
    `installed`: the major versions of PostgreSQL that are installed.
    """
    system = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)"?$', read("/etc/os-release"), re.MULTILINE))
    programs = glob.glob("/usr/lib/postgresql/*/bin/postgres")
    return {
        "release": f"{system.get('ID', '')} {system.get('VERSION_ID', '')}",
        "installed": sorted(path.split("/")[4] for path in programs),
    }


def limits() -> dict[str, int]:
    """Return the limits of this host for services, as integers.

    `nr_open`: the kernel's maximum of open files per process.
    `nofile`: systemd's own maximum of open files.
    `capabilities`: the bit mask of the Linux capabilities that systemd has.
    """
    nofile = re.search(r"^Max open files\s+\S+\s+(\d+)", read("/proc/1/limits"), re.MULTILINE)
    capabilities = re.search(r"^CapEff:\s*([0-9a-f]+)", read("/proc/1/status"), re.MULTILINE)
    nr_open = int(read("/proc/sys/fs/nr_open") or 1048576)
    return {
        "nr_open": nr_open,
        "nofile": int(nofile.group(1)) if nofile else nr_open,
        "capabilities": int(capabilities.group(1), 16) if capabilities else 0,
    }


def memory() -> int:
    """Return the host's memory in bytes, 0 if it is unknown."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def read(path: str) -> str:
    """Return the text of the file; '' if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def failover_record(path: str) -> str:
    """Return the text of the record of a failover: '' only without a file, a line break for one that has no text."""
    return read(path) or "\n" * os.path.lexists(path)


def converged() -> bool:
    """Tell whether this project has changed the host before: its block in /etc/hosts exists."""
    return bool(re.search(r"^# BEGIN millrace$", read("/etc/hosts"), re.MULTILINE))


def nft() -> str:
    """Return '' if the program nft works, otherwise the reason why not."""
    try:
        done = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        return "no such program"
    return done.stderr.strip().partition("\n")[0] if done.returncode else ""


def ssh_port() -> int:
    """Return the port of the SSH server through which this process was started, 0 if the port is unknown.

    The port is in the variable SSH_CONNECTION. sudo removes this variable, so it is read from the environment of the
    parent processes.
    """
    process: str | None = "self"
    while process not in (None, "0"):
        if found := re.search(r"(?:^|\0)SSH_CONNECTION=\S+ \S+ \S+ (\d+)", read(f"/proc/{process}/environ")):
            return int(found.group(1))
        parent = re.search(r"^PPid:\s+(\d+)", read(f"/proc/{process}/status"), re.MULTILINE)
        process = parent.group(1) if parent else None
    return 0


def installed_archives() -> dict[str, str]:
    """Return {directory: SHA-512} for each directory into which the module `install_archives` unpacked an archive.

    For a directory made of several archives, as a release of Spark jobs, the value is 'complete'.
    """
    marks = sorted(glob.glob("/opt/*/*/.sha512") + glob.glob("/opt/*/*/*/.sha512"))
    found = {os.path.dirname(path): installed(os.path.dirname(path)) for path in marks}
    made = {os.path.dirname(path): "complete" for path in glob.glob("/opt/*/*/*/.complete")}
    return made | {path: checksum for path, checksum in found.items() if checksum}


def installed(dest: str) -> str:
    """Return the SHA-512 (hexadecimal) of the archive that was unpacked into the directory `dest`.

    Return '' if no archive was unpacked there. Return '' also if services may not enter the directory, because it was
    created with a stricter umask.
    """
    mark = f"{dest}/.sha512"
    try:
        entered = os.stat(dest).st_mode & 0o005 == 0o005
    except OSError:
        return ""
    return first_line(mark) if entered else ""


def units(names: Iterable[str]) -> dict[str, str]:
    """Return {unit: ActiveState}, as systemd reports them."""
    asked = list(names)
    if not asked:
        return {}
    text = subprocess.run(["systemctl", "is-active", *asked], capture_output=True, text=True).stdout.split()
    return dict(zip(asked, text, strict=True))


def job_statuses() -> dict[str, Any]:
    """Return {'jobs': facts of the Spark jobs of this host, 'jobs_error': why they are not known, or ''}.

    The facts are those that `millrace-jobs status --json` prints (spark_jobs/src/millrace_jobs/host_status.py). Without
    an installed release, or with one that does not have this command, there are none.
    """
    try:
        done = subprocess.run([JOBS, "status", "--json"], capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return {"jobs": [], "jobs_error": ""}
    except subprocess.TimeoutExpired:
        return {"jobs": [], "jobs_error": f"{JOBS} status did not end within 60 s"}
    if "invalid choice: 'status'" in done.stderr:
        return {"jobs": [], "jobs_error": ""}
    try:
        return {"jobs": json.loads(done.stdout), "jobs_error": ""}
    except ValueError:
        return {"jobs": [], "jobs_error": printable(" ".join(done.stderr.split())[-300:]) or "no output"}


def probe(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return all facts of this host; `wanted` are the options of the module host_probe."""
    log_dirs = installed_log_dirs() if wanted["kafka_log_dirs"] else []
    listeners = installed_listeners() if wanted["kafka_log_dirs"] else {}
    advertised = installed_listeners("advertised.listeners") if wanted["kafka_log_dirs"] else {}
    stale = behind(wanted["units"])
    older = "zookeeper.service" in stale["older"]
    tried = attempts(wanted["peers"])
    return {
        "addresses": addresses(),
        "clock": clock(),
        "limits": limits(),
        "memory": memory(),
        "peers": {peer: result for peer, (result, _) in tried.items()},
        "round_trips": {peer: taken for peer, (result, taken) in tried.items() if result in ("open", "refused")},
        "mounts": settled(mounts(wanted["mounts"])),
        "noexec": noexec(wanted.get("exec_paths") or ()),
        **served(log_dirs, locks("kafka.service") if log_dirs else ()),
        "log_dirs": log_dirs,
        "dropped": mounts(dropped(log_dirs, wanted["kafka_log_dirs"])),
        "listeners": {name: port for name, (_, port) in listeners.items()},
        "listener_addresses": {name: address for name, (address, _) in advertised.items()},
        "zookeeper_connect": properties(FILE).get("zookeeper.connect", "") if wanted["kafka_log_dirs"] else "",
        "client_ports": installed_client_ports() if wanted.get("zookeeper_data_dir") else [],
        "ensemble": installed_ensemble(older) if wanted.get("zookeeper_data_dir") else {},
        "meta_properties": {path: properties(f"{path}/meta.properties") for path in wanted["kafka_log_dirs"]},
        "myid": first_line(f"{wanted['zookeeper_data_dir']}/myid") if wanted.get("zookeeper_data_dir") else "",
        "archives": installed_archives(),
        "releases": releases(
            ["kafka"] * bool(wanted["kafka_log_dirs"]) + ["zookeeper"] * bool(wanted.get("zookeeper_data_dir"))
        ),
        "converged": converged(),
        "failover": failover_record("/etc/millrace/failover.json"),
        "nft": nft(),
        "firewall": read("/etc/nftables.d/millrace.nft"),
        "ssh_port": ssh_port(),
        "postgresql": postgresql(),
        "java": javas(wanted["java_executables"]),
        "units": units(wanted["units"]),
        "failing": failing(wanted["units"]),
        "behind": stale["older"],
        "untold": stale["untold"],
        "to_restart": (marked := restarts(wanted["units"]))["due"],
        "restarted": marked["done"],
        "restart_hosts": {name: run_of(name) for names in marked.values() for name in names},
        **(job_statuses() if wanted.get("jobs") else {"jobs": [], "jobs_error": ""}),
    }
