"""A run of the timer that is ended by SIGTERM reports its state: nothing started, resumable, or all moved."""

import signal
from pathlib import Path

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import limits, records
from unit.rebalancing import UNEVEN, Once, ended, held, settings

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.elections import Elections
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import control, record, throttles, timer

pytest_plugins = ["unit.reassigning", "unit.rebalancing"]
NOTHING = "STOPPED: this run has started and changed nothing"


def test_ended_in_the_middle_the_next_run_resumes(
    uneven: FakeCluster, once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ended(monkeypatch, once, uneven)
    assert (
        "STOPPED: the next run resumes the moves, and so does reassign.yml -e rebalance=true -e rate=50MB; -e" in said
    )
    assert records(tmp_path) == ["moves-cluster-of-a-test.json"] and limits(uneven)[0]
    code, said = once()
    assert code == 0 and "resumes an interrupted run" in said, said
    assert held(uneven) == [1] * 6
    assert (limits(uneven), records(tmp_path)) == (({}, {}), [])


def test_ended_while_leaders_are_elected(
    uneven: FakeCluster, once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All partitions are moved by then: no run can resume or revert it."""
    monkeypatch.setattr(Elections, "elect", lambda *_: signal.raise_signal(signal.SIGTERM))
    code, said = once()
    assert code == 143 and held(uneven) == [1] * 6 and records(tmp_path) == []
    assert "STOPPED: all partitions are moved, and nothing is left to resume or to revert" in said, said
    assert "start.yml" in said and "cancel=true" not in said and "the next run" not in said


def says(uneven: FakeCluster, tmp_path: Path, words: str) -> str:
    """End a run while it prints a line with these words; return the last line."""
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if words in line:
            signal.raise_signal(signal.SIGTERM)

    assert timer.main([str(settings(uneven, tmp_path))], say) == timer.STOPPED
    assert [line for line in lines if words in line]
    return lines[-1]


@pytest.mark.usefixtures("once")
def test_ended_while_it_prints_the_result(uneven: FakeCluster, tmp_path: Path) -> None:
    """Its record is deleted by then: no run can resume or revert it."""
    said = says(uneven, tmp_path, "partitions moved, ")
    assert said.startswith("STOPPED: all partitions are moved, and nothing is left to resume or to revert"), said
    assert held(uneven) == [1] * 6 and (limits(uneven), records(tmp_path)) == (({}, {}), [])


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("words", ["rebalance=true: 2 partitions change", "plan "])
def test_ended_while_it_prints_its_plan(words: str, uneven: FakeCluster, tmp_path: Path) -> None:
    said = says(uneven, tmp_path, words)
    assert said.startswith(NOTHING) and "resumes" not in said and "cancel" not in said, said
    assert uneven.written == [] and uneven.topics == UNEVEN and records(tmp_path) == []


def stopped_in(module: object, name: str, once: Once, monkeypatch: pytest.MonkeyPatch) -> str:
    """End a run when it calls this function; return its output."""
    with monkeypatch.context() as patch:
        patch.setattr(module, name, lambda *_: signal.raise_signal(signal.SIGTERM))
        code, said = once()
    assert code == timer.STOPPED
    return said


def test_ended_before_it_is_recorded(
    uneven: FakeCluster, once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And as soon as it is: throttles may be set by then."""
    assert NOTHING in stopped_in(record, "load", once, monkeypatch)
    assert NOTHING in stopped_in(throttles, "planned", once, monkeypatch)
    assert uneven.written == [] and records(tmp_path) == []
    assert "STOPPED: the next run resumes" in stopped_in(throttles, "put_in", once, monkeypatch)
    assert records(tmp_path) == ["moves-cluster-of-a-test.json"]


def test_ended_before_it_resumes(
    uneven: FakeCluster, once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record of an earlier run stays unchanged."""
    ended(monkeypatch, once, uneven)
    written = list(uneven.written)
    said = stopped_in(control, "prepare", once, monkeypatch)
    assert f"{NOTHING}; an earlier interrupted run, if any, is unchanged" in said, said
    assert uneven.written == written and records(tmp_path) == ["moves-cluster-of-a-test.json"]


def test_ended_before_its_settings_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Once) -> None:
    assert NOTHING in stopped_in(timer, "settings_of", once, monkeypatch)
    assert records(tmp_path) == []
