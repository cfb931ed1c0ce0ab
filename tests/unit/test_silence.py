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


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Silence:
    """Have the controller not answer what is on the move, or answer it again."""
    running = moves.running

    def nobody(admin: Admin) -> Any:
        clock.rest(7)
        raise AdminError("no answer within 7 s")

    return lambda on: monkeypatch.setattr(moves, "running", nobody if on else running)


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
    assert "no answer within 7 s; run the same again to go on" in answer["msg"]
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
