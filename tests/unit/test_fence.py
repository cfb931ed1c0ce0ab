"""What removes the registration of a broker that died, against a server that speaks ZooKeeper's protocol."""

import ast
import itertools
import runpy
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from unit.fenced import FENCE, FILES, PASSWORDS, SESSION, TAKE, Host, Server

pytest_plugins = ["unit.fenced"]


def test_the_registration_goes_and_with_it_the_controller(host: Host, server: Server) -> None:
    """Both znodes of its session, and nobody else's; the session of who asked is closed."""
    assert host.fence() == "removed the registration of broker 1, of session 0x51, and as the controller\n"
    assert (server.ended, server.closed, list(server.znodes)) == ([0x51], 1, ["/kafka/brokers/ids/2"])
    assert host.fence() == "broker 1 is not registered\n"


def test_another_controller_stays(host: Host, server: Server) -> None:
    """Another broker is it."""
    server.znodes["/kafka/controller"] = ({"brokerid": 2}, 0x53)
    assert host.fence() == "removed the registration of broker 1, of session 0x51\n"
    assert host.fence() == "broker 1 is not registered\n"
    assert server.ended == [0x51]


def test_a_controller_that_is_not_registered_goes(host: Host, server: Server) -> None:
    """It had lost its registration when it died, or somebody had removed that: nobody rules until it is gone."""
    del server.znodes["/kafka/brokers/ids/1"]
    assert host.fence() == "removed broker 1 as the controller, of session 0x51, not registered\n"
    assert (server.ended, list(server.znodes)) == ([0x51], ["/kafka/brokers/ids/2"])


def test_what_two_processes_left_goes(host: Host, server: Server) -> None:
    """The controller is of an older one than the registration."""
    server.znodes["/kafka/controller"] = ({"brokerid": 1}, 0x53)
    assert host.fence() == (
        "removed the registration of broker 1, of session 0x51; "
        "removed broker 1 as the controller, of session 0x53, not registered\n"
    )
    assert server.ended == [0x51, 0x53]


def test_who_becomes_the_controller_meanwhile_stays(host: Host, server: Server) -> None:
    """Registered elsewhere under this id, and then the controller, while this host looks."""
    elsewhere = ({"endpoints": ["CLIENT://198.18.1.29:9092"]}, 0x53)
    server.znodes = {}
    there = {"/kafka/brokers/ids/1": elsewhere, "/kafka/controller": ({"brokerid": 1}, 0x53)}
    server.before[4] = lambda: server.before.update({4: lambda: server.znodes.update(there)})
    assert "it is of another process, at CLIENT://198.18.1.29:9092" in host.fence()
    assert server.ended == []


def test_a_registration_elsewhere_stays(host: Host, server: Server) -> None:
    """The id runs on another host, or at an address that the file of this one no longer says."""
    server.znodes["/kafka/brokers/ids/1"] = ({"endpoints": ["CLIENT://198.18.1.29:9092"]}, 0x51)
    said = "the registration is left to its session: it is of another process, at CLIENT://198.18.1.29:9092"
    assert (host.fence(), server.ended) == (f"{said}\n", [])


def test_a_registration_without_a_session_stays(host: Host, server: Server) -> None:
    """No broker made it."""
    server.znodes["/kafka/brokers/ids/1"] = (server.znodes["/kafka/brokers/ids/1"][0], 0)
    assert "left to its session" in host.fence()
    assert server.ended == []


def test_a_process_that_is_left_keeps_it(host: Host, server: Server) -> None:
    """One that no signal ends, as in an access to a dead disk, may still write."""
    host.left = "4711\n"
    assert host.fence().endswith("left to its session: processes of kafka.service are still there: 4711\n")
    assert server.ended == []


def test_a_process_below_keeps_it(host: Host, server: Server) -> None:
    """Also in a group below that of the unit."""
    (host.own / "child").mkdir()
    (host.own / "child" / "cgroup.procs").write_text("4712\n")
    assert host.fence().endswith("processes of kafka.service are still there: 4712\n")
    assert server.ended == []


@pytest.mark.parametrize("own", ["0::/user.slice/session-1.scope\n", "0::/system.slice/kafka.service.d\n"])
def test_a_person_cannot_run_it(host: Host, server: Server, own: str) -> None:
    """By hand the broker may live."""
    host.cgroup = own
    assert "only kafka.service may remove it" in host.fence()
    assert server.ended == []


def test_a_listener_keeps_it(host: Host, server: Server) -> None:
    """A broker that was started by hand, or one that is frozen, still has its port."""
    with socket.create_server(("127.0.0.1", host.port)):
        assert f"something listens at CLIENT://127.0.0.1:{host.port}" in host.fence()
    assert server.ended == []


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
    assert server.ended == []
    assert host.fence().startswith("removed the registration of broker 1")


def test_who_answers_at_its_addresses_keeps_it(host: Host, server: Server) -> None:
    """The host was replaced, and its addresses are the other's now."""
    with socket.create_server(("127.0.0.2", host.port)):
        assert f"something listens at CLIENT://127.0.0.2:{host.port}" in host.fence()
    assert server.ended == []


