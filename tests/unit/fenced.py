"""A host whose broker is registered, and a server that speaks ZooKeeper's protocol: for tests of roles/kafka/files.

Those name this module in pytest_plugins.
"""

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "roles" / "kafka" / "files"
FENCE, HAND_OVER, REGISTRATION, SESSION = (
    FILES / f"{name}.py" for name in ("fence", "hand_over", "registration", "zookeeper_session")
)
RUN = """
import json, os, runpy, sys
from pathlib import Path

file, limits, *given = sys.argv[1:]
main = runpy.run_path(file)["main"]
for names in (main.__globals__, main.__globals__["ZooKeeper"].__init__.__globals__):
    names.update(json.loads(limits))
"""
"""Loads a file of the role with other limits in seconds."""
MAIN_PID = "show --property=MainPID --value kafka.service"
SELF = "0::/system.slice/kafka.service\n"
PART = struct.Struct(">i?i")  # of a multi: kind, whether it is the end, error
STAT = struct.Struct(">qqqqiiiqiiq")
TAKE = 0  # no number of a request: one takes a session over
# What Java says: new Random(session ^ 0xB3415C00L).nextBytes(...), as ZooKeeper does.
PASSWORDS = {
    0x51: "9a7fad4935605b9c10755f05ba1aca79",
    0x53: "743db949f5c89c1226ef90ae1309a1df",
    0x1000ABCDEF123456: "bc0dedb66d82d0e2f18b0cda69174198",
    -0x7000000000000001: "20f62cb5648dc2d771471c8a2486a9ee",
}


class Server(threading.Thread):
    """Answers connect, exists, getData, getChildren, multi (a check and a delete) and closeSession.

    Who has the password of a session may take it over. Who is elected next, each time that the controller is deleted,
    is in `elections`: (broker id, session); nobody, where none is left.
    """

    def __init__(self, znodes: dict[str, tuple[object, int]]) -> None:
        """`znodes`: {path: (what its JSON says, session of its owner)}."""
        super().__init__(daemon=True)
        self.znodes, self.passwords = znodes, PASSWORDS
        self.delay: Callable[[], object] = lambda: None  # before a session is given
        self.version = 7  # of all data
        self.elections, self.children = list[tuple[int, int]](), b""
        self.ended, self.closed, self.before = list[int](), 0, dict[int, Callable[[], object]]()
        self.greeting = struct.pack(">iiqi16s?", 0, 6000, 77, 16, b"p" * 16, False)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.start()

    def run(self) -> None:
        """Serve until the socket is closed."""
        while True:
            try:
                connection = self.listening.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.one, args=(connection,), daemon=True).start()

    def one(self, connection: socket.socket) -> None:
        """One connection."""
        with connection, contextlib.suppress(OSError):
            self.serve(connection)

    def serve(self, connection: socket.socket) -> None:
        """One session, of its own or taken over."""
        asked = self.receive(connection)
        session, taken = struct.unpack_from(">q", asked, 16)[0], asked[28:44].hex()
        if not session:
            self.delay()
            self.send(connection, self.greeting)
        else:
            self.before.pop(TAKE, lambda: None)()
            lives = session in [owner for _, owner in self.znodes.values()] and self.passwords.get(session) == taken
            self.send(connection, struct.pack(">iiqi16s?", 0, 4000 * lives, session * lives, 16, bytes(16), False))
            if not lives:
                return
        while request := self.receive(connection):
            number, kind = struct.unpack_from(">ii", request)
            self.before.pop(kind, lambda: None)()
            if kind == -11:
                self.end(session)
                self.send(connection, struct.pack(">iqi", number, 9, 0))
                return
            if kind == 14:
                self.send(connection, struct.pack(">iqi", number, 9, 0) + self.deleted(request[8:]))
                continue
            length = struct.unpack_from(">i", request, 8)[0]
            code, answer = self.answer(kind, request[12 : 12 + length].decode())
            self.send(connection, struct.pack(">iqi", number, 9, code) + answer)

    def end(self, session: int) -> None:
        """End a session, with all that is its own."""
        self.closed += not session
        if session:
            self.ended.append(session)
            for path in [path for path, (_, owner) in self.znodes.items() if owner == session]:
                del self.znodes[path]

    def deleted(self, request: bytes) -> bytes:
        """Check one znode and delete another, both or none of it; return the body of the answer."""
        at, paths, versions = 0, list[str](), list[int]()
        for kind in (13, 2):
            assert PART.unpack_from(request, at) == (kind, False, -1)
            length = struct.unpack_from(">i", request, at + 9)[0]
            paths.append(request[at + 13 : at + 13 + length].decode())
            versions += struct.unpack_from(">i", request, at + 13 + length)
            at += 17 + length
        assert PART.unpack_from(request, at) == (-1, True, -1)
        if versions != [self.version, -1] or paths[1] not in self.znodes:
            codes = (-103, -2) if versions[0] != self.version else (0, -101)
            parts = [PART.pack(-1, False, code) + struct.pack(">i", code) for code in codes]
        else:
            parts = [PART.pack(13, False, 0), PART.pack(2, False, 0)]
            self.answer(2, paths[1])
        return b"".join(parts) + PART.pack(-1, True, -1)

    def answer(self, kind: int, path: str) -> tuple[int, bytes]:
        """Return the code and the body of an answer."""
        if kind == 8:
            if self.children:
                return 0, self.children
            names = [name[len(path) + 1 :].encode() for name in self.znodes if name.startswith(f"{path}/")]
            return 0, struct.pack(">i", len(names)) + b"".join(struct.pack(">i", len(n)) + n for n in names)
        epoch = {"/kafka/controller_epoch": (3, 0)}  # of nobody's session
        if path not in self.znodes | epoch:
            return -101, b""
        if kind == 2:
            del self.znodes[path]
            if path.endswith("/controller") and self.elections:
                number, session = self.elections.pop(0)
                self.znodes[path] = ({"brokerid": number}, session)
            return 0, b""
        said, owner = (self.znodes | epoch)[path]
        data = json.dumps(said).encode()
        stat = STAT.pack(1, 1, 1, 1, self.version, 0, 0, owner, len(data), 0, 1)
        return 0, stat if kind == 3 else struct.pack(">i", len(data)) + data + stat

    def receive(self, connection: socket.socket) -> bytes:
        """Return a message, b"" at the end."""
        length = connection.recv(4)
        return connection.recv(struct.unpack(">i", length)[0]) if length else b""

    def send(self, connection: socket.socket, body: bytes) -> None:
        """Send a message."""
        connection.sendall(struct.pack(">i", len(body)) + body)


