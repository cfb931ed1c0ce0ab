"""What a host is read for: configuration files of some folders, commands, and what is left out."""

import os
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.host import support
from ansible_collections.millrace.kafka.plugins.module_utils.host.support import Collected, LeftOut


@pytest.fixture(autouse=True)
def no_other_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "FILES", ())


def read(folder: Path, units: str = "/nowhere") -> tuple[dict[str, Collected], dict[str, str]]:
    """Return {path below the folder: what is collected}, and {path: why it is left out}."""
    found = list(support.configuration([str(folder)], units))
    return (
        {one.source.removeprefix(f"{folder}/"): one for one in found if isinstance(one, Collected)},
        {one.source.removeprefix(f"{folder}/"): one.reason for one in found if isinstance(one, LeftOut)},
    )


def test_files_and_what_is_left_out(tmp_path: Path) -> None:
    """Keys, files that consist of secrets, programs, links and binary files are not read."""
    for name, text in {
        "server.properties": "a=1\nssl.key.password=abc\n",
        "zoo.cfg.before-failover": "x=1\n",
        "tls/ca.conf": "x",
        "keystore.pem": "x",
        "secrets.properties": "x",
        "job.env": "x",
        "fence.py": "x",
        "notes": "x",
        "binary.conf": "a\0b",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "linked.conf").symlink_to("/etc/shadow")
    os.mkfifo(tmp_path / "pipe.conf")
    collected, left_out = read(tmp_path)
    assert {name: (one.content, one.removed) for name, one in collected.items()} == {
        "server.properties": ("a=1\nssl.key.password=(removed)\n", 1),
        "zoo.cfg.before-failover": ("x=1\n", 0),
    }
    assert collected["server.properties"].name == f"files{tmp_path}/server.properties"
    assert left_out == {
        "tls/ca.conf": "a key, a certificate or a keystore",
        "keystore.pem": "a key, a certificate or a keystore",
        "secrets.properties": "the file may consist of secrets",
        "job.env": "the file may consist of secrets",
        "fence.py": "a program",
        "notes": "not a known kind of configuration file",
        "binary.conf": "not a text file",
        "linked.conf": "a link to /etc/shadow",
        "pipe.conf": "not a regular file",
    }


def test_units_of_the_project_alone(tmp_path: Path) -> None:
    for name in ("kafka.service", "spark-job@a.service", "cron.service", "kafka.service.d/overrides.conf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[Service]\n")
    found = [one.source for one in support.configuration([], str(tmp_path))]
    expected = ["kafka.service", "kafka.service.d/overrides.conf", "spark-job@a.service"]
    assert found == [f"{tmp_path}/{name}" for name in expected]


def test_a_long_file_is_cut_after_its_secrets_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a line's end, so that no part of a secret is left."""
    monkeypatch.setattr(support, "CONFIG_BYTES", 40)
    (tmp_path / "a.conf").write_text("x=1\n" * 8 + "password=abcdefghijklm\n" + "y=1\n" * 5)
    collected, _ = read(tmp_path)
    assert collected["a.conf"].content == "x=1\n" * 8
    assert collected["a.conf"].cut


def test_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "MOST_FILES", 2)
    for number in range(5):
        (tmp_path / f"{number}.conf").write_text("")
    collected, left_out = read(tmp_path)
    assert sorted(collected) == ["0.conf", "1.conf"]
    assert left_out == {"3 configuration files": "more than 2 files"}


def commands(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """Have these commands only, each with a script of sh."""
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_a_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest entries remain; times as in the files; the units of the functions and their helpers."""
    script = 'echo "$@"; echo password=abc; for n in 1 2 3 4 5 6 7 8 9; do echo "line $n"; done'
    commands(tmp_path, monkeypatch, journalctl=script)
    whole = support.journal(["kafka.service", "a.timer"], "2026-11-29T12:00:00Z", "-1h", 7)
    assert isinstance(whole, Collected)
    options, password, *_ = whole.content.splitlines()
    assert "--lines=7 --since=2026-11-29 12:00:00 --until=-1h" in options
    assert options.endswith("--unit=a.timer --unit=kafka* --unit=millrace-*")
    assert (password, whole.removed, whole.cut) == ("password=(removed)", 1, False)
    monkeypatch.setattr(support, "JOURNAL_BYTES", 20)
    newest = support.journal(["kafka.service"], "-1h", None, 7)
    assert isinstance(newest, Collected)
    assert (newest.content, newest.cut) == ("line 8\nline 9\n", True)


def collected_with(units: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return {name: content} and {first word of a command: why it is left out}."""
    found = support.collect({"units": ["kafka.service"], "since": "-1h", "most": 5, "unit_folder": str(units)})
    reasons = {one["source"].split()[0]: one["reason"] for one in found["left_out"]}
    return {file["name"]: file["content"] for file in found["files"]}, reasons


def test_commands_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without systemd or programs, the rest is there, and the reasons are listed."""
    commands(tmp_path, monkeypatch, df="echo half; echo broken >&2; exit 3")
    monkeypatch.setattr(support, "FOLDERS", ())
    files, reasons = collected_with(tmp_path)
    assert files["system/disks.txt"] == "half\nbroken\n(exit status 3)\n"
    assert reasons["systemctl"] == reasons["journalctl"] == "No such file or directory"
    assert "MemTotal" in files["system/meminfo.txt"]


def test_a_command_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands(tmp_path, monkeypatch, findmnt="while :; do :; done")
    monkeypatch.setattr(support, "SECONDS", 0.1)
    monkeypatch.setattr(support, "FOLDERS", ())
    _, reasons = collected_with(tmp_path)
    assert reasons["findmnt"] == "no answer within 0 s"
