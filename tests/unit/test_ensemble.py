"""The state of an ensemble, asked from servers that speak ZooKeeper's four-letter words over TCP."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from unit.clock import Clock

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.ensemble import (
    digest_mismatches,
    four_letter_word,
    problems,
    state,
    undeclared_servers,
    wait,
    zookeeper_mode,
)
from ansible_collections.millrace.kafka.plugins.module_utils.zookeeper.restart import seen

SRVR = "Zookeeper version: 3.8.6\nLatency min/avg/max: 0/0.5/12\nReceived: 9\nMode: {}\nNode count: 5\n"
MNTR = "zk_version\t3.8.6\nzk_server_state\tleader\nzk_synced_followers\t{}\nzk_synced_observers\t0\n"
NOT_SERVING = "This ZooKeeper instance is not currently serving requests\n"

Answers = dict[str, str]
Serve = Callable[[str, Answers], None]


class Server(socketserver.ThreadingTCPServer):
    """Answers a word of four letters and closes, as ZooKeeper does; notes what it was asked."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], answers: Answers) -> None:
        """Listen."""
        super().__init__(address, Word)
        self.answers, self.asked = answers, list[str]()


class Word(socketserver.BaseRequestHandler):
    """One connection."""

    server: Server

    def handle(self) -> None:
        """Read the word, answer in two pieces."""
        word = self.request.recv(4).decode()
        self.server.asked.append(word)
        answer = self.server.answers.get(word, "").encode()
        self.request.sendall(answer[:10])
        self.request.sendall(answer[10:])


