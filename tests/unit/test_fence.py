"""What removes the registration of a broker that died, against a server that speaks ZooKeeper's protocol."""

import contextlib
import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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
    """Return the host of broker 1, whose processes are gone."""
    made = Host(tmp_path, server)
    yield made
    made.kept.close()


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
    said = "the registration is left to its session: it is of another process, at CLIENT://198.18.1.29:9092"
    assert (host.fence(), server.deleted) == (f"{said}\n", [])


def test_a_registration_without_a_session_stays(host: Host, server: Server) -> None:
    """No broker made it."""
    server.znodes["/kafka/brokers/ids/1"] = (server.znodes["/kafka/brokers/ids/1"][0], 0)
    assert "left to its session" in host.fence()
    assert server.deleted == []


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


def test_who_answers_at_its_addresses_keeps_it(host: Host, server: Server) -> None:
    """The host was replaced, and its addresses are the other's now."""
    with socket.create_server(("127.0.0.2", host.port)):
        assert f"something listens at CLIENT://127.0.0.2:{host.port}" in host.fence()
    assert server.deleted == []


def test_another_registers_meanwhile(host: Host, server: Server) -> None:
    """Between the look and the removal, at the same addresses: its registration stays, whenever that is."""
    living = (server.znodes["/kafka/brokers/ids/1"][0], 0x77)
    server.before[5] = lambda: server.znodes.update({"/kafka/brokers/ids/1": living})
    assert host.fence() == "broker 1 is not registered\n"
    server.versions.clear()

    def anew() -> None:
        server.znodes["/kafka/brokers/ids/1"] = living
        server.versions.clear()

    server.before[2] = anew
    assert "left to its session: ZooKeeper refused with error -103" in host.fence()
    assert server.deleted == []


@pytest.mark.parametrize("greeting", [b"", b"ab", b"x" * 2_000_000])
def test_a_strange_server_is_passed_over(host: Host, server: Server, greeting: bytes) -> None:
    """The next one is asked."""
    strange = Server({})
    strange.greeting = greeting
    host.lines["zookeeper.connect"] = f"127.0.0.1:{strange.port},127.0.0.1:{server.port}/kafka"
    assert host.fence().startswith("removed the registration of broker 1")
    strange.listening.close()


@pytest.mark.parametrize(
    ("line", "value"), [("broker.id", "1\\"), ("listeners", ""), ("listeners", "none"), ("zookeeper.connect", "x")]
)
def test_a_file_that_is_not_understood_removes_nothing(host: Host, server: Server, line: str, value: str) -> None:
    """In a sentence, so that the broker is started all the same."""
    host.lines[line] = value
    assert host.fence().startswith("the registration is left to its session: ")
    assert server.deleted == []


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
    command = [sys.executable, "-I", "-S", str(FENCE), "/nowhere", "kafka.service"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "left to its session: [Errno 2] No such file or directory: '/nowhere'" in done.stdout
