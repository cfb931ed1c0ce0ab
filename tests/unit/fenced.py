"""A host whose broker is registered, and a server that speaks ZooKeeper's protocol, for tests of fence.py."""

import contextlib
import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = ROOT / "roles" / "kafka" / "files" / "fence.py"
SELF = "0::/system.slice/kafka.service\n"
STAT = struct.Struct(">qqqqiiiqiiq")


class Server(threading.Thread):
    """Answers connect, getData, setData, delete and closeSession of one client after the other."""

    def __init__(self, znodes: dict[str, tuple[object, int]]) -> None:
        """`znodes`: {path: (what its JSON says, session of its owner)}."""
        super().__init__(daemon=True)
        self.znodes, self.versions = znodes, dict[str, int]()
        self.deleted, self.closed, self.before = list[str](), 0, dict[int, Callable[[], object]]()
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
            with connection, contextlib.suppress(OSError):
                self.serve(connection)

    def serve(self, connection: socket.socket) -> None:
        """One session."""
        self.receive(connection)
        self.send(connection, self.greeting)
        while request := self.receive(connection):
            number, kind = struct.unpack_from(">ii", request)
            self.before.pop(kind, lambda: None)()
            if kind == -11:
                self.closed += 1
                self.send(connection, struct.pack(">iqi", number, 9, 0))
                return
            length = struct.unpack_from(">i", request, 8)[0]
            path = request[12 : 12 + length].decode()
            code, answer = self.answer(kind, path, struct.unpack_from(">i", request, len(request) - 4)[0])
            self.send(connection, struct.pack(">iqi", number, 9, code) + answer)

    def answer(self, kind: int, path: str, version: int) -> tuple[int, bytes]:
        """Return the code and the body of an answer."""
        if path not in self.znodes:
            return -101, b""
        data, now = json.dumps(self.znodes[path][0]).encode(), self.versions.get(path, 0)
        if kind != 4 and version != now:
            return -103, b""
        if kind == 2:
            self.deleted.append(path)
            self.versions.pop(path, None)
            del self.znodes[path]
            return 0, b""
        self.versions[path] = now + (kind == 5)
        stat = STAT.pack(1, 1, 1, 1, self.versions[path], 0, 0, self.znodes[path][1], len(data), 0, 1)
        return 0, stat if kind == 5 else struct.pack(">i", len(data)) + data + stat

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
        self.cgroup = SELF
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

    def fence(self) -> str:
        """Run it; return what it says."""
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in self.lines.items()))
        script = (
            "import os, runpy, sys; from pathlib import Path\n"
            "file, properties, groups, own, left = sys.argv[1:]\n"
            "Path(groups, 'system.slice/kafka.service/cgroup.procs').write_text(f'{os.getpid()}\\n{left}')\n"
            "main = runpy.run_path(file)['main']\n"
            "main.__globals__.update(CGROUPS=Path(groups), OWN=Path(own))\n"
            "print(main(properties, 'kafka.service'))\n"
        )
        own = self.groups / "own"
        own.write_text(self.cgroup)
        command = [sys.executable, "-c", script, *map(str, (FENCE, self.properties, self.groups, own)), self.left]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