class Host:
    """A host whose files the fence reads, and where it runs."""

    def __init__(self, folder: Path, server: Server) -> None:
        """`server` is the ensemble of its broker 1."""
        self.properties = folder / "server.properties"
        self.groups = folder / "cgroup"
        self.own = self.groups / "system.slice" / "kafka.service"
        self.own.mkdir(parents=True)
        self.left = ""
        self.commands = folder / "commands"
        self.commands.mkdir()
        self.cgroup = SELF
        self.limits = {"HELD": 300.0, "ELECTED": 300.0, "NEXT": 1.0, "ALL": 300.0}
        """Seconds, by the names of roles/kafka/files; 300 where no test waits for it."""
        # Nobody listens there, and nobody else is given it.
        self.kept = socket.socket()
        self.kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.kept.bind(("127.0.0.1", 0))
        self.port = self.kept.getsockname()[1]
        self.lines = {
            "broker.id": "1",
            "log.dirs": f"{folder / 'kafka1'},{folder / 'kafka2'}",
            "listeners": f"CLIENT://127.0.0.1:{self.port}",
            "advertised.listeners": f"CLIENT://127.0.0.2:{self.port},REPLICATION://127.0.0.1:{self.port}",
            "zookeeper.connect": f"127.0.0.1:{server.port}/kafka",
        }
        endpoints = self.lines["advertised.listeners"].split(",")[::-1]
        server.znodes["/kafka/brokers/ids/1"] = ({"endpoints": endpoints}, 0x51)

    def write(self) -> None:
        """Write server.properties."""
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in self.lines.items()))

    def running(self, process: int) -> None:
        """Have systemctl say that this is the broker's process."""
        systemctl = self.commands / "systemctl"
        systemctl.write_text(f"#!/bin/sh\n[ \"$*\" = '{MAIN_PID}' ] && echo {process}\n")
        systemctl.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of what runs there."""
        return {**os.environ, "PATH": f"{self.commands}:{os.environ['PATH']}"}

    def command(self, script: str, *given: object) -> list[str]:
        """Return what runs a file with the limits of this host, and then the script."""
        self.write()
        words = map(str, given)
        return [sys.executable, "-I", "-S", "-c", RUN + script, next(words), json.dumps(self.limits), *words]

    def handing_over(self, *stopped: str) -> list[str]:
        """Return the command that hands over."""
        return self.command("print(json.dumps(main(*given)._asdict()))", HAND_OVER, self.properties, *stopped)

    def hand_over(self, *stopped: str) -> str:
        """Run it; return its message, the ids of the former and of the elected controller, and its state."""
        outcome = json.loads(self.ran(self.handing_over(*stopped)))
        return f"{outcome['message']} {outcome['former']} {outcome['elected']} {outcome['state']}"

    def fence(self) -> str:
        """Run it; return what it says."""
        script = (
            "properties, groups, own, left = given\n"
            "Path(groups, 'system.slice/kafka.service/cgroup.procs').write_text(f'{os.getpid()}\\n{left}')\n"
            "main.__globals__.update(CGROUPS=Path(groups), OWN=Path(own))\n"
            "print(main(properties, 'kafka.service'))\n"
        )
        own = self.groups / "own"
        own.write_text(self.cgroup)
        return self.ran(self.command(script, FENCE, self.properties, self.groups, own, self.left))

    def ran(self, command: list[str]) -> str:
        """Run a command; return what it prints. The limit is against hanging."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True, timeout=120)
        return done.stdout


@pytest.fixture
def server() -> Iterator[Server]:
    """Return an ensemble where broker 1 is registered and is the controller, and broker 2 is registered."""
    made = Server(
        {
            "/kafka/brokers/ids/2": ({"endpoints": ["CLIENT://198.18.1.22:9092"]}, 0x52),
            "/kafka/controller": ({"brokerid": 1}, 0x51),
        }
    )
    yield made
    made.listening.close()


@pytest.fixture
def host(tmp_path: Path, server: Server) -> Iterator[Host]:
    """Return the host of broker 1, where nothing runs."""
    made = Host(tmp_path, server)
    yield made
    made.kept.close()


@pytest.fixture
def broker(host: Host) -> Iterator[int]:
    """Return the id of the process that runs there as the broker."""
    with subprocess.Popen(["sleep", "600"]) as process:
        host.running(process.pid)
        yield process.pid
        process.kill()


def state(process: int) -> str:
    """Return a process's state, as T for one that is held."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
