"""What has another broker elected before the controller stops, against a server that speaks ZooKeeper's protocol."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.fenced import HAND_OVER, Host, Server

CONTROLLER = "/kafka/controller"


@pytest.fixture
def server() -> Iterator[Server]:
    """Return an ensemble where broker 1 is registered and is the controller, and broker 2 is registered."""
    made = Server(
        {
            "/kafka/brokers/ids/2": ({"endpoints": ["CLIENT://198.18.1.22:9092"]}, 0x52),
            CONTROLLER: ({"brokerid": 1}, 0x51),
        }
    )
    yield made
    made.listening.close()


@pytest.fixture
def host(tmp_path: Path, server: Server) -> Iterator[Host]:
    """Return the host of broker 1."""
    made = Host(tmp_path, server)
    yield made
    made.kept.close()


def test_another_is_elected(host: Host, server: Server) -> None:
    """The controller's znode goes, and nothing else; the session of who asked is closed."""
    server.elections = [(2, 0x52)]
    before = {path: said for path, said in server.znodes.items() if path != CONTROLLER}
    assert host.hand_over() == "broker 2 is the controller now\n"
    assert server.znodes == {**before, CONTROLLER: ({"brokerid": 2}, 0x52)}
    assert (server.ended, server.closed) == ([], 1)
    assert host.hand_over() == "broker 1 is not the controller\n"
    assert server.znodes[CONTROLLER] == ({"brokerid": 2}, 0x52)


def test_who_is_elected_again_is_not_to_be_it(host: Host, server: Server) -> None:
    """It hears of the deletion first, now and then."""
    server.elections = [(1, 0x51), (1, 0x51), (2, 0x52)]
    assert host.hand_over() == "broker 2 is the controller now\n"


def test_it_does_not_go_on_for_ever(host: Host, server: Server) -> None:
    """Three times, then the stop goes on as Kafka does it."""
    server.elections = [(1, 0x51)] * 4
    assert host.hand_over() == "broker 1 was elected again\n"
    assert server.elections == [(1, 0x51)]


def test_nobody_is_elected(host: Host, server: Server) -> None:
    """The stop goes on after a while."""
    begun = time.monotonic()
    assert host.hand_over() == "nobody was asked to be the controller first: nobody was elected in time\n"
    assert time.monotonic() - begun < 4


def test_the_next_one_is_waited_for(host: Host, server: Server) -> None:
    """An election takes a moment."""

    def later() -> None:
        server.before[4] = lambda: server.znodes.update({CONTROLLER: ({"brokerid": 2}, 0x52)})

    server.before[2] = later
    assert host.hand_over() == "broker 2 is the controller now\n"


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        (({"brokerid": 2}, 0x52), "broker 1 is not the controller"),
        (({"brokerid": 1}, 0x53), "broker 1 is not the controller"),  # of a process that is gone
        (None, "broker 1 is not the controller"),
    ],
)
def test_another_controller_stays(host: Host, server: Server, controller: tuple[object, int] | None, said: str) -> None:
    """Nothing is deleted."""
    server.znodes.pop(CONTROLLER)
    if controller:
        server.znodes[CONTROLLER] = controller
    before = dict(server.znodes)
    assert host.hand_over() == f"{said}\n"
    assert server.znodes == before


def test_who_runs_elsewhere_under_this_id_stays(host: Host, server: Server) -> None:
    """Its registration has other endpoints than this host's file."""
    server.znodes["/kafka/brokers/ids/1"] = ({"endpoints": ["CLIENT://198.18.1.29:9092"]}, 0x51)
    assert host.hand_over() == "broker 1 is registered by another process\n"
    assert server.znodes[CONTROLLER] == ({"brokerid": 1}, 0x51)


def test_who_is_alone_stays(host: Host, server: Server) -> None:
    """It would be elected again, as the last of a planned outage."""
    del server.znodes["/kafka/brokers/ids/2"]
    assert host.hand_over() == "nobody else could be the controller\n"
    assert server.znodes[CONTROLLER] == ({"brokerid": 1}, 0x51)


def test_no_server_answers(host: Host) -> None:
    """A stop waits no longer than a few seconds for it."""
    host.lines["zookeeper.connect"] = f"127.0.0.1:{host.port}/kafka"  # where nobody listens
    begun = time.monotonic()
    assert host.hand_over().startswith("nobody was asked to be the controller first: no ZooKeeper server answers")
    assert time.monotonic() - begun < 6


def test_it_is_written_for_hosts() -> None:
    """By the host's own Python; whatever happens, the stop goes on."""
    command = [sys.executable, "-I", "-S", str(HAND_OVER), "/nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("nobody was asked to be the controller first: [Errno 2]")
