"""Which release a host has unpacked and runs, by the names of jars; what its broker speaks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
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
    for function in (releases.in_file, releases.read_it):
        monkeypatch.setattr(function, "__defaults__", (str(tmp_path / "server.properties"),))
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
    old = host / "kafka-clients-3.8.1.jar"
    old.touch()
    sleeping = "import sys, time; held = open(sys.argv[1]); print(flush=True); time.sleep(60)"
    for said, protocol in (("3.8", "3.8"), ("", "3.9")):
        environment = {**os.environ, **({"KAFKA_PROTOCOL": said} if said else {})}
        command = [sys.executable, "-c", sleeping, str(old)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout and process.stdout.readline()
            runs(monkeypatch, {"kafka.service": process.pid})
            (host / "server.properties").write_text("inter.broker.protocol.version=3.9\n")
            assert releases.releases(["kafka"]) == {
                "kafka": {"installed": "3.9.1", "running": "3.8.1", "protocol": protocol}
            }
            process.kill()
    assert not releases.read_it("0")
    assert (releases.open_files("0"), releases.in_force("0")) == ([], "")


def test_who_began_after_the_file_was_written_has_read_it(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ended before systemd was told of the new unit, and a crash: the environment is that of the old one."""
    file = host / "server.properties"
    command = [sys.executable, "-c", "print(flush=True); import time; time.sleep(60)"]
    environment, found = {**os.environ, "KAFKA_PROTOCOL": "3.8"}, list[tuple[str, str]]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout and process.stdout.readline()
        runs(monkeypatch, {"kafka.service": process.pid})
        for text, age, protocol in (("=3.9\n", 60, "3.9"), ("=3.9\n", -60, "3.8"), ("x=1\n", 60, "")):
            file.write_text(f"inter.broker.protocol.version{text}" if text.startswith("=") else text)
            os.utime(file, (time.time() - age,) * 2)
            found.append((releases.releases(["kafka"])["kafka"]["protocol"], protocol))
        process.kill()
    assert [one for one, _ in found] == [wanted for _, wanted in found]
