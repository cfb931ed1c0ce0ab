"""Kafka's command-line tools, as packaging/ makes them, with a java that prints what it is given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import tarballs
from unit.packaged import PACKAGING, put

RUN = PACKAGING / "kafka" / "bin" / "kafka-run-class.sh"
LAUNCHERS = tarballs.read_launchers(PACKAGING / "kafka" / "launchers.tsv")


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return bin/ of an unpacked Kafka, in a folder with a blank in its name."""
    folder = tmp_path / "kafka 1" / "bin"
    put(folder / RUN.name, RUN.read_text(), 0o755)
    for item in LAUNCHERS:
        put(folder / item.script, tarballs.launcher_script(item, RUN.name).decode(), 0o755)
    put(tmp_path / "jre" / "bin" / "java", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n", 0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jre"))
    for name in ("CLASSPATH", "KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_JMX_OPTS"):
        monkeypatch.delenv(name, raising=False)
    return folder


def java_arguments(*command: str | Path) -> list[str]:
    """Run a launcher; return what java was given."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=PACKAGING)
    return done.stdout.splitlines()


def test_a_launcher_works_through_a_link_and_keeps_arguments_whole(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("kafka-topics.sh", RUN.name):
        (tmp_path / name).symlink_to(bin_folder / name)
    monkeypatch.setenv("KAFKA_OPTS", "-Da=1 -Xmx7m *")
    home = bin_folder.parent
    assert f"{home}/libs/*" in java_arguments(tmp_path / RUN.name, "tools.Other")
    assert java_arguments(tmp_path / "kafka-topics.sh", "--topic", "two words", "*", "") == [
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Djava.awt.headless=true",
        f"-Dlog4j.configuration=file:{home}/config/tools-log4j.properties",
        "-Da=1",
        "-Xmx7m",
        "*",
        "-cp",
        f"{home}/libs/*",
        "org.apache.kafka.tools.TopicCommand",
        "--topic",
        "two words",
        "*",
        "",
    ]


def test_each_launcher_runs_its_class_with_a_log_file_that_exists(bin_folder: Path) -> None:
    for item in LAUNCHERS:
        given = java_arguments(bin_folder / item.script)
        log = next(word for word in given if word.startswith("-Dlog4j.configuration="))
        assert (PACKAGING / "kafka" / "config" / Path(log).name).is_file(), item.script
        assert item.main_class in given


def test_the_users_own_settings_replace_the_defaults(bin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx9m")
    monkeypatch.setenv("KAFKA_LOG4J_OPTS", "-Dlog4j.configuration=file:/mine")
    given = java_arguments(bin_folder / "kafka-server-start.sh", "server.properties")
    assert [word for word in given if word.startswith(("-Xm", "-Dlog4j"))] == [
        "-Xmx9m",
        "-Dlog4j.configuration=file:/mine",
    ]
    assert "-XX:+ExitOnOutOfMemoryError" in given


def test_help_reaches_a_tool_that_does_not_know_the_word(bin_folder: Path) -> None:
    shell = bin_folder / "zookeeper-shell.sh"
    assert java_arguments(shell, "--help")[-3:] == ["-server", "localhost", "help"]
    assert java_arguments(shell, "zk1:2181", "ls", "/")[-4:] == ["-server", "zk1:2181", "ls", "/"]


def test_without_java_the_tool_says_so(bin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    done = subprocess.run([bin_folder / "kafka-topics.sh"], capture_output=True, text=True)
    assert done.returncode == 127
    assert "/nowhere/bin/java was not found: install a Java runtime" in done.stderr
