"""Runs of the module kafka_reassign that are interrupted, disturbed or canceled, and what they leave."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import MIB, RATES, Later, Reassign, interrupted, limits, records, says, young

pytest_plugins = ["unit.reassigning"]


def test_an_interrupted_run_is_resumed(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """The same request resumes it and names the remaining moves; any other request is refused."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    assert six.topics["other"] == [[2, 6]] and six.topics["orders"] == [[1, 2], [4, 3]]
    assert records(tmp_path) == ["moves-cluster-of-a-test.json"]
    refused = reassign(drain=[3])["msg"]
    assert (
        "an earlier run, replace=3:6,5:2, was interrupted or is still running, with 1 of 2 partitions moved" in refused
    )
    assert "run it again first (-e replace=3:6,5:2 -e rate=50MB), or -e cancel=true" in refused
    planned = reassign(check_mode=True, replace=["5:2", "3:6"])
    assert planned["moved"] == ["orders-1"]
    assert reassign(replace=["5:2", "3:6"])["moved"] == ["orders-1", "other-0"]
    assert six.topics == {"orders": [[1, 2], [4, 6]], "other": [[2, 6]]}
    assert (limits(six), records(tmp_path)) == (({}, {}), [])


def test_a_new_replica_on_a_drained_broker_is_reported(six: FakeCluster, reassign: Reassign) -> None:
    """Kafka may place a topic there that is created meanwhile."""
    interrupted(six, reassign, drain=[3], topic=["orders"])
    six.topics["orders"].append([3])
    six.topics["not-asked"] = [[3]]
    assert reassign(drain=[3], topic=["orders"])["notes"] == [
        "broker 3 holds 1 partition (orders-2), placed there meanwhile: run the same command again"
    ]
    assert reassign(drain=[3], topic=["orders"])["moved"] == ["orders-2"]


@pytest.mark.parametrize("asked", [{"cancel": True}, {"replace": ["5:2", "3:6"]}])
def test_a_replica_of_another_tool_stays(asked: dict[str, Any], six: FakeCluster, reassign: Reassign) -> None:
    """Although its broker is in the move."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    six.under_way.clear()
    six.topics["orders"][1] = [4, 3, 6]
    planned = reassign(check_mode=True, **asked)["plan"]
    done = reassign(**asked)
    said = [*planned, *done["notes"]]
    assert six.topics["orders"][1] == [4, 3, 6]
    assert any("(orders-1): the topic was deleted, or another tool moved it" in one for one in said)


def test_cancelled(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Reassignments under way are canceled, finished moves are reverted."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    assert reassign(cancel=True, rate="")["changed"]
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}
    assert six.written.count("cancel orders-1") == 1
    assert (limits(six), records(tmp_path)) == (({}, {}), [])
    nothing = reassign(cancel=True)
    assert (nothing["changed"], nothing["plan"]) == (False, ["cancel=true: nothing to move"])


@pytest.mark.parametrize(("asked", "copied"), [({"cancel": True, "rate": ""}, 7), ({"replace": ["5:2", "3:6"]}, 5)])
def test_bytes_are_those_of_this_run(asked: dict[str, Any], copied: int, six: FakeCluster, reassign: Reassign) -> None:
    """Without the bytes of an earlier run, and without those of canceled moves."""
    six.sizes["other", 0] = 7 * MIB
    interrupted(six, reassign, replace=["5:2", "3:6"])
    assert six.topics["other"] == [[2, 6]]
    assert reassign(check_mode=True, **asked)["bytes"] == copied * MIB
    done = reassign(**asked)
    assert (done["moved"], done["bytes"]) == (["orders-1", "other-0"], copied * MIB)


def test_an_interrupted_cancel_is_resumed(six: FakeCluster, reassign: Reassign) -> None:
    interrupted(six, reassign, replace=["5:2", "3:6"])
    six.stuck = {"orders", "other"}
    assert "waiting" in reassign(pause=1, cancel=True)
    assert reassign(replace=["5:2", "3:6"])["msg"].endswith("run it again first (-e cancel=true)")
    six.stuck = set()
    assert reassign(cancel=True)["changed"]
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}


@pytest.mark.parametrize("broker", [-1, 1])
def test_metadata_of_a_broker_that_has_just_started_is_not_trusted(
    broker: int, six: FakeCluster, reassign: Reassign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lists no partitions, and at first no controller: the record is not deleted for that."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    with says(monkeypatch, lambda known: replace(known, partitions=[], controller=broker)):
        done = reassign(cancel=True, rate="", pause=1)
    assert done.get("failed", False) == (broker == -1)
    assert broker == 1 or records(tmp_path)
    reassign(cancel=True, rate="")
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}
    assert (limits(six), records(tmp_path)) == (({}, {}), [])


def test_a_run_does_not_end_for_a_broker_that_has_just_started(
    six: FakeCluster, reassign: Reassign, monkeypatch: pytest.MonkeyPatch
) -> None:
    six.stuck = {"orders"}
    waiting = reassign(pause=1, drain=[3])["waiting"]
    with says(monkeypatch, lambda known: replace(known, partitions=[])):
        six.under_way.clear()
        assert "waiting" in reassign(pause=1, drain=[3], waited=waiting["waited"])
    six.stuck = set()
    assert reassign(drain=[3])["moved"] == ["orders-1"]
    assert six.topics["orders"] == [[1, 2], [4, 5]]


def test_throttles_are_changed_on_all_brokers_with_metadata_of_a_new_one(
    six: FakeCluster, reassign: Reassign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And removed from all."""
    six.stuck = {"orders"}
    reassign(pause=1, drain=[3])
    with says(monkeypatch, young):
        reassign(pause=1, once=True, drain=[3], rate="30MB")
        assert limits(six)[1] == dict.fromkeys(("3", "4", "5"), dict.fromkeys(RATES, "30000000"))
        reassign(pause=1, once=True, drain=[3], rate="unlimited")
    assert limits(six) == ({}, {})


