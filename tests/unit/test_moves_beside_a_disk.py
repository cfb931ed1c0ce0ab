"""A disk is replaced while a run of moves is running or interrupted: each keeps its throttles until it has ended."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_wire import Run
from unit.reassigning import FOLLOWER, LEADER, MIB, RATES, Reassign, limits, records
from unit.replacing import CLUSTER, LogDir, restarted

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import alone, path_of
from ansible_collections.millrace.kafka.plugins.modules import kafka_reassign

pytest_plugins = ["unit.replacing"]
OURS = "disk-cluster-of-a-test.json"
THEIRS = "moves-cluster-of-a-test.json"
SEVEN = {"leader.replication.throttled.rate": "7"}
LOWER = dict.fromkeys(RATES, "30000000")


@pytest.fixture
def reassign(on_failed: Run, tmp_path: Path) -> Reassign:
    """Runs the module kafka_reassign on the same brokers."""
    common = {"rate": "50MB", "record_directory": str(tmp_path / "state")}
    return lambda **options: on_failed(kafka_reassign, **{**common, **options})


def moving(failed: FakeCluster, reassign: Reassign, **asked: Any) -> dict[str, Any]:
    """Start a run of moves that does not end, and leave it between two parts; return the input of the next part."""
    failed.stuck = set(failed.topics)
    begun = reassign(pause=1, **asked)
    found: dict[str, Any] = reassign(pause=1, waited=begun["waiting"]["waited"], **asked)["waiting"]["waited"]
    return found


def ended(failed: FakeCluster, reassign: Reassign, waited: Any, **asked: Any) -> dict[str, Any]:
    """Have all arrive, and the run of moves end."""
    failed.stuck, failed.asks = set(), 0
    return reassign(pause=30, waited=waited, **asked)


@pytest.mark.parametrize("cancelled", [False, True])
def test_the_disk_ends_first(
    cancelled: bool, failed: FakeCluster, log_dir: LogDir, reassign: Reassign, tmp_path: Path
) -> None:
    """Its broker is drained meanwhile: the throttles of the drain stay until its end."""
    failed.told = {"2": dict(SEVEN)}
    log_dir()
    new = restarted(failed)
    going = log_dir(new=new, question="wait", pause=1)["waiting"]["waited"]
    waited = moving(failed, reassign, drain=[3])
    lists, rates = limits(failed)
    assert {*rates} == {"1", "2", "3", "4", "5"} and "0:3" in lists["orders"][FOLLOWER].split(",")
    failed.behind = set()
    asked = {"question": "cancel"} if cancelled else {"question": "wait", "pause": 1, "waited": going}
    assert log_dir(new=new, **asked)["notes"] == []
    assert records(tmp_path) == [THEIRS] and failed.under_way
    follower = [one for one in lists["orders"][FOLLOWER].split(",") if one not in ("0:3", "1:3")]
    assert limits(failed) == (
        {"orders": {LEADER: lists["orders"][LEADER], FOLLOWER: ",".join(follower)}},
        dict.fromkeys(rates, RATES),
    )
    assert ended(failed, reassign, waited, drain=[3])["notes"] == []
    assert (limits(failed), records(tmp_path)) == (({}, {"2": SEVEN}), [])


@pytest.fixture
def between(failed: FakeCluster) -> FakeCluster:
    """A cluster where another topic moves from one sender of the disk's replicas to a broker of its own."""
    failed.sizes["other", 0] = 50 * MIB
    failed.given_up, failed.behind = {}, set()
    return failed


def fails(failed: FakeCluster) -> None:
    """Have broker 3 give up its second log dir."""
    failed.given_up, failed.behind = {3: ["/data/2"]}, {(3, "orders", 0), (3, "orders", 1)}


