"""Ask ZooKeeper what a znode holds, delete one, and end the session of a process that died.

Kept apart from what is asked, and why: fence.py, hand_over.py, registration.py. Written for Python 3.9 without any
package.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

NEXT, ALL = 1.0, 5.0  # seconds: until the next server is asked as well, for everything
LONGEST = 1 << 20  # bytes of an answer: ZooKeeper's own limit
OWN, TAKEN = 6000, 4000  # ms that a session is asked to last: one that was taken over, and not ended, ends soon
DELETE, EXISTS, GET_DATA, CHILDREN, CHECK, MULTI, CLOSE = 2, 3, 4, 8, 13, 14, -11  # ZooKeeper's numbers of requests
PART = struct.Struct(">i?i")  # of a MULTI: number of a request, whether it is the end, error
NO_NODE = -101
CONNECTING = struct.Struct(">iqiqi16s?")  # version, last change seen, ms, session, its password, whether to read only
STAT = struct.Struct(">qqqqiiiqiiq")  # of a znode: czxid mzxid ctime mtime version cversion aversion owner ...
CHECKSUM = 0xB3415C00  # ZooKeeperServer.superSecret
FACTOR, BITS_48 = 0x5DEECE66D, (1 << 48) - 1  # of java.util.Random


class RefusedError(Exception):
    """Nobody answers, or the answer is an error."""


class Znode(NamedTuple):
    """What ZooKeeper holds at a path."""

    data: bytes
    owner: int
    """The session that it ends with; 0 for none."""
    version: int = 0
    """How often its data were written."""


def in_turn(servers: Sequence[str]) -> list[str]:
    """Return them in an order in which each comes after one of another server and, mostly, another network.

    Half of the addresses are the servers' own on one network, and the others, in the same order, those on a second one.
    Where they are meant otherwise, this is some order.
    """
    half, odd = divmod(len(servers), 2)
    if odd:
        return list(servers)
    steps = [divmod(step, half) for step in range(len(servers))]
    return [servers[place + half * ((place + again) % 2)] for again, place in steps]


def password(session: int) -> bytes:
    """Return what a session is taken over with. ZooKeeper computes it of the session's number.

    As ZooKeeperServer.generatePasswd does, of which ZooKeeper says that it is a checksum, and no security: who may
    connect decides (docs/security.md). Another one would be refused, and the session would end by itself.
    """
    state, found = (session ^ CHECKSUM ^ FACTOR) & BITS_48, b""
    for _ in range(4):
        state = (state * FACTOR + 0xB) & BITS_48
        found += struct.pack("<I", state >> 16)
    return found


def first(servers: Sequence[str], context: ssl.SSLContext | None, deadline: float) -> Connection:
    """Return a session with the server that answers first.

    They are asked one after the other, the next one at once where one fails, and where nobody has answered for a
    while: one that is frozen, or behind a dead network, takes nothing from the others, and one that is slow is still
    waited for. One that has lost its leader may have given a session before: it has to answer a question. Raises
    RefusedError.
    """
    answers: queue.SimpleQueue[Connection | str] = queue.SimpleQueue()

    def begin(server: str) -> None:
        try:
            connection = Connection(server, context, deadline)
            if not connection.session:
                raise ConnectionError("no session")
            connection.ask(EXISTS, text("/") + b"\0")
            answers.put(connection)
        except Exception as error:
            answers.put(f"{server}: {str(error) or type(error).__name__}")

    left, open_ones, why = list(servers), 0, ""
    while left or open_ones:
        if left:
            threading.Thread(target=begin, args=(left.pop(0),), daemon=True).start()
            open_ones += 1
        time_left = max(deadline - time.monotonic(), 0)
        try:
            answer = answers.get(timeout=min(NEXT, time_left) if left else time_left)
        except queue.Empty:
            if deadline <= time.monotonic():
                break
            continue
        if isinstance(answer, Connection):
            return answer
        open_ones, why = open_ones - 1, f": {answer}"
    raise RefusedError(f"no ZooKeeper server answers{why}")


def text(path: str) -> bytes:
    """Return it as ZooKeeper's messages have it."""
    name = path.encode()
    return struct.pack(">i", len(name)) + name