@pytest.fixture
def port() -> Iterator[int]:
    """A port of all loopback addresses that no other process gets; nobody listens there."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("", 0))
        yield int(kept.getsockname()[1])


@pytest.fixture
def serve(port: int) -> Iterator[Callable[[str, Answers], Server]]:
    """Start a server on an address of 127.0.0.0/8 at the one port of the ensemble."""
    with ExitStack() as stack:

        def start(address: str, answers: Answers) -> Server:
            server = stack.enter_context(Server((address, port), answers))
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            stack.callback(server.shutdown)
            return server

        yield start


SERVERS = {"zk1": "127.0.0.1", "zk2": "127.0.0.2", "zk3": "127.0.0.3"}


def follower() -> Answers:
    """What a server in sync answers."""
    return {"srvr": SRVR.format("follower"), "mntr": MNTR.format(0).replace("leader", "follower")}


def leader(synced: int) -> Answers:
    """What a leader answers with this many followers in sync."""
    return {"srvr": SRVR.format("leader"), "mntr": MNTR.format(synced)}


def test_whole_ensemble(serve: Serve, port: int) -> None:
    serve("127.0.0.1", follower())
    serve("127.0.0.2", leader(2))
    serve("127.0.0.3", follower())
    assert problems(SERVERS, port) == ({"zk1": "follower", "zk2": "leader", "zk3": "follower"}, [])


def test_a_server_is_down(serve: Serve, port: int) -> None:
    """The others are in sync, and still the ensemble can spare none."""
    serve("127.0.0.1", leader(1))
    serve("127.0.0.2", follower())
    assert problems(SERVERS, port) == (
        {"zk1": "leader", "zk2": "follower", "zk3": "down"},
        [f"zk3 (127.0.0.3:{port}): down"],
    )


def test_no_quorum(serve: Serve, port: int) -> None:
    for address in SERVERS.values():
        serve(address, {"srvr": NOT_SERVING})
    modes, found = problems(SERVERS, port)
    assert modes == dict.fromkeys(SERVERS, "not serving")
    assert found == [*(f"{name} ({address}:{port}): not serving" for name, address in SERVERS.items()), "0 leaders"]


def test_two_leaders(serve: Serve, port: int) -> None:
    serve("127.0.0.1", leader(2))
    serve("127.0.0.2", leader(2))
    serve("127.0.0.3", follower())
    assert problems(SERVERS, port)[1] == ["2 leaders"]


def test_a_follower_lags(serve: Serve, port: int) -> None:
    serve("127.0.0.1", leader(1))
    serve("127.0.0.2", follower())
    serve("127.0.0.3", follower())
    assert problems(SERVERS, port)[1] == ["1 of 2 followers in sync"]


HELD = "zk_znode_count\t{}\nzk_approximate_data_size\t{}\nzk_digest_mismatches_count\t{}\n"


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (HELD.format(141, 20311, 0), []),
        (HELD.format(141, 12440, 0), []),  # seen on a lab: the size is approximate
        (HELD.format(140, 20311, 0), ["zk1 141 znodes", "zk3 140 znodes"]),
        ("", ["zk3 reports no znodes"]),
    ],
)
def test_servers_with_other_data(
    serve: Callable[[str, Answers], Server], port: int, last: str, said: list[str]
) -> None:
    """One that has another number of znodes is named with what the others have."""
    for address, answers in (("127.0.0.1", leader(2)), ("127.0.0.2", follower()), ("127.0.0.3", follower())):
        more = last if address.endswith("3") else HELD.format(141, 20311, 0)
        serve(address, {**answers, "mntr": answers["mntr"] + more})
    assert problems(SERVERS, port)[1] == []
    found = problems(SERVERS, port, compare=True)[1]
    assert [line for line in said if line not in "".join(found)] == []
    assert bool(found) == bool(said)


def test_digests_that_differed(serve: Callable[[str, Answers], Server], port: int) -> None:
    """They do not stop a run, since the count remains until the server is restarted."""
    for address, wrong in (("127.0.0.1", 0), ("127.0.0.2", 2)):
        serve(address, {"mntr": HELD.format(141, 20311, wrong)})
    assert digest_mismatches(SERVERS, port) == {"zk2": 2}


def test_servers_that_report_no_data_are_not_the_same(serve: Callable[[str, Answers], Server], port: int) -> None:
    for address, answers in (("127.0.0.1", leader(2)), ("127.0.0.2", follower()), ("127.0.0.3", follower())):
        serve(address, answers)
    assert problems(SERVERS, port, compare=True)[1] != []


def test_observers_are_not_counted(serve: Serve, port: int) -> None:
    serve("127.0.0.1", leader(1))
    serve("127.0.0.2", follower())
    serve("127.0.0.3", {"srvr": SRVR.format("observer")})
    assert problems(SERVERS, port)[1] == []


def test_a_server_alone(serve: Serve, port: int) -> None:
    serve("127.0.0.1", {"srvr": SRVR.format("standalone")})
    assert problems({"zk1": "127.0.0.1"}, port) == ({"zk1": "standalone"}, [])


def test_wait_ends_when_the_last_follower_is_in_sync(
    serve: Callable[[str, Answers], Server], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve("127.0.0.1", follower())
    serve("127.0.0.3", follower())
    server = serve("127.0.0.2", leader(1))
    monkeypatch.setattr(waits, "rest", lambda _: server.answers.update(leader(2)))
    assert wait(SERVERS, port, 20)[1] == []
    assert server.asked.count("mntr") == 2


@pytest.mark.usefixtures("clock")
def test_wait_gives_up_with_the_last_answer(serve: Serve, port: int) -> None:
    serve("127.0.0.1", follower())
    assert wait({"zk1": "127.0.0.1"}, port, 0.3) == ({"zk1": "follower"}, ["0 leaders"])


def test_timeout_zero_asks_once(serve: Callable[[str, Answers], Server], port: int) -> None:
    server = serve("127.0.0.1", follower())
    wait({"zk1": "127.0.0.1"}, port, 0)
    assert server.asked == ["srvr"]


def test_words_of_one_server(serve: Serve, port: int) -> None:
    serve("127.0.0.1", {"srvr": SRVR.format("leader")})
    assert four_letter_word("127.0.0.1", port, "srvr") == SRVR.format("leader")
    assert four_letter_word("127.0.0.9", port, "srvr") == ""
    assert state({"zk1": "127.0.0.1", "zk9": "127.0.0.9"}, port) == {"zk1": "leader", "zk9": "down"}
    texts = ("", NOT_SERVING, SRVR.format("observer"), SRVR.format("read-only"))
    assert [zookeeper_mode(text) for text in texts] == ["down", "not serving", "observer", "read-only"]


def test_only_servers_that_are_expected_have_to_serve(serve: Serve, port: int) -> None:
    serve("127.0.0.1", leader(1))
    serve("127.0.0.2", follower())
    assert problems(SERVERS, port, expected=["zk1", "zk2"])[1] == []
    assert problems(SERVERS, port, expected=["zk3"])[1] == [f"zk3 (127.0.0.3:{port}): down"]


def test_what_the_gate_is_told(serve: Serve, port: int) -> None:
    """Followers as the leader counts them; a leader that does not say whom it has may have anybody."""
    serve("127.0.0.1", leader(1))
    serve("127.0.0.2", follower())
    found = seen(SERVERS, port, [])
    assert (found.modes, found.followers, found.observers) == (state(SERVERS, port), 1, 0)
    serve("127.0.0.3", {"srvr": SRVR.format("leader")})
    assert (seen(SERVERS, port, []).followers, seen({"zk3": "127.0.0.3"}, port, []).followers) == (-1, -1)


QUEUES = "".join(f"zk_cnt_{number}_learner_handler_qp_size\t{{{place}}}\n" for place, number in enumerate((2, 3, 4)))


def test_whom_a_leader_has_it_says_by_what_it_sends(serve: Serve, port: int, clock: Clock) -> None:
    """It sends a word to each every tick; what it had counts for nobody who is gone."""
    texts = [MNTR.format(2) + QUEUES.format(*numbers) for numbers in ((7, 9, 5), (7, 9, 6), (7, 10, 7))]

    class Turns(dict[str, str]):
        def get(self, word: str, default: Any = None) -> Any:
            return texts.pop(0) if word == "mntr" and texts[1:] else texts[0] if word == "mntr" else self[word]

    serve("127.0.0.1", Turns(srvr=SRVR.format("leader")))
    serve("127.0.0.2", follower())
    ids = {"zk1": "1", "zk2": "2", "zk3": "3", "zk4": "4"}
    found = seen({**SERVERS, "zk4": "127.0.0.4"}, port, [], ids=ids)
    assert found.has == {"zk3", "zk4"}


def test_a_leader_that_names_nobody_has_numbers_alone(serve: Serve, port: int, clock: Clock) -> None:
    serve("127.0.0.1", leader(1))
    serve("127.0.0.2", follower())
    assert seen(SERVERS, port, [], ids={"zk1": "1", "zk2": "2", "zk3": "3"}).has is None


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("members", "more"), [(2, 1), (3, 0), (4, 0), (1, 2)])
def test_who_follows_and_is_not_of_the_inventory(members: int, more: int, serve: Serve, port: int) -> None:
    """The leader alone knows who follows it; two here, whoever they are."""
    serve("127.0.0.1", {"srvr": SRVR.format("leader"), "mntr": MNTR.format(2) + "zk_learners\t2\n"})
    assert undeclared_servers({"zk1": "127.0.0.1"}, port, None, {"zk1": "leader"}, members, 0.1) == more


def test_a_server_that_was_cut_off_is_counted_for_a_while(
    serve: Callable[[str, Answers], Server], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is back, and the leader still has what was there before."""
    server = serve("127.0.0.1", {"srvr": SRVR.format("leader"), "mntr": MNTR.format(2) + "zk_learners\t3\n"})
    left = MNTR.format(2) + "zk_learners\t2\n"
    monkeypatch.setattr(waits, "rest", lambda _: server.answers.update(mntr=left))
    assert undeclared_servers({"zk1": "127.0.0.1"}, port, None, {"zk1": "leader"}, 3, 20) == 0


def test_where_nobody_leads_nobody_is_a_stranger(port: int) -> None:
    assert undeclared_servers({"zk1": "127.0.0.1"}, port, None, {"zk1": "follower"}, 1, 20) == 0