def test_the_moves_end_first(between: FakeCluster, log_dir: LogDir, reassign: Reassign, tmp_path: Path) -> None:
    """It starts between two of their parts, when the lock is free."""
    between.told, asked = {"2": dict(SEVEN)}, {"replace": ["2:5"], "topic": ["other"]}
    waited = moving(between, reassign, **asked)
    assert limits(between)[1] == dict.fromkeys(("1", "2", "5"), RATES)
    fails(between)
    assert log_dir()["restart"] is True
    new = restarted(between)
    going = log_dir(new=new, question="wait", pause=1)["waiting"]["waited"]
    assert "waiting" in reassign(pause=1, waited=waited, **asked)
    assert limits(between)[1] == dict.fromkeys(("1", "2", "3", "5"), RATES)
    between.behind = set()
    assert ended(between, reassign, waited, **asked)["notes"] == []
    assert records(tmp_path) == [OURS]
    assert limits(between) == (
        {"orders": {LEADER: "0:1,1:2", FOLLOWER: "0:3,1:3"}},
        dict.fromkeys(("1", "2", "3"), RATES),
    )
    assert "answer" in log_dir(new=new, question="wait", pause=1, waited=going)
    assert (limits(between), records(tmp_path)) == (({}, {"2": SEVEN}), [])


def test_a_part_of_the_moves_waits_until_the_disk_is_begun(
    failed: FakeCluster, reassign: Reassign, monkeypatch: pytest.MonkeyPatch, clock: Clock, tmp_path: Path
) -> None:
    """That takes longer than the moment between two parts. A new run is refused meanwhile."""
    fails(failed)
    asked = {"drain": [3]}
    waited = moving(failed, reassign, **asked)
    disk = ExitStack()
    disk.enter_context(alone(path_of(CLUSTER, str(tmp_path / "state")), "a run of replace_disk.yml"))
    begun = clock.at

    def meanwhile(seconds: float) -> None:
        clock.rest(seconds)
        if clock.at - begun > 20:
            disk.close()

    monkeypatch.setattr(waits, "rest", meanwhile)
    assert reassign(pause=1, **asked)["msg"].startswith("reassign: a run of replace_disk.yml, pid ")
    assert "waiting" in reassign(pause=1, waited=waited, **asked)
    assert clock.at - begun > 20


def test_each_has_a_rate_of_its_own(between: FakeCluster, log_dir: LogDir, reassign: Reassign, tmp_path: Path) -> None:
    """The remaining run gets its own rate again; after both, the value from before both is restored."""
    between.told, asked = {"2": dict(SEVEN)}, {"replace": ["2:5"], "topic": ["other"], "rate": "30MB"}
    waited = moving(between, reassign, **asked)
    fails(between)
    log_dir()
    new, between.behind = restarted(between), set()
    assert limits(between)[1] == {**dict.fromkeys(("1", "2", "3"), RATES), "5": LOWER}
    assert log_dir(new=new, question="wait")["notes"] == []
    assert limits(between)[1] == dict.fromkeys(("1", "2", "5"), LOWER)
    assert ended(between, reassign, waited, **asked)["notes"] == []
    assert (limits(between), records(tmp_path)) == (({}, {"2": SEVEN}), [])


def test_what_needs_no_limit_any_more_leaves_that_of_the_disk(
    failed: FakeCluster, log_dir: LogDir, reassign: Reassign
) -> None:
    log_dir()
    before = limits(failed)
    restarted(failed)
    moving(failed, reassign, drain=[3])
    reassign(pause=1, drain=[3], rate="unlimited")
    assert limits(failed) == before


def test_a_rate_of_another_tool_stays(between: FakeCluster, log_dir: LogDir, reassign: Reassign) -> None:
    """Both runs report it."""
    asked = {"replace": ["2:5"], "topic": ["other"]}
    waited = moving(between, reassign, **asked)
    fails(between)
    log_dir()
    new = restarted(between)
    going = log_dir(new=new, question="wait", pause=1)["waiting"]["waited"]
    between.behind = set()
    between.told["1"].update(SEVEN)
    said = ["broker 1: another tool set leader.replication.throttled.rate to 7 meanwhile; left unchanged"]
    assert log_dir(new=new, question="wait", waited=going)["notes"] == said
    assert ended(between, reassign, waited, **asked)["notes"] == said
    assert limits(between) == ({}, {"1": SEVEN})


def test_an_unreadable_record_beside_it(failed: FakeCluster, log_dir: LogDir, tmp_path: Path) -> None:
    """It is named: its throttles would be taken for those of another tool."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / THEIRS).write_text("{}")
    said = log_dir()["msg"]
    assert f"{THEIRS}: damaged, or written by another version: " in said and "must be readable" in said
