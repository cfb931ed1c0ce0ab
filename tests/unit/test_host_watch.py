"""A unit that is watched after its start, against a made-up `systemctl` and `journalctl`."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from unit.certificate_maker import Ca, key_pem, new_key, pem

from ansible_collections.millrace.kafka.plugins.module_utils.host import answering
from ansible_collections.millrace.kafka.plugins.module_utils.host import units as host_units
from ansible_collections.millrace.kafka.plugins.module_utils.host.paths import StateError
from ansible_collections.millrace.kafka.plugins.module_utils.printable import printable

STAYS = ("active", "running", "3")


def answers(*shown: tuple[str, str, str]) -> list[str]:
    """What systemctl shows, one after the other, the last for ever."""
    return [f"NRestarts={count}\nActiveState={active}\nSubState={sub}\n" for active, sub, count in shown]


@pytest.fixture
def systemd(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what will be shown, for a test to fill."""
    left: list[str] = []

    def run(*argv: str, stdin: str = "") -> str:
        if argv[0] == "journalctl":
            assert "a.service" in argv
            return "Unrecognized VM option\n"
        return left.pop(0) if len(left) > 1 else left[0]

    monkeypatch.setattr(host_units, "run", run)
    return left


@pytest.mark.parametrize(
    "end", [("activating", "auto-restart", "3"), ("failed", "failed", "3"), ("active", "running", "4")]
)
def test_a_unit_that_ends_at_once(end: tuple[str, str, str], systemd: list[str]) -> None:
    """What it said last is why the call fails."""
    systemd += answers(STAYS, end)
    with pytest.raises(StateError, match=r"a\.service was started and ends at once(.|\n)*Unrecognized VM option"):
        host_units.stays("a.service", 60)


def test_a_unit_that_stays(systemd: list[str]) -> None:
    """Earlier restarts are not held against it; without a time it is not watched at all."""
    systemd += answers(STAYS)
    host_units.stays("a.service", 0.7)
    systemd[:] = answers(("failed", "failed", "0"))
    host_units.stays("a.service", 0)


@pytest.mark.parametrize(
    ("ago", "restarts", "starts", "state"),
    [
        ((100, 75, 50, 25), 9, 4, "active"),
        ((100, 75, 50, 25), 9, 0, "inactive"),  # somebody stopped it
        ((100, 75, 50, 25), 9, 0, "failed"),
        ((3000, 1700, 400), 3, 3, "activating"),  # 20 minutes each time
        ((100, 75, 50, 25), 2, 2, "active"),  # started by a run between the second and the third
        ((90, 65, 60), 1, 0, "active"),
        ((25,), 5, 0, "active"),  # the others are longer than an hour ago
        ((900, 880, 860), 3, 0, "active"),  # it runs since a quarter of an hour
        ((), 3, 0, "active"),
    ],
)
def test_a_unit_that_ends_again_and_again(
    ago: tuple[int, ...], restarts: int, starts: int, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen by the times at which systemd started it; what it printed before the last of them is reported."""
    now = 1_790_000_000.0

    def journal(*options: str) -> list[str]:
        assert options[-2].startswith("UNIT=a") or options[-1] == "_SYSTEMD_UNIT=a.service"
        if options[-1] == host_units.RESTARTED:
            return [f"{now - before:.6f} host systemd[1]: a.service: Scheduled restart job" for before in ago]
        assert f"--until=@{int(now) - ago[-1]}" in options
        return ["ERROR millrace: topic lines: not found", "\tat kafka.Kafka$.main(Kafka.scala:92)", "\t... 3 more", ""]

    monkeypatch.setattr(host_units, "journal", journal)
    monkeypatch.setattr(host_units, "run", lambda *argv: f"ActiveState={state}\nNRestarts={restarts}\n")
    monkeypatch.setattr(host_units, "time", SimpleNamespace(time=lambda: now))
    wanted = {
        "starts": starts,
        "seconds": ago[-starts] if starts else 0,
        "line": "ERROR millrace: topic lines: not found",
    }
    assert host_units.failing(["a.service", "b.timer"]) == ({"a.service": wanted} if starts else {})


def test_a_last_line_that_is_not_utf_8_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a unit prints is raw bytes."""
    (tmp_path / "journalctl").write_text("#!/bin/sh\nprintf 'gr\\374n\\033[2J\\n'\n")
    (tmp_path / "journalctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (line,) = host_units.journal("-n", "1")
    assert printable(line) == "gr\N{REPLACEMENT CHARACTER}n\\x1b[2J"


def test_a_unit_that_answers_is_watched_no_longer(systemd: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """After three looks; a fourth one would find that it failed. A unit that ends is found before it is asked."""
    systemd += answers(STAYS, STAYS, STAYS, ("failed", "failed", "3"))
    said = iter([False, False, True])
    monkeypatch.setattr(host_units, "answers", lambda at, tls: (at, tls) == ("198.18.2.21:9093", True) and next(said))
    host_units.stays("a.service", 60, {"at": "198.18.2.21:9093", "tls": True})
    assert next(said, "asked") == "asked"
    systemd[:] = answers(("failed", "failed", "0"))
    with pytest.raises(StateError):
        host_units.stays("a.service", 60, {"at": "198.18.2.21:9093", "tls": True})


@pytest.fixture
def serving() -> Iterator[Callable[[Callable[[socket.socket], object]], str]]:
    """Return what serves one connection after the other, and says where."""
    with contextlib.ExitStack() as open_ones:

        def serve(one: Callable[[socket.socket], object]) -> str:
            listening = open_ones.enter_context(socket.create_server(("127.0.0.1", 0)))

            def run() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        connection = listening.accept()[0]
                        with connection, contextlib.suppress(OSError):
                            one(connection)

            threading.Thread(target=run, daemon=True).start()
            return f"127.0.0.1:{listening.getsockname()[1]}"

        yield serve


def test_a_broker_answers_when_it_processes_requests(
    serving: Callable[[Callable[[socket.socket], object]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open port is none: nobody accepts there, or nobody reads. What is sent is ApiVersions."""
    monkeypatch.setattr(answering, "PATIENCE", 0.3)
    asked = list[bytes]()

    def broker(connection: socket.socket) -> None:
        asked.append(connection.recv(99))
        connection.sendall(bytes(8))

    def ends(connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_WR)
        connection.recv(9999)

    assert answering.answers(serving(broker), False)
    assert asked == [struct.pack(">ihhih", 10, 18, 0, 1, -1)]
    silent = serving(lambda connection: connection.recv(99) and connection.recv(99))
    assert not answering.answers(silent, False) and not answering.answers(silent, True)
    assert not answering.answers(serving(lambda connection: None), True)
    closed = serving(ends)
    assert not answering.answers(closed, False) and not answering.answers(closed, True)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        assert not answering.answers(f"127.0.0.1:{nobody.getsockname()[1]}", False)


def test_a_handshake_or_its_refusal_is_an_answer(
    serving: Callable[[Callable[[socket.socket], object]], str], tmp_path: Path
) -> None:
    """Whose certificate it is does not matter: nothing is said."""
    key, server_pem = new_key(), tmp_path / "server.pem"
    server_pem.write_bytes(pem(Ca("somebody").issue(key)) + key_pem(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_pem)
    assert answering.answers(serving(lambda connection: context.wrap_socket(connection, server_side=True)), True)
    alert = bytes.fromhex("15030300020228")  # fatal, handshake_failure

    def refuses(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(alert)

    assert answering.answers(serving(refuses), True)
