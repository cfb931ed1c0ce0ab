"""Remove the registration that a broker's process left behind when it died: `fence.py server.properties unit`.

ZooKeeper would end it with the session, and until then nobody else leads what the broker led. The unit runs this when
all its processes are gone (ExecStopPost), and before it starts a broker (ExecStartPre: after a power cut). Whatever
does not fit, it leaves to the session: the registration of a broker that lives must never be removed, for the broker
does not notice, and stays out of every ISR until it is restarted. Written for Python 3.9 without any package.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import ssl
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

CONNECT, ANSWER, ALL = 1.0, 2.0, 5.0  # seconds: for a connection, for an answer, for everything
DELETE, GET_DATA, CLOSE = 2, 4, -11  # ZooKeeper's numbers of requests
NO_NODE = -101
LOCK = struct.Struct("@hhqqi")  # of fcntl: type whence start length process
CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
STAT = struct.Struct(">qqqqiiiqiiq")  # of a znode: czxid mzxid ctime mtime version cversion aversion owner ...


class LeftError(Exception):
    """Nothing is removed; the text says why."""


def main(path: str, unit: str) -> str:
    """Return what was done, in a sentence."""
    properties = read(path)
    number = properties["broker.id"]
    try:
        alone(unit, CGROUPS, OWN.read_text())
        silent(properties["listeners"].split(","))
        unlocked(properties["log.dirs"].split(","))
        with Session(properties) as session:
            return removed(session, number, properties.get("advertised.listeners", properties["listeners"]).split(","))
    except (LeftError, OSError, KeyError, ValueError, struct.error) as error:
        return f"the registration of broker {number} is left to its session: {error}"


def read(path: str) -> dict[str, str]:
    """Return the lines `key=value` of a properties file; those that Java would read otherwise are left out."""
    lines = [line.split("=", 1) for line in Path(path).read_text().splitlines() if "\\" not in line]
    return {line[0]: line[1] for line in lines if len(line) == 2 and not line[0].startswith("#")}


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
    """Raise LeftError unless nobody listens where the broker did: one who was started by hand may live."""
    for listener in listeners:
        host, _, port = listener.split("://", 1)[1].rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=CONNECT).close()
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


def removed(session: Session, number: str, endpoints: Sequence[str]) -> str:
    """Remove the registration, and the one as the controller that the same process had; return what was done."""
    place, controller = f"/brokers/ids/{number}", "/controller"
    found = session.get(place)
    if found is None:
        return f"broker {number} is not registered"
    data, version, owner = found
    registered = json.loads(data)["endpoints"]
    if sorted(registered) != sorted(endpoints):
        raise LeftError(f"it is of another process, at {', '.join(registered)}")
    ruler = session.get(controller)
    if not session.delete(place, version):
        return f"broker {number} is not registered"
    words = f"removed the registration of broker {number}, of session {owner:#x}"
    if ruler and ruler[2] == owner and session.delete(controller, ruler[1]):
        words += ", and as the controller"
    return words


class Session:
    """A session with the first ZooKeeper server that answers."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Connect as the broker does. Raises LeftError."""
        servers, _, chroot = properties["zookeeper.connect"].partition("/")
        self.root = f"/{chroot}".rstrip("/")
        context = None
        if properties.get("zookeeper.ssl.client.enable") == "true":
            context = ssl.create_default_context(cafile=properties["zookeeper.ssl.truststore.location"])
            context.load_cert_chain(properties["zookeeper.ssl.keystore.location"])
        deadline, why = time.monotonic() + ALL, ""
        for server in servers.split(","):
            host, _, port = server.rpartition(":")
            try:
                connection = socket.create_connection((host, int(port)), timeout=CONNECT)
                connection.settimeout(ANSWER)
                self.connection = context.wrap_socket(connection, server_hostname=host) if context else connection
                self._send(struct.pack(">iqiqi16s?", 0, 0, 6000, 0, 16, b"", False))
                if struct.unpack_from(">ii", self._receive())[1] <= 0:
                    raise ConnectionError("no session")
                return
            except OSError as error:
                why = f"{server}: {error}"
            if time.monotonic() > deadline:
                break
        raise LeftError(f"no ZooKeeper server answers: {why}")

    def __enter__(self) -> Session:
        """Return the session."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session, and say so."""
        with self.connection, contextlib.suppress(OSError):
            self._ask(CLOSE, b"")

    def get(self, path: str) -> tuple[bytes, int, int] | None:
        """Return data, version and owner's session of a znode; None where there is none."""
        answer = self._ask(GET_DATA, self._path(path) + b"\0")
        if answer is None:
            return None
        length = max(struct.unpack_from(">i", answer)[0], 0)
        stat = STAT.unpack_from(answer, 4 + length)
        return answer[4 : 4 + length], stat[4], stat[7]

    def delete(self, path: str, version: int) -> bool:
        """Remove a znode of this version; False where there is none any more."""
        return self._ask(DELETE, self._path(path) + struct.pack(">i", version)) is not None

    def _path(self, path: str) -> bytes:
        name = f"{self.root}{path}".encode()
        return struct.pack(">i", len(name)) + name

    def _ask(self, kind: int, body: bytes) -> bytes | None:
        self._send(struct.pack(">ii", 1, kind) + body)
        answer = self._receive()
        code = struct.unpack_from(">i", answer, 12)[0]  # after the number of the request, and a zxid
        if code not in (0, NO_NODE):
            raise LeftError(f"ZooKeeper refused with error {code}")
        return answer[16:] if code == 0 else None

    def _send(self, message: bytes) -> None:
        self.connection.sendall(struct.pack(">i", len(message)) + message)

    def _receive(self) -> bytes:
        return self._exactly(struct.unpack(">i", self._exactly(4))[0])

    def _exactly(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            part = self.connection.recv(length - len(found))
            if not part:
                raise ConnectionError("the server closed the connection")
            found += part
        return found


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
