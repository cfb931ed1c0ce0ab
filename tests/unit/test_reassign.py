"""The module kafka_reassign against brokers that speak Kafka's protocol: plans, runs, throttles and refusals."""

from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers
from unit.reassigning import FOLLOWER, LEADER, MIB, RATES, Reassign, interrupted, limits, records

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.throttles import left_behind

pytest_plugins = ["unit.reassigning"]


def test_drained(six: FakeCluster, reassign: Reassign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check mode predicts the run; throttles are set while replicas move, and removed afterwards."""
    planned = reassign(check_mode=True, drain=[3])
    assert six.written == [] and records(tmp_path) == []
    seen: list[Any] = []
    arrive = six.arrive

    def watched() -> None:
        seen.extend([limits(six)] if six.under_way else [])
        arrive()

    monkeypatch.setattr(six, "arrive", watched)
    done = reassign(drain=[3])
    assert planned["moved"] == done["moved"] == ["orders-1"]
    assert planned["bytes"] == done["bytes"] == 5 * MIB
    assert six.topics == {"orders": [[1, 2], [4, 5]], "other": [[5, 6]]}
    ((lists, rates),) = seen
    assert lists == {"orders": {LEADER: "1:4,1:3", FOLLOWER: "1:5"}}
    assert rates == {"3": RATES, "4": RATES, "5": RATES}
    assert limits(six) == ({}, {})
    assert records(tmp_path) == []
    assert "orders-1: 4,3 -> 4,5, 5.0 MiB" in planned["plan"][2]
    assert any(
        line.split() == ["5", "b", "1", "->", "2", "1", "0", "B", "->", "5.0", "MiB", "-"] for line in planned["plan"]
    )
    again = reassign(drain=[3])
    assert (again["changed"], again["plan"]) == (False, ["drain=3: nothing to move"])


def test_throttles_of_other_tools_stay(six: FakeCluster, reassign: Reassign) -> None:
    six.configs = {"orders": {LEADER: "0:9", FOLLOWER: "*"}}
    six.told = {"4": {"leader.replication.throttled.rate": "7"}}
    assert reassign(drain=[3])["changed"]
    assert limits(six) == (
        {"orders": {LEADER: "0:9", FOLLOWER: "*"}},
        {"4": {"leader.replication.throttled.rate": "7"}},
    )


def test_an_unlimited_rate_sets_no_throttle(six: FakeCluster, reassign: Reassign) -> None:
    assert reassign(drain=[3], rate="unlimited")["changed"]
    assert six.written == ["move orders-1 to [4, 5]"]


def test_progress_is_reported(six: FakeCluster, reassign: Reassign) -> None:
    six.stuck = {"orders"}
    (words,) = reassign(pause=1, drain=[3])["waiting"]["what"]
    assert words.startswith("0 of 1 partitions, 0 B of 5.0 MiB")


def test_a_rate_may_be_raised_on_the_way(six: FakeCluster, reassign: Reassign) -> None:
    interrupted(six, reassign, drain=[3])
    six.stuck = {"orders"}
    assert "waiting" in reassign(pause=1, drain=[3], rate="80MB")
    assert {rate for rates in six.told.values() for rate in rates.values()} == {"80000000"}


def test_all_refusals_are_reported_together(six: FakeCluster, reassign: Reassign) -> None:
    six.down = {2}
    six.moving = {"other": [0]}
    wrong = reassign(add=[9], topic=["nope"])["msg"]
    assert "there is no topic nope" in wrong
    assert "replicas of 1 partition (other-0) are being moved by another tool" in wrong
    assert "1 partition (orders-0) is under-replicated: broker 2 is down; start it, before anything is moved" in wrong
    assert six.written == []


def test_a_dead_broker_is_drained(six: FakeCluster, reassign: Reassign) -> None:
    """Its partitions are under-replicated, and the drain corrects that."""
    six.down = {3}
    assert reassign(drain=[3])["moved"] == ["orders-1"]
    assert six.topics["orders"] == [[1, 2], [4, 5]]
    assert limits(six) == ({}, {})


def test_a_dead_broker_s_rack_counts(six: FakeCluster, reassign: Reassign) -> None:
    six.down = {3}
    inventory = [{"id": broker, "rack": rack} for broker, rack in six.racks.items()]
    refused = reassign(replace=["3:1"], brokers=inventory)["msg"]
    assert "1 partition (orders-1) would be in fewer racks than now, without rack c: add a broker of rack c" in refused
    assert six.written == []
    assert reassign(replace=["3:6"], brokers=inventory)["changed"]


def test_more_than_a_disk_holds_is_refused(six: FakeCluster, reassign: Reassign) -> None:
    """10 MiB of a disk of 100 MiB stay free."""
    six.disks = {5: (100 * MIB, 14 * MIB)}
    wrong = reassign(drain=[3])["msg"]
    assert (
        "broker 5: /data/2 would receive 5.0 MiB, but 14.0 MiB are free, of which 10.0 MiB must stay free: use a "
        "larger disk, add a broker, or shorten a topic's retention"
    ) in wrong
    assert six.written == []
    six.disks = {5: (100 * MIB, 15 * MIB)}
    assert reassign(drain=[3])["changed"]


def test_fewer_replicas_than_a_topic_needs_are_refused(six: FakeCluster, reassign: Reassign) -> None:
    six.configs = {"orders": {"min.insync.replicas": "2"}}
    assert (
        "topic orders: min.insync.replicas 2 with 1 replicas: no record could be written"
        in reassign(replication_factor=1, topic=["orders"])["msg"]
    )


def test_replicas_that_are_taken_away_are_counted(six: FakeCluster, reassign: Reassign) -> None:
    planned = reassign(check_mode=True, replication_factor=1, topic=["orders"])["plan"]
    assert planned[0].endswith(": 2 partitions change; 0 replicas are copied, 0 B; 2 lose replicas")


def test_a_third_replica(six: FakeCluster, reassign: Reassign) -> None:
    """In the rack without one."""
    assert reassign(replication_factor=3, topic=["orders"])["moved"] == ["orders-0", "orders-1"]
    racks = [sorted(six.racks[broker] for broker in replicas) for replicas in six.topics["orders"]]
    assert racks == [["a", "b", "c"], ["a", "b", "c"]]
    assert six.topics["other"] == [[5, 6]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {},
            "no action is set: set one of add, drain, replace, rebalance, leaders, replication_factor, declared, disk",
        ),
        ({"add": [1], "rebalance": True}, "add and rebalance are set: set one of"),
        ({"rebalance": True, "rate": ""}, "rate is not set, and moving replicas can use the whole"),
        ({"rebalance": True, "rate": "fast"}, "rate fast: set the bytes a second"),
        ({"rebalance": True, "rate": "5"}, "rate 5: 5 bytes a second is too low for the moves to end"),
        ({"replace": ["3"]}, "replace 3: set the ids of the old and the new broker, for example replace=3:7"),
        (
            {"replace": ["3:3"]},
            "replace 3:3: nothing to do, because a broker that returns under its id copies what it lacks",
        ),
        ({"replace": ["3:6", "6:5"]}, "replace: broker 6 is both replaced and a replacement"),
        ({"replication_factor": 3}, "replication_factor: name the topics, for example topic=orders,returns"),
        ({"add": [4, 4]}, "add: broker 4 is named twice"),
    ],
)
def test_mistakes(six: FakeCluster, reassign: Reassign, options: dict[str, Any], words: str) -> None:
    answer = reassign(**options)
    assert answer["failed"] and words in answer["msg"]
    assert six.written == []


@pytest.mark.parametrize("moving", [False, True])
def test_a_throttle_that_was_left_is_reported_unless_replicas_move(six: FakeCluster, moving: bool) -> None:
    """By broker. A default for all brokers is intended, and not reported."""
    six.told = {"2": {"leader.replication.throttled.rate": "5"}, "": {"follower.replication.throttled.rate": "6"}}
    six.moving = {"orders": [0]} if moving else {}
    with brokers(six) as servers:
        admin = Admin({"bootstrap.servers": servers})
        assert left_behind(admin, [1, 2, 3]) == ({} if moving else {2: "5"})
