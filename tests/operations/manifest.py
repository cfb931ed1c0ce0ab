"""Runs on a host: prints what a change of it would change, one fact a line. Standard library only.

`--live` leaves out as well what running services write, and the services that timers start now and then.
"""

import os
import re
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
SERVICES = "/data|/var/log|/var/lib/(zookeeper|spark-job|prometheus)|(/var)?/tmp/(hsperfdata_|systemd-private-)[^/]*"
# What the kernel counts, what differs each time it is read, and the limit of inotify, which any lab raises.
COUNTERS = re.compile(r"/(random|pty|quota|binfmt_misc|inotify)/|[/_-](nr|state|count|pid|size)$")
# What `find` reports of a file that was deleted during the walk.
GONE = b": No such file or directory"
COMMANDS = (
    "dpkg-query -W",
    "getent passwd",
    "getent group",
    "systemctl list-unit-files --no-legend --plain",
    "systemctl list-units --all --no-legend --plain --type=service,socket,timer,path,target",
    "nft list ruleset",
)


def files(leave_out: str, root: str = "/") -> set[str]:
    """Return every file's type, mode, owner, size, times and target of a link.

    A directory's entries are facts of their own, so it has no times.
    """
    fact = "file '%p': %y%m %U:%G"
    walk = ["find", root, "-mindepth", "1", "-regextype", "posix-extended", "-regex", leave_out, "-prune"]
    shown = ["-o", "-type", "d", "-printf", rf"{fact}\0", "-o", "-printf", rf"{fact} %s %T@ %C@ %l\0"]
    done = subprocess.run([*walk, *shown], capture_output=True, env={**os.environ, "LC_ALL": "C"})
    errors = [line for line in done.stderr.splitlines() if not line.endswith(GONE)]
    if errors:
        raise OSError(errors)
    text = done.stdout.decode(errors="backslashreplace").replace("\n", "\\n")
    return set(text.removesuffix("\0").split("\0"))


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


def started_by_timers() -> set[str]:
    """Return the services that timers start: each is active for a moment, and nothing has changed the host then."""
    command = ["systemctl", "show", "-p", "Triggers", "--value", "*.timer"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def states(text: str) -> Iterator[str]:
    """Yield the lines of `systemctl list-units` without what timers change: a timer runs as long as its service."""
    passing = started_by_timers()
    for unit, loaded, active, sub, *about in map(str.split, text.splitlines()):
        if unit not in passing:
            yield " ".join([unit, loaded, active, *([] if unit.endswith(".timer") else [sub]), *about])


def main() -> None:
    """Print everything, sorted."""
    live = "--live" in sys.argv[1:]
    found = files(f"{OWN}|{SERVICES}" if live else OWN) | set(kernel_settings())
    found |= {f"mount {line}" for line in Path("/proc/self/mounts").read_text().splitlines()}
    for command in COMMANDS:
        done = subprocess.run(command.split(), capture_output=True, text=True, check=True)
        is_state = live and command.startswith("systemctl list-units")
        lines = states(done.stdout) if is_state else done.stdout.splitlines()
        found |= {f"{command}: {line}" for line in lines}
    print("\n".join(sorted(found)))


if __name__ == "__main__":
    main()
