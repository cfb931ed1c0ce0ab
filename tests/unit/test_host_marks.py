"""Marks of restarts that a run is to make: what an interrupted one leaves, the next one goes on with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unit.test_host_units import FRESH, RUNNING, Systemd, converge, systemd, unit

from ansible_collections.millrace.kafka.plugins.module_utils.host import marks
from ansible_collections.millrace.kafka.plugins.module_utils.host.units import restarts

__all__ = ["systemd"]
UNIT = "a.service"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of /run/millrace."""
    monkeypatch.setattr(marks, "FOLDER", str(tmp_path / "run"))
    return tmp_path / "run"


@pytest.fixture
def state(systemd: Systemd) -> Callable[..., tuple[list[str], dict[str, bool]]]:
    """Converge the unit, and return what was run and how it is."""
    systemd.set({UNIT: {**RUNNING, "InvocationID": "7"}})

    def call(check_mode: bool = False, **more: Any) -> tuple[list[str], dict[str, bool]]:
        return (host := converge(unit(UNIT, **more), check_mode=check_mode)).changes, host.units[UNIT]

    return call


OWED = {"active": True, "restart_owed": True, "started": False, "marked": True}
DONE = {**OWED, "restart_owed": False}


def test_a_marked_unit_is_restarted_once(state: Callable[..., tuple[list[str], dict[str, bool]]]) -> None:
    assert state(restart="mark") == (["mark a.service"], OWED)
    assert restarts([UNIT]) == {"due": [UNIT], "done": []}
    assert state(restart="mark") == ([], OWED)
    assert state(state="converged") == (["restart a.service"], {**DONE, "started": True})
    assert restarts([UNIT]) == {"due": [], "done": [UNIT]}
    assert state(restart="mark") == ([], DONE), "an interrupted run goes on, and does not begin anew"
    assert state(state="converged") == ([], DONE)
    assert state(restart="end")[0] == ["unmark a.service"]
    assert restarts([UNIT]) == {"due": [], "done": []}
    assert state(restart="end")[0] == []


def test_begun_anew(state: Callable[..., tuple[list[str], dict[str, bool]]]) -> None:
    state(restart="mark")
    state(state="converged")
    assert state(restart="again") == (["mark a.service"], OWED)


def test_what_a_run_for_other_hosts_has_done_spares_nobody(
    state: Callable[..., tuple[list[str], dict[str, bool]]],
) -> None:
    state(restart="mark", restart_hosts=["b", "a"])
    assert marks.run_of(UNIT) == ["a", "b"]
    state(state="converged")
    assert state(restart="mark", restart_hosts=["a", "b"]) == ([], DONE)
    assert state(restart="mark", restart_hosts=["a"]) == (["mark a.service"], OWED)
    assert marks.run_of(UNIT) == ["a"]


def test_who_says_its_hosts_ends_no_other_run(state: Callable[..., tuple[list[str], dict[str, bool]]]) -> None:
    """Its restart would be forgotten."""
    state(restart="mark", restart_hosts=["a", "b"])
    assert state(restart="end", restart_hosts=["a"])[0] == []
    assert restarts([UNIT])["due"] == [UNIT]
    assert state(restart="end", restart_hosts=["b", "a"])[0] == ["unmark a.service"]


def test_what_configures_the_unit_sees_no_mark(state: Callable[..., tuple[list[str], dict[str, bool]]]) -> None:
    state(restart="mark")
    assert state() == ([], {"active": True, "restart_owed": False, "started": False})


def test_a_unit_that_was_down_is_started_and_needs_no_restart(systemd: Systemd) -> None:
    systemd.set({UNIT: {**FRESH, "UnitFileState": "enabled", "InvocationID": ""}})
    host = converge(unit(UNIT, restart="mark"))
    assert host.changes == ["mark a.service", "start a.service"]
    assert host.units[UNIT] == {"active": True, "restart_owed": False, "started": True, "marked": True}
    assert restarts([UNIT]) == {"due": [], "done": [UNIT]}


def test_check_mode_marks_nothing(state: Callable[..., tuple[list[str], dict[str, bool]]], folder: Path) -> None:
    assert state(check_mode=True, restart="mark") == (["mark a.service"], OWED)
    assert not folder.exists()
