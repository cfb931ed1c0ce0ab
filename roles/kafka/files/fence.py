"""End what a broker left in ZooKeeper when its process died, on its own host.

`fence.py server.properties unit` ends the session of the dead process, and with it its registration.

ZooKeeper would end it in its time, and until then nobody else leads what the broker led. The unit runs this when all
its processes are gone (ExecStopPost), and before it starts a broker (ExecStartPre: after a power cut). Whatever does
not fit, it leaves to the session. The session is ended, and no znode deleted: nothing that another process registered
meanwhile can be hit, and a broker that lives against all appearance hears of it, and registers again. One whose
registration was deleted would not notice, and stay out of every ISR until it is restarted.

Written for Python 3.9 without any package.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # which -I leaves out

from broker_file import own_endpoints, place, read
from zookeeper_session import ZooKeeper

CONNECT = 1.0  # seconds until who does not refuse a connection counts as somebody
CONTROLLER = "/controller"
LOCK = struct.Struct("@hhqqi")  # of fcntl: type whence start length process
CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


class LeftError(Exception):
    """Nothing is removed; the text says why."""


def main(path: str, unit: str) -> str:
    """Return what was done, in a sentence."""
    try:
        properties = read(path)
        listeners = properties["listeners"].split(",")
        alone(unit, CGROUPS, OWN.read_text())
        silent(listeners)
        unlocked(properties["log.dirs"].split(","))
        with ZooKeeper(properties) as zookeeper:
            return removed(zookeeper, properties)
    except Exception as error:  # whatever it is: the broker has to be started, and its session ends by itself
        return f"the registration is left to its session: {str(error) or type(error).__name__}"


def alone(unit: str, mounted: Path, own: str) -> None:
    """Raise LeftError unless this process is the only one of the unit. `own` is what /proc/self/cgroup says."""
    for line in own.splitlines():
        _, controller, path = line.split(":", 2)
        if controller in ("", "name=systemd") and unit in path.split("/"):
            parts = path.split("/")
            folder = mounted.joinpath("systemd" if controller else "", *parts[1 : parts.index(unit) + 1])
            found = [int(pid) for file in folder.rglob("cgroup.procs") for pid in file.read_text().split()]
            if os.getpid() not in found:
                raise LeftError(f"the processes of {unit} cannot be seen in {folder}")
            if others := sorted(set(found) - {os.getpid()}):
                raise LeftError(f"processes of {unit} are still there: {' '.join(map(str, others))}")
            return
    raise LeftError(f"only {unit} may remove it, when its processes are gone: restart the unit")


def silent(listeners: Sequence[str]) -> None:
    """Raise LeftError unless nobody listens at any address of these: one who was started by hand may live."""
    for listener in listeners:
        host, _, port = listener.split("://", 1)[1].rpartition(":")
        for family, kind, _, _, address in socket.getaddrinfo(host or "localhost", int(port), type=socket.SOCK_STREAM):
            with socket.socket(family, kind) as asked:
                asked.settimeout(CONNECT)
                try:
                    asked.connect(address)
                except ConnectionRefusedError:
                    continue
                raise LeftError(f"something listens at {listener}")


def unlocked(folders: Sequence[str]) -> None:
    """Raise LeftError where a process has locked a log dir, as a broker does before it registers and opens ports.

    A disk that cannot be read is nobody's: a broker that lives has locked another.
    """
    for folder in folders:
        with contextlib.suppress(OSError), open(Path(folder.strip(), ".lock"), "rb") as file:
            answer = fcntl.fcntl(file, fcntl.F_GETLK, LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            if LOCK.unpack(answer)[0] != fcntl.F_UNLCK:
                raise LeftError(f"process {LOCK.unpack(answer)[4]} has locked {folder}")


def removed(zookeeper: ZooKeeper, properties: Mapping[str, str]) -> str:
    """End the sessions that a dead process of this broker had; return what was done."""
    number, znode, done = properties["broker.id"], place(properties), []
    # In this order: a process is registered before it is the controller, so one that is, and is not registered after
    # that, has lost its registration, and is not about to get it.
    ruler, found = zookeeper.get(CONTROLLER), zookeeper.get(znode)
    if found:
        registered = json.loads(found.data)["endpoints"]
        if sorted(registered) != sorted(own_endpoints(properties)) or not found.owner:
            raise LeftError(f"it is of another process, at {', '.join(registered)}")
        silent(registered)  # a host that took the place of this one may have its addresses
        if ended(zookeeper, znode, found.owner):
            both = ", and as the controller" if ruler and ruler.owner == found.owner else ""
            done.append(f"removed the registration of broker {number}, of session {found.owner:#x}{both}")
    if ruler and ruler.owner and not (found and ruler.owner == found.owner):
        named = str(json.loads(ruler.data)["brokerid"])
        if named == number and ended(zookeeper, CONTROLLER, ruler.owner):
            done.append(f"removed broker {number} as the controller, of session {ruler.owner:#x}, not registered")
    return "; ".join(done) or f"broker {number} is not registered"


def ended(zookeeper: ZooKeeper, znode: str, session: int) -> bool:
    """End the session that keeps a znode; return whether there was one. Raises LeftError where it keeps it."""
    there = zookeeper.end(session)
    left = zookeeper.get(znode)
    if left and left.owner == session:
        raise LeftError(f"ZooKeeper does not end session {session:#x}")
    return there


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
