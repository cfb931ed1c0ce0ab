"""What removes the registration of a broker that died, against a server that speaks ZooKeeper's protocol."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.fenced import FENCE, Host, Server


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
