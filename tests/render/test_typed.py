"""What a person types that no playbook can do is said before anything is changed. No hosts, no cluster."""

import re
from pathlib import Path

import pytest

from render.test_restart import Played


@pytest.mark.parametrize("playbook", ["restart", "kafka", "site"])
def test_how_many_at_once_is_judged_before_any_host_is_changed(playbook: str, tmp_path: Path) -> None:
    """A slip was found when everything was marked, and every ZooKeeper server restarted."""
    run = Played(tmp_path, playbook, "-e", "parallel=racks")
    assert run.code != 0 and run.calls == [], run.output
    said = re.sub(r"\s+", " ", run.output)
    assert "no host was changed" in said
    assert "parallel: value of parallel must be one of: one, rack, got: racks" in said


def test_a_gate_for_hosts_that_have_none_says_so(tmp_path: Path) -> None:
    run = Played(tmp_path, "gate", "--limit", "dc1-spark1")
    assert run.code != 0 and run.story() == []
    said = re.sub(r"\s+", " ", run.output)
    assert "dc1-spark1 is neither a broker nor a ZooKeeper server, so no gate was asked" in said