class ZooKeeper:
    """A session with a server that answers."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Connect as the broker of this file does; all of it takes no longer than ALL. Raises RefusedError."""
        self.deadline = time.monotonic() + ALL
        servers, _, chroot = properties["zookeeper.connect"].partition("/")
        self.root = f"/{chroot}".rstrip("/")
        self.context = None
        if properties.get("zookeeper.ssl.client.enable", "").lower() == "true":
            self.context = ssl.create_default_context(cafile=properties["zookeeper.ssl.truststore.location"])
            self.context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # which, from Python 3.13 on, refuses what Java takes
            self.context.load_cert_chain(properties["zookeeper.ssl.keystore.location"])
        self.connection = first(in_turn(servers.split(",")), self.context, self.deadline)

    def __enter__(self) -> ZooKeeper:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session, and say so."""
        with self.connection, contextlib.suppress(OSError, RefusedError, struct.error):
            self.connection.ask(CLOSE, b"")

    def get(self, path: str) -> Znode | None:
        """Return what is at a path below the chroot; None where there is nothing. Raises RefusedError, OSError."""
        return self.connection.get(self.root + path)

    def children(self, path: str) -> list[str]:
        """Return the names of what is below a path below the chroot. Raises RefusedError, OSError."""
        return self.connection.children(self.root + path)

    def delete(self, path: str, unchanged: str, version: int) -> None:
        """Delete a znode where another one has this version, both below the chroot. Raises as `get`."""
        check, delete = text(self.root + unchanged) + struct.pack(">i", version), text(self.root + path)
        parts = PART.pack(CHECK, False, -1) + check, PART.pack(DELETE, False, -1) + delete + struct.pack(">i", -1)
        answer, at = self.connection.ask(MULTI, b"".join(parts) + PART.pack(-1, True, -1)) or b"", 0
        codes = list[int]()
        while at + PART.size <= len(answer):
            kind, end, code = PART.unpack_from(answer, at)
            if end:
                break
            codes.append(code)
            at += PART.size + (4 if kind == -1 else 0)  # what is refused says so twice
        if codes != [0, 0]:
            raise RefusedError(f"ZooKeeper refused with error {next(filter(None, codes), 'none')}")

    def allow(self, seconds: float) -> None:
        """Let what is asked from now on take so long."""
        self.connection.until = self.deadline = time.monotonic() + seconds

    def end(self, session: int) -> bool:
        """End a session, and with it all that ZooKeeper keeps for its time; return whether there was one.

        Nothing else can be hit by it, whatever happened since somebody looked. Who lives is told that its session is
        over, as if it had expired. Raises RefusedError, OSError.
        """
        with Connection(self.connection.server, self.context, self.deadline, session) as taken:
            if taken.session == session:
                taken.ask(CLOSE, b"")
            return taken.session == session


class Connection:
    """A connection with one server."""

    def __init__(self, server: str, context: ssl.SSLContext | None, until: float, session: int = 0) -> None:
        """Begin a session, or take one over. `session` is 0 afterwards where there is none. Raises OSError."""
        host, _, port = server.strip().rpartition(":")
        host, self.server, self.until, self.number = host.strip("[]"), server, until, 0
        self.socket = socket.create_connection((host, int(port)), timeout=self._left())
        try:
            self.socket.settimeout(self._left())
            self.socket = context.wrap_socket(self.socket, server_hostname=host) if context else self.socket
            lasts, known = (TAKEN, password(session)) if session else (OWN, bytes(16))
            self._send(CONNECTING.pack(0, 0, lasts, session, 16, known, False))
            lasts, number = struct.unpack_from(">iq", self._receive(), 4)
            self.session = number if lasts > 0 else 0
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Connection:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it; the session stays."""
        self.close()

    def close(self) -> None:
        """Close it; the session stays."""
        self.socket.close()

    def get(self, path: str) -> Znode | None:
        """Return what is there; None for nothing."""
        answer = self.ask(GET_DATA, text(path) + b"\0")
        if answer is None:
            return None
        length = max(struct.unpack_from(">i", answer)[0], 0)
        stat = STAT.unpack_from(answer, 4 + length)
        return Znode(answer[4 : 4 + length], stat[7], stat[4])

    def children(self, path: str) -> list[str]:
        """Return the names of what is below; none where there is nothing."""
        answer, names, at = self.ask(CHILDREN, text(path) + b"\0") or bytes(4), list[str](), 4
        for _ in range(struct.unpack_from(">i", answer)[0]):
            length = max(struct.unpack_from(">i", answer, at)[0], 0)
            names.append(answer[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return names

    def ask(self, kind: int, body: bytes) -> bytes | None:
        """Return the body of the answer; None where there is no such znode. Raises RefusedError, OSError."""
        self.number += 1
        self._send(struct.pack(">ii", self.number, kind) + body)
        answer = self._receive()
        number, _, code = struct.unpack_from(">iqi", answer)
        if number != self.number or code not in (0, NO_NODE):
            raise RefusedError(f"ZooKeeper refused with error {code}")
        return answer[16:] if code == 0 else None

    def _left(self) -> float:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        return left

    def _send(self, message: bytes) -> None:
        self.socket.settimeout(self._left())
        self.socket.sendall(struct.pack(">i", len(message)) + message)

    def _receive(self) -> bytes:
        length = struct.unpack(">i", self._exactly(4))[0]
        if not 0 <= length <= LONGEST:
            raise ConnectionError("that is no ZooKeeper server")
        return self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            self.socket.settimeout(self._left())
            part = self.socket.recv(length - len(found))
            if not part:
                raise ConnectionError("the server closed the connection")
            found += part
        return found
