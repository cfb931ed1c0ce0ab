"""Which release a host has unpacked and runs, by the names of jars; what its broker speaks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.host import releases

JARS = ("kafka-3.9.0.jar", "kafka-clients-3.9.1.jar", "zookeeper-3.8.6.jar", "zookeeper-jute-3.8.6.jar")


def test_version_of() -> None:
    paths = [f"/opt/x/libs/{name}" for name in JARS]
    assert releases.version_of(paths, "kafka-clients") == "3.9.1"
    assert releases.version_of(paths, "zookeeper") == "3.8.6"
    assert releases.version_of(["/x/kafka-clients-3.9.1-cp1.jar"], "kafka-clients") == "3.9.1"
    assert releases.version_of(["/x/kafka-clients-3.9.1.jar.sha1"], "kafka-clients") == ""
    assert releases.version_of([], "kafka-clients") == ""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a host that has both, unpacked below a link, and runs neither."""
    products = {}
    for name, folder in (("kafka", "libs"), ("zookeeper", "lib")):
        made = tmp_path / name / "some version" / folder
        made.mkdir(parents=True)
        for jar in JARS:
            (made / jar).touch()
        (tmp_path / name / "current").symlink_to("some version")
        unit, _, jar = releases.PRODUCTS[name]
        products[name] = (unit, str(tmp_path / name / "current" / folder), jar)
    monkeypatch.setattr(releases, "PRODUCTS", products)
    monkeypatch.setattr(releases, "FILE", str(tmp_path / "server.properties"))
    monkeypatch.setattr(releases.in_file, "__defaults__", (str(tmp_path / "server.properties"),))
    runs(monkeypatch, {})
    return tmp_path


def runs(monkeypatch: pytest.MonkeyPatch, processes: Mapping[str, int]) -> None:
    """Let systemd answer these processes, by unit."""

    def shown(properties: str, names: Sequence[str]) -> list[dict[str, str]]:
        assert properties == "MainPID"
        return [{"MainPID": str(processes.get(name, 0))} for name in names]

    monkeypatch.setattr(releases, "shown", shown)


def test_nothing_is_asked_where_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "shown", lambda *said: pytest.fail("systemd was asked"))
    monkeypatch.setattr(releases, "PRODUCTS", {"kafka": ("kafka.service", "/nowhere/current/libs", "kafka-clients")})
    assert releases.releases([]) == releases.releases(["kafka"]) == {}


def test_what_is_unpacked_and_down(host: Path) -> None:
    assert releases.releases(["kafka", "zookeeper"]) == {
        "kafka": {"installed": "3.9.1", "running": "", "protocol": ""},
        "zookeeper": {"installed": "3.8.6", "running": ""},
    }
    (host / "server.properties").write_text("a=1\ninter.broker.protocol.version=3.8\n")
    assert releases.releases(["kafka"])["kafka"]["protocol"] == "3.8"


def test_what_runs(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is of the release before, and speaks what it was started with, whatever the file says since."""
    (host / "server.properties").write_text("inter.broker.protocol.version=3.9\n")
    old = host / "kafka-clients-3.8.1.jar"
    old.touch()
    sleeping = "import sys, time; held = open(sys.argv[1]); print(flush=True); time.sleep(60)"
    for said, protocol in (("3.8", "3.8"), ("", "3.9")):
        environment = {**os.environ, **({"KAFKA_PROTOCOL": said} if said else {})}
        command = [sys.executable, "-c", sleeping, str(old)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout and process.stdout.readline()
            runs(monkeypatch, {"kafka.service": process.pid})
            assert releases.releases(["kafka"]) == {
                "kafka": {"installed": "3.9.1", "running": "3.8.1", "protocol": protocol}
            }
            process.kill()
    assert (releases.open_files("0"), releases.in_force("0")) == ([], "")
