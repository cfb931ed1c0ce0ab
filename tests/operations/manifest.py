"""Runs on a host: prints what a change of it would change, one fact a line. Standard library only.

`--live` leaves out as well what running services write.
"""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# What a running Linux, SSH and Ansible write by themselves.
OWN = "|".join(
    (
        "/(proc|sys|dev|run)",
        "/var/log/(journal|wtmp|btmp|lastlog)",
        "/var/lib/systemd/(timers|timesync|random-seed)",
        r"/(root|home/[^/]+)/\.ansible",
        "/tmp/ansible_[^/]*_payload_[^/]*",
        ".*/__pycache__",
    )
)
SERVICES = "/data|/var/log|/var/lib/(zookeeper|spark-job)|(/var)?/tmp/(hsperfdata_|systemd-private-)[^/]*"
# What the kernel counts, what differs each time it is read, and the limit of inotify, which any lab raises.
COUNTERS = re.compile(r"/(random|pty|quota|binfmt_misc|inotify)/|[/_-](nr|state|count|pid|size)$")
COMMANDS = (
    "dpkg-query -W",
    "getent passwd",
    "getent group",
    "systemctl list-unit-files --no-legend --plain",
    "systemctl list-units --all --no-legend --plain --type=service,socket,timer,path,target",
    "nft list ruleset",
)


def files(leave_out: "re.Pattern[str]") -> Iterator[str]:
    """Yield every file's type, mode, owner, size and times.

    A directory's entries are facts of their own, so it has no times.
    """
    folders = ["/"]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if leave_out.fullmatch(entry.path):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                    link = os.readlink(entry.path) if entry.is_symlink() else ""
                except FileNotFoundError:
                    continue  # went meanwhile
                is_folder = stat.S_ISDIR(status.st_mode)
                times = "" if is_folder else f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
                yield f"file {entry.path!r}: {status.st_mode:o} {status.st_uid}:{status.st_gid} {times} {link}".rstrip()
                if is_folder:
                    folders.append(entry.path)


def kernel_settings() -> Iterator[str]:
    """Yield what sysctl would print."""
    for folder, _, names in os.walk("/proc/sys"):
        for path in (f"{folder}/{name}" for name in names):
            if os.stat(path).st_mode & 0o600 == 0o600 and not COUNTERS.search(path):
                yield f"sysctl {path}: {value(path)!r}"


def value(path: str) -> bytes:
    """Return a kernel setting; what the kernel says instead where it has none (EIO)."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        return str(error).encode()


def main() -> None:
    """Print everything, sorted."""
    live = "--live" in sys.argv[1:]
    found = set(files(re.compile(f"{OWN}|{SERVICES}" if live else OWN))) | set(kernel_settings())
    found |= {f"mount {line}" for line in Path("/proc/self/mounts").read_text().splitlines()}
    for command in COMMANDS:
        done = subprocess.run(command.split(), capture_output=True, text=True, check=True)
        found |= {f"{command}: {line}" for line in done.stdout.splitlines()}
    print("\n".join(sorted(found)))


main()
