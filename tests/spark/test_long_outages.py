"""Ten minutes without brokers, and without a database: the job says so once a minute, goes on by itself, is exact."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event as Pause

import pytest

from .broker import Broker
from .database import Server
from .helpers import environment, eventually
from .ledger import expected, read_model, send, some_events
from .projected import held, project_orders

pytestmark = pytest.mark.campaign
SAID = {"kafka": "kafka: no answer from ", "database": "database: no answer for "}


@pytest.mark.parametrize("kind", SAID)
def test_an_outage(kind: str, broker: Broker, server: Server, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Events of before and after are there once; of a database's outage also those that came meanwhile."""
    seconds = pytestconfig.getoption("--outage-seconds")
    database, topic, events = server.database(), broker.topic(partitions=2), some_events(600)
    command, log = project_orders(broker, topic, database, tmp_path), tmp_path / "log"
    down, up = {"kafka": (broker.kill, broker.start), "database": (server.stop, server.start)}[kind]
    subprocess.run([*command, "--migrate"], capture_output=True, env=environment(), check=True)

    def in_all() -> int:
        return sum(held(database).values())

    send(broker.servers, topic, events[:200])
    with log.open("ab") as file, subprocess.Popen(command, stderr=file, env=environment()) as job:
        try:
            eventually(in_all, 200, 300)
            begun, mark = time.monotonic(), len(log.read_text())
            down()
            try:
                if kind == "database":
                    send(broker.servers, topic, events[200:400])
                wait(begun + seconds, job, log)
            finally:
                up()
            if kind == "kafka":
                send(broker.servers, topic, events[200:400])
            eventually(in_all, 400, 300)
            back = time.monotonic() - begun - seconds
            send(broker.servers, topic, events[400:])
            eventually(in_all, 600)
            job.send_signal(signal.SIGTERM)
            assert job.wait(120) == 0, log.read_text()[-5000:]
        finally:
            job.kill()
    said = [line for line in log.read_text()[mark:].splitlines() if SAID[kind] in line]
    print(f"{kind}: away for {seconds} s, said {len(said)} times; all is held {back:.1f} s after it is back")
    assert 0.6 * seconds / 60 <= len(said) <= 1.1 * seconds / 60 + 1, said
    assert read_model(database) == expected(events)


def wait(until: float, job: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait so long, and no longer than the job lives."""
    pause: Callable[[float], bool] = Pause().wait
    while time.monotonic() < until:
        assert job.poll() is None, log.read_text()[-5000:]
        pause(1)
