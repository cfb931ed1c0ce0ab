"""Keep what a broker registers in ZooKeeper true to its process, on its own host.

`fence.py server.properties unit` removes the registration that a process left behind when it died.

ZooKeeper would end it with the session, and until then nobody else leads what the broker led. The unit runs this when
all its processes are gone (ExecStopPost), and before it starts a broker (ExecStartPre: after a power cut). Whatever
does not fit, it leaves to the session: the registration of a broker that lives must never be removed, for the broker
does not notice, and stays out of every ISR until it is restarted.

`fence.py server.properties unit SECONDS` goes on for ever, and does that: it restarts a broker that runs, was
registered, and has not been for so long. Kafka does not register again where its old registration was still there when
its new session began. Nobody loses by it: who is not registered leads nothing, and is in no ISR.

Written for Python 3.9 without any package.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

CONNECT, ALL = 1.0, 5.0  # seconds: for a connection, for everything
EVERY = 10.0  # seconds: from one look at the registration to the next
LONGEST = 1 << 20  # bytes of an answer: ZooKeeper's own limit
DELETE, GET_DATA, SET_DATA, CLOSE = 2, 4, 5, -11  # ZooKeeper's numbers of requests
NO_NODE = -101
STAT = struct.Struct(">qqqqiiiqiiq")  # of a znode: czxid mzxid ctime mtime version cversion aversion owner ...
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
        with Session(properties, time.monotonic() + ALL) as session:
            return removed(session, properties["broker.id"], own_endpoints(properties))
    except Exception as error:  # whatever it is: the broker has to be started, and its session ends by itself
        return f"the registration is left to its session: {str(error) or type(error).__name__}"


def watch(path: str, unit: str, seconds: str) -> None:
    """Restart a broker that has lost its registration for so long; looks again and again, and says what it does."""
    lost, tick = Lost(float(seconds)), threading.Event()
    while not tick.wait(EVERY):
        try:
            process = running(unit)
            there = registered(read(path)) if process else None
        except Exception:  # nobody knows then
            process, there = "", None
        if lost.seen(process, there, time.monotonic()):
            print(f"{unit} runs and has not been registered for {seconds} s: it is restarted", flush=True)
            subprocess.run(["systemctl", "--no-block", "try-restart", unit], check=False)


class Lost:
    """Since when a process that was registered is not any more."""

    def __init__(self, seconds: float) -> None:
        """It may be away for so long."""
        self.seconds, self.process, self.since = seconds, "", -1.0

    def seen(self, process: str, there: bool | None, now: float) -> bool:
        """Take one look; return whether it has been away for too long, in every look since. None: nobody knows."""
        if there:
            self.process = process
        if there is not False or not process or process != self.process:  # one that starts has not registered yet
            self.since = -1.0
            return False
        self.since = now if self.since < 0 else self.since
        if now - self.since < self.seconds:
            return False
        self.process = ""
        return True


def running(unit: str) -> str:
    """Return the name that systemd gives to this run of the unit; "" where it is not active."""
    command = ["systemctl", "show", "-p", "ActiveState", "-p", "InvocationID", unit]
    said = subprocess.run(command, stdout=subprocess.PIPE, timeout=ALL, check=True).stdout.decode()
    facts = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    return facts.get("InvocationID", "") if facts.get("ActiveState") == "active" else ""


def registered(properties: Mapping[str, str]) -> bool | None:
    """Tell whether the broker is registered; None where another one is under its id. Raises what a session does."""
    with Session(properties, time.monotonic() + ALL) as session:
        found = session.get(f"/brokers/ids/{properties['broker.id']}")
    if found is None:
        return False
    return sorted(json.loads(found[0])["endpoints"]) == sorted(own_endpoints(properties)) or None


def own_endpoints(properties: Mapping[str, str]) -> list[str]:
    """Return the endpoints that the broker registers."""
    return properties.get("advertised.listeners", properties["listeners"]).split(",")


def read(path: str) -> dict[str, str]:
    """Return the lines `key=value` of a properties file; those that Java would read otherwise are left out."""
    before, found = "", {}
    for line in Path(path).read_text("latin-1").split("\n"):
        if "\\" not in before + line and "=" in line and not line.startswith(("#", "!")):
            key, _, value = line.partition("=")
            found[key] = value
        before = line
    return found


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


def removed(session: Session, number: str, endpoints: Sequence[str]) -> str:
    """Remove the registration, and the one as the controller that the same process had; return what was done."""
    place, controller, gone = f"/brokers/ids/{number}", "/controller", f"broker {number} is not registered"
    found = session.get(place)
    if found is None:
        return gone
    data, version, owner = found
    registered = json.loads(data)["endpoints"]
    if sorted(registered) != sorted(endpoints) or not owner:
        raise LeftError(f"it is of another process, at {', '.join(registered)}")
    silent(registered)  # a host that took the place of this one may have its addresses
    ruler = session.get(controller)
    # Written once more, it has a version that no later registration has when it is made: only this one is deleted.
    if session.set(place, data, version) != owner or not session.delete(place, version + 1):
        return gone
    words = f"removed the registration of broker {number}, of session {owner:#x}"
    if ruler and ruler[2] == owner and session.delete(controller, ruler[1]):
        words += ", and as the controller"
    return words


class Session:
    """A session with the first ZooKeeper server that answers."""

    def __init__(self, properties: Mapping[str, str], deadline: float) -> None:
        """Connect as the broker does; everything ends at the deadline. Raises LeftError."""
        self.deadline, self.number = deadline, 0
        servers, _, chroot = properties["zookeeper.connect"].partition("/")
        self.root = f"/{chroot}".rstrip("/")
        context = None
        if properties.get("zookeeper.ssl.client.enable", "").lower() == "true":
            context = ssl.create_default_context(cafile=properties["zookeeper.ssl.truststore.location"])
            context.load_cert_chain(properties["zookeeper.ssl.keystore.location"])
        why = ""
        for server in servers.split(","):
            host, _, port = server.rpartition(":")
            try:
                connection = socket.create_connection((host, int(port)), timeout=min(CONNECT, self._left()))
                self.connection = context.wrap_socket(connection, server_hostname=host) if context else connection
                self._send(struct.pack(">iqiqi16s?", 0, 0, 6000, 0, 16, b"", False))
                if struct.unpack_from(">ii", self._receive())[1] > 0:
                    return
                why = f"{server}: no session"
            except (OSError, struct.error) as error:
                why = f"{server}: {error}"
        raise LeftError(f"no ZooKeeper server answers: {why}")

    def __enter__(self) -> Session:
        """Return the session."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session, and say so."""
        with self.connection, contextlib.suppress(OSError, LeftError, struct.error):
            self._ask(CLOSE, b"")

    def get(self, path: str) -> tuple[bytes, int, int] | None:
        """Return data, version and owner's session of a znode; None where there is none."""
        answer = self._ask(GET_DATA, self._text(self.root + path) + b"\0")
        if answer is None:
            return None
        length = max(struct.unpack_from(">i", answer)[0], 0)
        stat = STAT.unpack_from(answer, 4 + length)
        return answer[4 : 4 + length], stat[4], stat[7]

    def set(self, path: str, data: bytes, version: int) -> int | None:
        """Write the data of a znode of this version; return its owner's session, None where there is none any more."""
        body = self._text(self.root + path) + self._text(data) + struct.pack(">i", version)
        answer = self._ask(SET_DATA, body)
        return STAT.unpack_from(answer)[7] if answer is not None else None

    def delete(self, path: str, version: int) -> bool:
        """Remove a znode of this version; False where there is none any more."""
        return self._ask(DELETE, self._text(self.root + path) + struct.pack(">i", version)) is not None

    @staticmethod
    def _text(text: str | bytes) -> bytes:
        data = text if isinstance(text, bytes) else text.encode()
        return struct.pack(">i", len(data)) + data

    def _ask(self, kind: int, body: bytes) -> bytes | None:
        self.number += 1
        self._send(struct.pack(">ii", self.number, kind) + body)
        answer = self._receive()
        number, _, code = struct.unpack_from(">iqi", answer)
        if number != self.number or code not in (0, NO_NODE):
            raise LeftError(f"ZooKeeper refused with error {code}")
        return answer[16:] if code == 0 else None

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise LeftError(f"ZooKeeper did not answer within {ALL:.0f} s")
        return left

    def _send(self, message: bytes) -> None:
        self.connection.settimeout(self._left())
        self.connection.sendall(struct.pack(">i", len(message)) + message)

    def _receive(self) -> bytes:
        length = struct.unpack(">i", self._exactly(4))[0]
        if not 0 <= length <= LONGEST:
            raise ConnectionError("that is no ZooKeeper server")
        return self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            self.connection.settimeout(self._left())
            part = self.connection.recv(length - len(found))
            if not part:
                raise ConnectionError("the server closed the connection")
            found += part
        return found


if __name__ == "__main__":
    if sys.argv[3:]:
        watch(*sys.argv[1:])
    else:
        print(main(*sys.argv[1:]))
