"""A fault that did not happen fails: each is looked at while it lasts."""

import socket
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import pytest
from faults import injector
from faults.injector import Injector

HOST = "dc1-kafka1"
SHOWN = "{} 180 DROP tcp -- * * 0.0.0.0/0 0.0.0.0/0 tcp dpt:2281"


@pytest.fixture
def lab() -> Any:
    """A broker's host, whose process is 7."""
    made = MagicMock()
    made.inventory.hosts = lambda group: [HOST] if group == "kafka" else []
    made.pid.return_value = 7
    return made


@pytest.fixture
def on(lab: Any) -> Injector:
    """The faults of that lab."""
    return Injector(lab)


@pytest.fixture
def interfaces(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """What would be done to the host's network."""
    made = MagicMock()
    monkeypatch.setattr(injector, "Interfaces", lambda _: made)
    return made


@pytest.mark.parametrize("state", ["S", "", "t"])
def test_a_process_that_was_not_stopped(lab: Any, on: Injector, state: str) -> None:
    """It runs, it is gone, or somebody traces it."""
    lab.inventory.run.return_value = "T\n"
    on.freeze(HOST, 0)
    lab.inventory.run.return_value = f"{state}\n"
    with pytest.raises(AssertionError, match=f"{HOST}: processes 7 were not frozen to the end"):
        on.freeze(HOST, 0)


@pytest.fixture
def listening(lab: Any) -> Iterator[socket.socket]:
    """The broker's port, on loopback; once it is closed no other process gets it."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        server = socket.create_server(kept.getsockname())
        lab.inventory.client_address = lab.inventory.replication_address = lambda _: "127.0.0.1"
        lab.inventory.port.return_value = server.getsockname()[1]
        yield server
        server.close()


@pytest.mark.parametrize("network", ["client", "replication"])
def test_a_network_that_was_not_cut(
    on: Injector, interfaces: MagicMock, listening: socket.socket, network: str
) -> None:
    with pytest.raises(AssertionError, match=rf"by {network}: reached while it was down: \['{HOST}'\]"):
        on.cut([HOST], network, 0)
    interfaces.up.assert_called_once()


def test_a_network_that_is_cut_and_one_that_was_away_before(
    on: Injector, interfaces: MagicMock, listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(injector, "ANSWERS", 1.0)
    interfaces.down.side_effect = lambda *_, **__: listening.close()
    on.cut([HOST], "client", 0)
    with pytest.raises(AssertionError, match=f"{HOST} answer by client: not within 1 s"):
        on.cut([HOST], "client", 0)


def test_nothing_was_dropped(on: Injector, interfaces: MagicMock) -> None:
    interfaces.inside.return_value = SHOWN.format(3)
    on.drop(HOST, 2281, 0)
    interfaces.inside.return_value = SHOWN.format(0)
    with pytest.raises(AssertionError, match=f"{HOST} sent nothing to port 2281"):
        on.drop(HOST, 2281, 0)
    assert interfaces.inside.call_args.args[2] == "-D"


def test_a_server_that_did_not_stay_down(lab: Any, on: Injector) -> None:
    with pytest.raises(AssertionError, match=rf"kafka\.service of {HOST} did not stay down"), on.down([HOST]):
        pass
    lab.pid.return_value = 0
    with on.down([HOST]):
        pass
    lab.inventory.run.assert_called_with(HOST, "systemctl start kafka.service")