def test_a_cancel_leaves_reassignments_of_another_tool(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """It is refused. A reassignment to other brokers that starts while it runs is not canceled, either."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    six.stuck = {"orders"}
    ours, six.under_way["orders", 1] = six.under_way["orders", 1], [4, 2]
    said = "replicas of 1 partition (orders-1) are being moved by another tool: wait until that has ended"
    assert said in reassign(cancel=True)["msg"]
    six.under_way["orders", 1] = ours
    six.topics["more"] = [[1]]
    six.moving = {"more": [0]}
    assert "(more-0) are being moved by another tool" in reassign(cancel=True)["msg"]
    six.moving, six.stuck = {}, {"orders", "other"}
    waiting = reassign(cancel=True, pause=1)["waiting"]
    assert six.written.count("cancel orders-1") == 1
    six.under_way["orders", 1] = [4, 2]
    assert "waiting" in reassign(cancel=True, pause=1, waited=waiting["waited"])
    assert "(orders-1) are being moved by another tool" in reassign(cancel=True)["msg"]
    assert six.written.count("cancel orders-1") == 1
    assert six.under_way["orders", 1] == [4, 2]


def test_a_cancel_ends_without_a_broker_that_died(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Its new replicas are moved back; its own replicas stay."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    six.topics["more"], six.down = [[1, 2]], {2}
    assert reassign(cancel=True, rate="", pause=30)["moved"] == ["orders-1", "other-0"]
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]], "more": [[1, 2]]}
    assert records(tmp_path) == []


def test_a_cancel_that_was_interrupted_leaves_what_a_dead_broker_had(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    interrupted(six, reassign, replace=["5:2", "3:6"])
    assert "waiting" in cancel()
    six.down = {5}
    planned = reassign(cancel=True, rate="", check_mode=True)
    assert any("(other-0) cannot be reverted while broker 5 is down; after 300 s" in line for line in planned["plan"])
    assert cancel(0, cancel(301, cancel(0, cancel())))["moved"] == ["orders-1"]
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[2, 6]]}
    assert records(tmp_path) == []


def test_a_target_that_died_after_its_last_copy_is_reported(
    six: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    interrupted(six, reassign, replace=["3:6"])
    six.arrive()
    six.down = {6}
    (away, note) = reassign(replace=["3:6"])["notes"]
    assert away.startswith("broker 6 is down and keeps the throttles")
    assert note == (
        "broker 6 is down, and its replicas of 1 partition (orders-1) are not in sync: start it, or move its replicas "
        "(drain=6)"
    )
    assert records(tmp_path) == []


def test_a_rate_of_another_tool_stays(six: FakeCluster, reassign: Reassign) -> None:
    six.stuck, leader = {"orders"}, "leader.replication.throttled.rate"
    waiting = reassign(pause=1, drain=[3])["waiting"]
    six.told["4"][leader], six.stuck = "7", set()
    done = reassign(pause=30, drain=[3], waited=waiting["waited"])
    assert done["notes"] == [f"broker 4: another tool set {leader} to 7 meanwhile; left unchanged"]
    assert limits(six) == ({}, {"4": {leader: "7"}})


def test_the_throttle_of_a_broker_that_was_down_is_removed(six: FakeCluster, reassign: Reassign) -> None:
    six.told = {"3": {"leader.replication.throttled.rate": "7"}}
    six.stuck = {"orders"}
    reassign(pause=1, replace=["3:6"])
    six.down = {3}
    waiting = reassign(pause=1, replace=["3:6"], rate="unlimited")["waiting"]
    assert limits(six) == ({}, {"3": RATES})
    six.down, six.stuck = set(), set()
    assert reassign(pause=30, replace=["3:6"], waited=waiting["waited"])["notes"] == []
    assert limits(six) == ({}, {"3": {"leader.replication.throttled.rate": "7"}})


@pytest.mark.parametrize("text", ["null", '"x"', "[]", "{}", "{"])
def test_an_invalid_record_is_named(text: str, six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    path = tmp_path / "state" / "moves-cluster-of-a-test.json"
    path.parent.mkdir()
    path.write_text(text)
    assert f"{path}: " in reassign(drain=[3])["msg"]
    assert six.written == []


@pytest.mark.parametrize("asked", [{"cancel": True, "rate": ""}, {"drain": [3]}])
def test_a_cluster_that_has_no_partitions_any_more(
    asked: dict[str, Any], six: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    """All topics were deleted, and no log dir holds a replica: otherwise the run would never end."""
    interrupted(six, reassign, drain=[3])
    six.says = {1: {"topics": []}}
    assert "lists no partitions" in reassign(**asked)["msg"] and records(tmp_path)
    six.says, six.topics, six.under_way, six.sizes = {}, {}, {}, {}
    six.configs.clear()
    six.stray = {(4, "/data/1"): {("orders", 1): 5}}
    said = reassign(**asked)["msg"]
    assert (
        "brokers hold 1 replicas (orders-1 in /data/1 of broker 4); it may have just started: run the same command"
        in said
    )
    assert "If all topics were deleted, these replicas are left over: stop the broker" in said and records(tmp_path)
    six.stray = {}
    assert reassign(**asked)["changed"]
    assert (limits(six), records(tmp_path)) == (({}, {}), [])


def test_the_first_look_is_at_the_controller(
    six: FakeCluster, reassign: Reassign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log dirs of all brokers count although the broker that is asked knows no others: full disks are refused."""
    interrupted(six, reassign, drain=[3])
    six.disks = {5: (100 * MIB, 12 * MIB)}
    with says(monkeypatch, young):
        assert "broker 5: /data/1 would receive 5.0 MiB" in reassign(check_mode=True, drain=[3])["msg"]
        six.disks = {}
        plan = reassign(check_mode=True, drain=[3])["plan"]
    assert [line.split()[1] for line in plan if line.startswith("  2 ")] == ["b"]


def test_leaders_are_those_that_the_controller_knows(
    six: FakeCluster, reassign: Reassign, monkeypatch: pytest.MonkeyPatch
) -> None:
    six.topics = {"orders": [[1, 2], [1, 3], [1, 4], [1, 5], [1, 6], [1, 2]]}
    told = reassign(check_mode=True, leaders=True, rate="")
    with says(monkeypatch, young):
        assert reassign(check_mode=True, leaders=True, rate="") == told
    assert len(told["moved"]) == 5
