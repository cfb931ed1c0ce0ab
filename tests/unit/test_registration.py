"""Who restarts a broker that runs and is not registered any more, against a server that speaks ZooKeeper's protocol."""

import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.lab import until
from unit.fenced import REGISTRATION, Host, Server

pytest_plugins = ["unit.fenced"]


@pytest.fixture
def server() -> Iterator[Server]:
    """Return an ensemble."""
    made = Server({})
    yield made
    made.listening.close()


RESTART = "--no-block try-restart kafka.service"


@pytest.fixture
def said(host: Host, server: Server, tmp_path: Path) -> Iterator[Path]:
    """What systemctl, a stand-in, was told by the real loop; looks follow one another fast, and begin registered."""
    systemctl, said = tmp_path / "bin" / "systemctl", tmp_path / "said"
    systemctl.parent.mkdir()
    systemctl.write_text(
        f'#!/bin/sh\necho "$@" >>{said}\nif [ "$1" = show ]; then echo ActiveState=active; echo InvocationID=run1; fi\n'
    )
    systemctl.chmod(0o755)
    host.write()
    script = (
        "import runpy, sys; watch = runpy.run_path(sys.argv[1])['watch']; watch.__globals__.update(EVERY=0.1)\n"
        "watch(sys.argv[2], 'kafka.service', '0.5')\n"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(REGISTRATION), str(host.properties)]
    with subprocess.Popen(command, env={"PATH": f"{systemctl.parent}:/usr/bin:/bin"}) as process:
        try:
            until("it is seen registered", lambda: server.closed > 3, 60)
            assert "try-restart" not in said.read_text()
            yield said
        finally:
            process.kill()


def look_again(server: Server) -> None:
    """Wait for as many looks as are too many."""
    looks = server.closed
    until("it is looked at again", lambda: server.closed > looks + 10, 60)


def test_one_that_has_lost_its_registration_is_restarted(server: Server, said: Path) -> None:
    """Once."""
    del server.znodes["/kafka/brokers/ids/1"]
    until("it is restarted", lambda: RESTART in said.read_text().splitlines(), 60)
    look_again(server)
    assert said.read_text().splitlines().count(RESTART) == 1, "one that starts is left alone"


@pytest.mark.parametrize(("key", "value"), [("zookeeper.connect", "/kafka2"), ("broker.id", "7")])
def test_a_file_of_another_place_restarts_nobody(host: Host, server: Server, said: Path, key: str, value: str) -> None:
    """The process was started with another one, and is registered there: that the new one fails is seen elsewhere."""
    before = host.lines[key]
    host.lines[key] = value if key == "broker.id" else before.replace("/kafka", value)
    host.write()
    look_again(server)
    assert RESTART not in said.read_text().splitlines()
    host.lines[key] = before
    host.write()
    look_again(server)
    del server.znodes["/kafka/brokers/ids/1"]
    until("it is restarted", lambda: RESTART in said.read_text().splitlines(), 60)


def looks(*seen: tuple[float, str, bool | None]) -> list[bool]:
    """Return what each look at a broker comes to, where it may be away for 40 s."""
    lost = runpy.run_path(str(REGISTRATION))["Lost"](40)
    return [lost.seen(process, there, now) for now, process, there in seen]


@pytest.mark.parametrize(
    "seen",
    [
        ((0, "a", False), (100, "a", False)),
        ((0, "a", True), (10, "b", False), (100, "b", False)),
        ((0, "a", True), (10, "a", False), (45, "a", True), (55, "a", False), (90, "a", False)),
        ((0, "a", True), (10, "a", False), (45, "a", None), (55, "a", False), (90, "a", False)),
        ((0, "a", True), (10, "", None), (100, "", None)),
        ((0, "a", True), (10, "a", False), (45, "a", False)),
    ],
    ids=["was never registered", "another run", "came back", "nobody knew", "was stopped", "not long enough"],
)
def test_who_is_left_alone(seen: tuple[tuple[float, str, bool | None], ...]) -> None:
    assert not any(looks(*seen))


def test_who_is_away_in_every_look_is_restarted_once() -> None:
    said = looks((0, "a", True), (10, "a", False), (30, "a", False), (50, "a", False), (60, "a", False))
    assert said == [False, False, False, True, False]
