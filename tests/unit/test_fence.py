"""What removes the registration of a broker that died, against a server that speaks ZooKeeper's protocol."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = ROOT / "roles" / "kafka" / "files" / "fence.py"
SELF = "0::/system.slice/kafka.service\n"
OWN = "CLIENT://198.18.1.21:9092,REPLICATION://198.18.2.21:9093"
STAT = struct.Struct(">qqqqiiiqiiq")


class Server(threading.Thread):
    """Answers connect, getData, delete and closeSession of one client after the other."""

    def __init__(self, znodes: dict[str, tuple[object, int]]) -> None:
        """`znodes`: {path: (what its JSON says, session of its owner)}."""
        super().__init__(daemon=True)
        self.znodes, self.deleted, self.closed = znodes, list[str](), 0
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
            with connection:
                self.serve(connection)

    def serve(self, connection: socket.socket) -> None:
        """One session."""
        self.receive(connection)
        self.send(connection, struct.pack(">iiqi16s?", 0, 6000, 77, 16, b"p" * 16, False))
        while request := self.receive(connection):
            number, kind = struct.unpack_from(">ii", request)
            if kind == -11:
                self.closed += 1
                self.send(connection, struct.pack(">iqi", number, 9, 0))
                return
            length = struct.unpack_from(">i", request, 8)[0]
            path = request[12 : 12 + length].decode()
            found = self.znodes.get(path)
            if found is None:
                self.send(connection, struct.pack(">iqi", number, 9, -101))
            elif kind == 4:
                data = json.dumps(found[0]).encode()
                stat = STAT.pack(1, 1, 1, 1, 0, 0, 0, found[1], len(data), 0, 1)
                self.send(connection, struct.pack(">iqii", number, 9, 0, len(data)) + data + stat)
            else:
                assert (kind, struct.unpack_from(">i", request, 12 + length)[0]) == (2, 0)
                self.deleted.append(path)
                del self.znodes[path]
                self.send(connection, struct.pack(">iqi", number, 9, 0))

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
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.lines = {
            "broker.id": "1",
            "log.dirs": f"{folder / 'kafka1'},{folder / 'kafka2'}",
            "listeners": f"CLIENT://127.0.0.1:{self.port}",
            "advertised.listeners": OWN,
            "zookeeper.connect": f"127.0.0.1:{server.port}/kafka",
        }

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


@pytest.fixture
def server() -> Iterator[Server]:
    """Return an ensemble where broker 1 is registered and is the controller, and broker 2 is registered."""
    made = Server(
        {
            "/kafka/brokers/ids/1": ({"endpoints": OWN.split(",")[::-1]}, 0x51),
            "/kafka/brokers/ids/2": ({"endpoints": ["CLIENT://198.18.1.22:9092"]}, 0x52),
            "/kafka/controller": ({"brokerid": 1}, 0x51),
        }
    )
    yield made
    made.listening.close()


@pytest.fixture
def host(tmp_path: Path, server: Server) -> Host:
    """Return the host of broker 1, whose processes are gone."""
    return Host(tmp_path, server)


def test_the_registration_goes_and_with_it_the_controller(host: Host, server: Server) -> None:
    """Both znodes of its session, and nobody else's; its own session is closed."""
    assert host.fence() == "removed the registration of broker 1, of session 0x51, and as the controller\n"
    assert (server.deleted, server.closed) == (["/kafka/brokers/ids/1", "/kafka/controller"], 1)
    assert host.fence() == "broker 1 is not registered\n"


def test_another_controller_stays(host: Host, server: Server) -> None:
    """Of another session it is, whatever it says."""
    server.znodes["/kafka/controller"] = ({"brokerid": 1}, 0x53)
    assert host.fence() == "removed the registration of broker 1, of session 0x51\n"
    assert server.deleted == ["/kafka/brokers/ids/1"]


def test_a_registration_elsewhere_stays(host: Host, server: Server) -> None:
    """The id runs on another host, or at an address that the file of this one no longer says."""
    server.znodes["/kafka/brokers/ids/1"] = ({"endpoints": ["CLIENT://198.18.1.29:9092"]}, 0x51)
    said = "the registration of broker 1 is left to its session: it is of another process, at CLIENT://198.18.1.29:9092"
    assert (host.fence(), server.deleted) == (f"{said}\n", [])


def test_a_process_that_is_left_keeps_it(host: Host, server: Server) -> None:
    """One that no signal ends, as in an access to a dead disk, may still write."""
    host.left = "4711\n"
    assert host.fence().endswith("left to its session: processes of kafka.service are still there: 4711\n")
    assert server.deleted == []


def test_a_process_below_keeps_it(host: Host, server: Server) -> None:
    """Also in a group below that of the unit."""
    (host.own / "child").mkdir()
    (host.own / "child" / "cgroup.procs").write_text("4712\n")
    assert host.fence().endswith("processes of kafka.service are still there: 4712\n")
    assert server.deleted == []


@pytest.mark.parametrize("own", ["0::/user.slice/session-1.scope\n", "0::/system.slice/kafka.service.d\n"])
def test_a_person_cannot_run_it(host: Host, server: Server, own: str) -> None:
    """By hand the broker may live."""
    host.cgroup = own
    assert "only kafka.service may remove it" in host.fence()
    assert server.deleted == []


def test_a_listener_keeps_it(host: Host, server: Server) -> None:
    """A broker that was started by hand, or one that is frozen, still has its port."""
    with socket.create_server(("127.0.0.1", host.port)):
        assert f"something listens at CLIENT://127.0.0.1:{host.port}" in host.fence()
    assert server.deleted == []


def test_a_locked_log_dir_keeps_it(host: Host, server: Server, tmp_path: Path) -> None:
    """A broker that was started by hand has locked its directories before it is registered and opens its ports."""
    lock = tmp_path / "kafka2" / ".lock"
    lock.parent.mkdir()
    lock.touch()
    holds = "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); print('held'); input()"
    with subprocess.Popen(
        [sys.executable, "-c", holds, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        assert f"process {holder.pid} has locked {lock.parent}" in host.fence()
        holder.communicate("\n")
    assert server.deleted == []
    assert host.fence().startswith("removed the registration of broker 1")


def test_the_next_server_is_asked(host: Host, server: Server) -> None:
    """One that is down refuses."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        down = free.getsockname()[1]
    host.lines["zookeeper.connect"] = f"127.0.0.1:{down},127.0.0.1:{server.port}/kafka"
    assert host.fence().startswith("removed the registration of broker 1")
    host.lines["zookeeper.connect"] = f"127.0.0.1:{down}/kafka"
    assert "no ZooKeeper server answers: 127.0.0.1:" in host.fence()


def test_without_chroot_and_advertised_listeners(host: Host, server: Server) -> None:
    """As a cluster that has ZooKeeper to itself, and tells what it binds."""
    host.lines["zookeeper.connect"] = f"127.0.0.1:{server.port}"
    del host.lines["advertised.listeners"]
    server.znodes["/brokers/ids/1"] = ({"endpoints": [host.lines["listeners"]]}, 0x51)
    assert host.fence() == "removed the registration of broker 1, of session 0x51\n"
    assert server.deleted == ["/brokers/ids/1"]


def test_it_is_written_for_hosts() -> None:
    """By the host's own Python, without the packages of the control node."""
    names = subprocess.run(
        [sys.executable, "-I", "-S", str(FENCE), "/nowhere", "kafka.service"], capture_output=True, text=True
    )
    assert "No such file or directory: '/nowhere'" in names.stderr, names
    assert os.access(FENCE, os.R_OK)
