"""What tests of running hosts stand on, seen without hosts."""

import os
import subprocess
from pathlib import Path

import pytest
from bench_unchanged import settled
from faults import disks
from faults.lab import until
from operations.conftest import below, kill
from operations.untouched import SETTLED


def test_a_killed_run_takes_its_workers_along_in_sessions_of_their_own() -> None:
    run = subprocess.Popen(
        ["bash", "-c", "setsid --wait bash -c 'sleep 61 & sleep 62' & sleep 63"],
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    until("all have begun", lambda: len(below(run.pid)) >= 4, 30)
    started = below(run.pid)
    kill(run)
    until("all have ended", lambda: not [pid for pid in started if "sleep" in name(pid)], 30)


def name(pid: int) -> str:
    """Return the name of a process that runs."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if "State:\tZ" in status else status.splitlines()[0]


@pytest.mark.parametrize("answers", ["echo 7 kafka.service start waiting", "exit 1"])
def test_a_host_is_looked_at_once_its_manager_has_nothing_queued(tmp_path: Path, answers: str) -> None:
    asked = tmp_path / "asked"
    tool = tmp_path / "systemctl"
    tool.write_text(f"#!/bin/sh\necho asked >>{asked}\n[ $(wc -l <{asked}) -gt 2 ] || {answers}\n")
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", SETTLED], env=environment, check=True, timeout=60)
    assert asked.read_text() == "asked\n" * 3


def test_a_namespace_is_entered_by_the_process_that_is_longest_there(monkeypatch: pytest.MonkeyPatch) -> None:
    entered = list[tuple[str, ...]]()
    monkeypatch.setattr(disks, "machine", lambda *command: entered.append(command))
    disk = object.__new__(disks.Disk)
    disk.device = os.stat("/proc").st_dev
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    with subprocess.Popen(
        [*alone, "sh", "-c", "sleep 600 & echo $!; read line; kill $!"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout
        younger = first.stdout.readline().strip()
        disk._unmount_everywhere()
        first.communicate("\n", timeout=60)
    assert [command for command in entered if command[2] == str(first.pid)] != []
    assert [command for command in entered if command[2] == younger] == []


def test_hosts_are_measured_once_what_they_use_falls_no_more() -> None:
    """Those of a new lab still compile: taken off as idle, it made what a playbook costs them less than nothing."""
    assert settled(iter([3.1, 1.9, 0.52, 0.5, 9.0]).__next__) == 0.5
    with pytest.raises(SystemExit, match=r"do not come to rest: 7\.00 CPU-s a second, and it was 1\.00"):
        settled(iter([1.0, *[7.0] * 12]).__next__)
