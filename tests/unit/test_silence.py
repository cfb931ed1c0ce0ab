"""Runs of moves of which nobody answers a question for a while: they go on in parts, as playbooks run them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.reassigning import Reassign, limits, parts, records

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import moves
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, AdminError

pytest_plugins = ["unit.reassigning"]
Silence = Callable[[bool], None]
KINDS: list[dict[str, Any]] = [{"drain": [3]}, {"empty": ["3:/data/1"]}]


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Silence:
    """Have the controller not answer what is on the move, or answer it again."""
    return silenced(monkeypatch, clock, moves, "running")


@pytest.fixture
def deafness(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Silence:
    """Have no broker answer anything, or all again."""
    return silenced(monkeypatch, clock, Admin, "metadata")


def silenced(monkeypatch: pytest.MonkeyPatch, clock: Clock, whose: Any, question: str) -> Silence:
    """Return what has a question not answered, or answered again."""
    answered = getattr(whose, question)

    def nobody(admin: Admin) -> Any:
        clock.rest(7)
        raise AdminError("no answer within 7 s")

    return lambda on: monkeypatch.setattr(whose, question, nobody if on else answered)


def test_nobody_answers_for_a_minute(
    six: FakeCluster, reassign: Reassign, silence: Silence, clock: Clock, tmp_path: Path
) -> None:
    """That ends a run, whatever its parts are; it can go on."""
    six.stuck = {"orders"}
    going = reassign(pause=1, drain=[3])["waiting"]
    silence(True)
    begun = clock.at
    said, answer = parts(reassign, going["waited"], drain=[3])
    assert 60 < clock.at - begun < 90
    assert all("no answer within 7 s" in one for one in said) and len(said) > 1
    assert "no answer within 7 s; run the same command again to resume" in answer["msg"]
    assert records(tmp_path) and limits(six) != ({}, {})


def test_an_answer_begins_the_minute_anew(six: FakeCluster, reassign: Reassign, silence: Silence, clock: Clock) -> None:
    six.stuck = {"orders"}
    going = reassign(pause=1, drain=[3])["waiting"]
    for _ in range(3):
        silence(True)
        said, answer = parts(reassign, going["waited"], until=clock.at + 40, drain=[3])
        assert said and "waiting" in answer
        silence(False)
        going = reassign(pause=1, drain=[3], waited=answer["waiting"]["waited"])["waiting"]
        assert going["what"][0].startswith("0 of 1 partitions")


@pytest.mark.parametrize("asked", KINDS)
def test_a_part_that_begins_while_nobody_answers(
    asked: dict[str, Any], six: FakeCluster, reassign: Reassign, deafness: Silence, tmp_path: Path
) -> None:
    """It is waited out as silence in the middle of one is."""
    six.stuck = {"orders"}
    going = reassign(pause=1, **asked)["waiting"]
    deafness(True)
    silent = reassign(pause=10, waited=going["waited"], **asked)["waiting"]
    assert silent["what"] == ["no broker answers: no answer within 7 s"]
    assert {**silent["waited"], "silent": 0.0} == going["waited"]
    deafness(False)
    six.stuck, six.looks = set(), 0
    assert reassign(pause=30, waited=silent["waited"], **asked)["moved"] == ["orders-1"]
    assert (limits(six), records(tmp_path)) == (({}, {}), [])


@pytest.mark.parametrize("asked", KINDS)
def test_parts_that_all_begin_while_nobody_answers(
    asked: dict[str, Any], six: FakeCluster, reassign: Reassign, deafness: Silence, clock: Clock, tmp_path: Path
) -> None:
    """A minute of it ends a run, also where a question in the middle of a part was the first."""
    six.stuck = {"orders"}
    going = reassign(pause=1, **asked)["waiting"]
    deafness(True)
    begun = clock.at
    said, answer = parts(reassign, going["waited"], **asked)
    assert 60 < clock.at - begun < 80 and len(said) > 5
    assert "reassign: no answer within 7 s, for more than 60 s; run the same command again to resume" in answer["msg"]
    assert records(tmp_path) and limits(six) != ({}, {})
