"""The lock of a run that moves replicas excludes other runs; checking the lock excludes none."""

import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record, alone, limits, save
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.refusals import Refused

NAME = "a run of reassign.yml"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A record's path, beside which is the lock."""
    return tmp_path / "moves-c.json"


@pytest.fixture
def left(path: Path) -> Path:
    """The lock's file of one that was killed."""
    lock = path.with_suffix(".lock")
    lock.write_text("old, pid 1")
    return lock


def looking(lock: Path) -> int:
    """Hold it as a process does that checks it."""
    held = os.open(lock, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)
    return held


def test_a_check_is_refused_while_a_run_moves(path: Path) -> None:
    moving = pytest.raises(Refused, match=f"^{NAME}, pid {os.getpid()}, is moving")
    with alone(path, NAME), moving, alone(path, "another", look=True):
        pass
    with alone(path, "another", look=True):
        pass


def test_a_look_beside_another(path: Path, left: Path) -> None:
    """The name that a killed run has left there is ignored."""
    held = looking(left)
    with alone(path, NAME, look=True):
        assert left.read_text() == "old, pid 1"
    os.close(held)


def test_a_run_waits_until_others_have_looked(path: Path, left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [looking(left)]
    monkeypatch.setattr(waits, "rest", lambda seconds: os.close(held.pop()))
    with alone(path, NAME):
        assert left.read_text() == f"{NAME}, pid {os.getpid()}"
    assert held == []


def test_a_look_that_does_not_end(path: Path, left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for it is limited, and no dead process is named."""
    held, rested = looking(left), list[float]()
    monkeypatch.setattr(waits, "rest", rested.append)
    with pytest.raises(Refused, match=f"^another process keeps {left} locked") as refused, alone(path, NAME):
        pass
    assert "pid 1" not in str(refused.value)
    assert 1 < sum(rested) < 10
    os.close(held)


def test_a_look_makes_no_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if it existed a moment ago."""
    monkeypatch.setattr(Path, "exists", lambda path: True)
    with alone(path, NAME, look=True):
        assert os.listdir(path.parent) == []
    with alone(path / "no folder" / "moves-c.json", NAME, look=True):
        pass


@pytest.fixture
def another(path: Path) -> ExitStack:
    """Another run that moves replicas."""
    stack = ExitStack()
    stack.enter_context(alone(path, "another"))
    return stack


def test_who_waits_is_next(path: Path, another: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "rest", lambda seconds: another.close())
    with alone(path, NAME, wait=1):
        assert path.with_suffix(".lock").read_text().startswith(NAME)


def test_who_waits_in_vain(path: Path, another: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    rested = list[float]()
    monkeypatch.setattr(waits, "rest", rested.append)
    with another, pytest.raises(Refused, match=r"^another, pid \d+, is moving"), alone(path, NAME, wait=10):
        pass
    assert sum(rested) == pytest.approx(10)


def test_limits_are_set_and_taken_back_by_one_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that waited sees no record of a run that has ended meanwhile, of any kind."""
    other = path.with_name("disk-c.json")
    save(other, Record("broker=3", (), None, ()))
    stack = ExitStack()
    assert stack.enter_context(limits(other)) == []

    def end(seconds: float) -> None:
        other.unlink()
        stack.close()

    monkeypatch.setattr(waits, "rest", end)
    with alone(path, NAME), limits(path) as others:
        assert others == []
    assert os.listdir(path.parent) == []


def test_its_end_takes_the_name_away(path: Path) -> None:
    """A process that has the file open reads no name of a run that has ended."""
    with alone(path, NAME):
        opened = path.with_suffix(".lock").open()
    assert opened.read() == "" and os.listdir(path.parent) == []
    opened.close()