@pytest.mark.parametrize("address", ["127.0.0.1", "198.18.1.29"])
def test_another_registers_meanwhile(host: Host, server: Server, address: str) -> None:
    """Between the look and the removal, here or elsewhere: it keeps its registration, and what that says."""
    living = ({"endpoints": [f"CLIENT://{address}:{host.port}"]}, 0x53)

    def anew() -> None:
        server.znodes.clear()
        server.znodes["/kafka/brokers/ids/1"] = living

    server.before[TAKE] = anew
    assert host.fence() == "broker 1 is not registered\n"
    assert (server.znodes, server.ended) == ({"/kafka/brokers/ids/1": living}, [])


def test_a_session_that_is_not_given_stays(host: Host, server: Server) -> None:
    """ZooKeeper may know it by another password one day."""
    server.passwords = {0x51: bytes(16).hex()}
    assert host.fence() == "the registration is left to its session: ZooKeeper does not end session 0x51\n"
    assert server.ended == []


@pytest.mark.parametrize("session", PASSWORDS)
def test_how_a_session_is_taken_over(session: int) -> None:
    """As Java computes it, of numbers of any sign."""
    assert runpy.run_path(str(SESSION))["password"](session).hex() == PASSWORDS[session]


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
    assert server.ended == []


def test_the_next_server_is_asked(host: Host, server: Server) -> None:
    """One that is down refuses."""
    down = host.port  # kept, and nobody listens there
    host.lines["zookeeper.connect"] = f"127.0.0.1:{down},127.0.0.1:{server.port}/kafka"
    assert host.fence().startswith("removed the registration of broker 1")
    host.lines["zookeeper.connect"] = f"127.0.0.1:{down}/kafka"
    assert "no ZooKeeper server answers: 127.0.0.1:" in host.fence()


class Stuck(Server):
    """Gives sessions, and answers nothing then: it has lost its leader."""

    def answer(self, kind: int, path: str) -> tuple[int, bytes]:
        """Wait for longer than anybody does."""
        threading.Event().wait(600)
        return super().answer(kind, path)


@pytest.mark.parametrize("first", ["takes connections alone", "gives a session alone"])
def test_who_does_not_answer_is_passed_over(host: Host, server: Server, first: str) -> None:
    """A server that is frozen, or cut off from its leader, delays the next question by NEXT, and not by ALL."""
    host.limits["NEXT"] = 0.1
    stuck = Stuck({})
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        port = stuck.port if "session" in first else frozen.getsockname()[1]
        host.lines["zookeeper.connect"] = f"127.0.0.1:{port},127.0.0.1:{port},127.0.0.1:{server.port}/kafka"
        assert host.fence() == "removed the registration of broker 1, of session 0x51, and as the controller\n"
    stuck.listening.close()


def test_who_is_slow_is_waited_for(host: Host, server: Server) -> None:
    """Though the next server is asked meanwhile, as on a machine that does much else."""
    host.limits["NEXT"], accepted = 0.1, list[object]()
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        server.delay = lambda: accepted.append(frozen.accept())
        port = frozen.getsockname()[1]
        host.lines["zookeeper.connect"] = f"127.0.0.1:{server.port},127.0.0.1:{port},127.0.0.1:{port}/kafka"
        assert host.fence().startswith("removed the registration of broker 1")


def test_nobody_answers(host: Host) -> None:
    """In the time that there is for all of them."""
    host.limits["ALL"] = 0.5
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        host.lines["zookeeper.connect"] = f"127.0.0.1:{frozen.getsockname()[1]}/kafka"
        assert host.fence().startswith("the registration is left to its session: no ZooKeeper server answers")


@pytest.mark.parametrize("servers", [2, 3, 4, 5, 7])
def test_both_networks_are_tried_early(servers: int) -> None:
    """kafka_zookeeper_connect lists one after the other: the second address is on the other one, of another server."""
    listed = [f"{network}{server}" for network in "ab" for server in range(servers)]
    turns = runpy.run_path(str(SESSION))["in_turn"](listed)
    assert sorted(turns) == sorted(listed)
    assert turns[:2] == ["a0", "b1"]
    assert all(one[1] != other[1] for one, other in itertools.pairwise(turns))
    assert sorted(turn[1] for turn in turns[:servers]) == sorted(map(str, range(servers)))


@pytest.mark.parametrize("listed", [["a"], ["a", "b", "c"]])
def test_servers_of_one_network(listed: list[str]) -> None:
    assert runpy.run_path(str(SESSION))["in_turn"](listed) == listed


def test_without_chroot_and_advertised_listeners(host: Host, server: Server) -> None:
    """As a cluster that has ZooKeeper to itself, and tells what it binds."""
    host.lines["zookeeper.connect"] = f"127.0.0.1:{server.port}"
    del host.lines["advertised.listeners"]
    server.znodes["/brokers/ids/1"] = ({"endpoints": [host.lines["listeners"]]}, 0x51)
    assert host.fence() == "removed the registration of broker 1, of session 0x51\n"
    assert (server.ended, "/brokers/ids/1" in server.znodes) == ([0x51], False)


def test_it_is_written_for_hosts() -> None:
    """By the host's own Python, without the packages of the control node."""
    command = [sys.executable, "-I", "-S", str(FENCE), "/nowhere", "kafka.service"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "left to its session: [Errno 2] No such file or directory: '/nowhere'" in done.stdout


def test_hosts_have_an_older_python() -> None:
    for file in FILES.glob("*.py"):
        ast.parse(file.read_text(), feature_version=(3, 9))
