"""The module kafka_reassign against brokers that speak Kafka's protocol: planned, moved, gone on with, put back."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers, modules

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import control
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.throttles import left_behind
from ansible_collections.millrace.kafka.plugins.modules import kafka_reassign

Reassign = Callable[..., dict[str, Any]]
LEADER, FOLLOWER = (f"{side}.replication.throttled.replicas" for side in ("leader", "follower"))
RATES = {f"{side}.replication.throttled.rate": "50000000" for side in ("leader", "follower")}
MIB = 1 << 20


@pytest.fixture
def cluster() -> FakeCluster:
    """Six brokers in three racks; a topic of two partitions on the first four."""
    made = FakeCluster(6)
    made.topics = {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}
    made.sizes = {("orders", 0): 3 * MIB, ("orders", 1): 5 * MIB}
    return made


@pytest.fixture
def reassign(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Reassign]:
    """Runs the module; waits take no time."""
    monkeypatch.setattr(waits, "rest", lambda _: None)
    with modules(cluster, capsys) as run:

        def module(check_mode: bool = False, **options: Any) -> dict[str, Any]:
            said = {"rate": "50MB", "record_directory": str(tmp_path / "state"), **options}
            return run(kafka_reassign, check_mode, **said)

        yield module


def limits(cluster: FakeCluster) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return what limits moves, of topics and of brokers."""
    return (
        {name: dict(config) for name, config in cluster.configs.items() if config},
        {broker: dict(told) for broker, told in cluster.told.items() if told},
    )


def records(tmp_path: Path) -> list[str]:
    """Return the records of runs that did not end."""
    return [path.name for path in (tmp_path / "state").glob("*")]


def test_drained(cluster: FakeCluster, reassign: Reassign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check mode says what is then done; limits are there while it moves, and gone afterwards."""
    planned = reassign(check_mode=True, drain=[3])
    assert cluster.written == [] and records(tmp_path) == []
    seen: list[Any] = []
    arrive = cluster.arrive

    def watched() -> None:
        seen.extend([limits(cluster)] if cluster.under_way else [])
        arrive()

    monkeypatch.setattr(cluster, "arrive", watched)
    done = reassign(drain=[3])
    assert planned["moved"] == done["moved"] == ["orders-1"]
    assert planned["bytes"] == done["bytes"] == 5 * MIB
    assert cluster.topics == {"orders": [[1, 2], [4, 5]], "other": [[5, 6]]}
    ((lists, rates),) = seen
    assert lists == {"orders": {LEADER: "1:4,1:3", FOLLOWER: "1:5"}}
    assert rates == {"3": RATES, "4": RATES, "5": RATES}
    assert limits(cluster) == ({}, {})
    assert records(tmp_path) == []
    assert "orders-1: 4,3 -> 4,5, 5.0 MiB" in planned["plan"][2]
    assert any(
        line.split() == ["5", "b", "1", "->", "2", "1", "0", "B", "->", "5.0", "MiB", "-"] for line in planned["plan"]
    )
    again = reassign(drain=[3])
    assert (again["changed"], again["plan"]) == (False, ["drain=3: nothing to move"])


def test_what_others_limit_stays(cluster: FakeCluster, reassign: Reassign) -> None:
    cluster.configs = {"orders": {LEADER: "0:9", FOLLOWER: "*"}}
    cluster.told = {"4": {"leader.replication.throttled.rate": "7"}}
    assert reassign(drain=[3])["changed"]
    assert limits(cluster) == (
        {"orders": {LEADER: "0:9", FOLLOWER: "*"}},
        {"4": {"leader.replication.throttled.rate": "7"}},
    )


def test_without_a_limit_none_is_set(cluster: FakeCluster, reassign: Reassign) -> None:
    assert reassign(drain=[3], rate="unlimited")["changed"]
    assert cluster.written == ["move orders-1 to [4, 5]"]


def interrupted(cluster: FakeCluster, reassign: Reassign, **asked: Any) -> None:
    """Leave a run that was ended between two of its parts: one topic has arrived, the other has not."""
    cluster.stuck = {"orders"}
    assert "waiting" in reassign(pause=1, **asked)
    cluster.stuck, cluster.asks = set(), 3


def test_an_interrupted_run_is_gone_on_with(cluster: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """It is recognised by what was asked for, and says what is left; another one is refused."""
    interrupted(cluster, reassign, replace=["5:2", "3:6"])
    assert cluster.topics["other"] == [[2, 6]] and cluster.topics["orders"] == [[1, 2], [4, 3]]
    assert records(tmp_path) == ["moves-cluster-of-a-test.json"]
    refused = reassign(drain=[3])["msg"]
    assert "an earlier run, replace=3:6,5:2, was interrupted with 1 of 2 partitions moved: run that again" in refused
    planned = reassign(check_mode=True, replace=["5:2", "3:6"])
    assert planned["moved"] == ["orders-1"]
    assert reassign(replace=["5:2", "3:6"])["moved"] == ["orders-1", "other-0"]
    assert cluster.topics == {"orders": [[1, 2], [4, 6]], "other": [[2, 6]]}
    assert (limits(cluster), records(tmp_path)) == (({}, {}), [])


def test_what_comes_to_a_broker_that_is_drained_is_told(cluster: FakeCluster, reassign: Reassign) -> None:
    """A topic that is made meanwhile may be placed there."""
    interrupted(cluster, reassign, drain=[3], topic=["orders"])
    cluster.topics["orders"].append([3])
    cluster.topics["not-asked"] = [[3]]
    assert reassign(drain=[3], topic=["orders"])["notes"] == [
        "broker 3 holds 1 partition (orders-2), which came there meanwhile: run the same again"
    ]
    assert reassign(drain=[3], topic=["orders"])["moved"] == ["orders-2"]


def test_cancelled(cluster: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """What is on the move is called off, what has arrived goes back."""
    interrupted(cluster, reassign, replace=["5:2", "3:6"])
    assert reassign(cancel=True, rate="")["changed"]
    assert cluster.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}
    assert cluster.written.count("call off orders-1") == 1
    assert (limits(cluster), records(tmp_path)) == (({}, {}), [])
    nothing = reassign(cancel=True)
    assert (nothing["changed"], nothing["plan"]) == (False, ["cancel=true: nothing to move"])


def test_a_cancel_that_was_interrupted_is_gone_on_with(cluster: FakeCluster, reassign: Reassign) -> None:
    interrupted(cluster, reassign, replace=["5:2", "3:6"])
    cluster.stuck = {"orders", "other"}
    assert "waiting" in reassign(pause=1, cancel=True)
    assert "run that again first (-e cancel=true)" in reassign(replace=["5:2", "3:6"])["msg"]
    cluster.stuck = set()
    assert reassign(cancel=True)["changed"]
    assert cluster.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}


@pytest.mark.parametrize("broker", [-1, 1])
def test_a_broker_that_has_just_started_is_not_believed(
    broker: int, cluster: FakeCluster, reassign: Reassign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names no partitions, and no controller at first: nothing is forgotten for that."""
    interrupted(cluster, reassign, replace=["5:2", "3:6"])
    look = Admin.look

    def young(admin: Admin, timeout: float) -> Metadata:
        admin.known = replace(look(admin, timeout), partitions=[], controller=broker)
        return admin.known

    with monkeypatch.context() as patch:
        patch.setattr(Admin, "look", young)
        done = reassign(cancel=True, rate="", pause=1)
    assert done.get("failed", False) == (broker == -1)
    assert broker == 1 or records(tmp_path)
    reassign(cancel=True, rate="")
    assert cluster.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}
    assert (limits(cluster), records(tmp_path)) == (({}, {}), [])


def test_a_run_does_not_end_for_a_broker_that_has_just_started(
    cluster: FakeCluster, reassign: Reassign, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.stuck, look = {"orders"}, Admin.look
    waiting = reassign(pause=1, drain=[3])["waiting"]

    def young(admin: Admin, timeout: float) -> Metadata:
        admin.known = replace(look(admin, timeout), partitions=[])
        return admin.known

    with monkeypatch.context() as patch:
        patch.setattr(Admin, "look", young)
        cluster.under_way.clear()
        assert "waiting" in reassign(pause=1, drain=[3], waited=waiting["waited"])
    cluster.stuck = set()
    assert reassign(drain=[3])["moved"] == ["orders-1"]
    assert cluster.topics["orders"] == [[1, 2], [4, 5]]


def test_a_cancel_leaves_what_somebody_else_moves(cluster: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """It is refused; what is aimed elsewhere while it runs is not called off, either."""
    interrupted(cluster, reassign, replace=["5:2", "3:6"])
    cluster.stuck = {"orders"}
    ours, cluster.under_way["orders", 1] = cluster.under_way["orders", 1], [4, 2]
    said = "replicas of 1 partition (orders-1) are being moved by somebody else: wait until that has ended"
    assert said in reassign(cancel=True)["msg"]
    cluster.under_way["orders", 1] = ours
    cluster.topics["more"] = [[1]]
    cluster.moving = {"more": [0]}
    assert "(more-0) are being moved by somebody else" in reassign(cancel=True)["msg"]
    cluster.moving, cluster.stuck = {}, {"orders", "other"}
    waiting = reassign(cancel=True, pause=1)["waiting"]
    assert cluster.written.count("call off orders-1") == 1
    cluster.under_way["orders", 1] = [4, 2]
    assert "waiting" in reassign(cancel=True, pause=1, waited=waiting["waited"])
    assert "(orders-1) are being moved by somebody else" in reassign(cancel=True)["msg"]
    assert cluster.written.count("call off orders-1") == 1
    assert cluster.under_way["orders", 1] == [4, 2]


def test_a_broker_that_dies_for_good_does_not_keep_a_cancel_from_its_end(
    cluster: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    """What it took goes back to whom had it; what it had itself stays."""
    interrupted(cluster, reassign, replace=["5:2", "3:6"])
    cluster.topics["more"], cluster.down = [[1, 2]], {2}
    assert reassign(cancel=True, rate="", pause=30)["moved"] == ["orders-1", "other-0"]
    assert cluster.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]], "more": [[1, 2]]}
    assert records(tmp_path) == []


def test_a_cancel_that_was_interrupted_leaves_what_a_dead_broker_had(
    cluster: FakeCluster, reassign: Reassign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(cluster, reassign, replace=["5:2", "3:6"])
    with monkeypatch.context() as patch:
        patch.setattr(control, "carry_on", lambda *_: {"changed": True, "waiting": {}})
        reassign(cancel=True, rate="")
    cluster.down = {5}
    planned = reassign(cancel=True, rate="", check_mode=True)
    assert "note: 1 partition (other-0) stay: a broker that had them is away" in planned["plan"]
    assert reassign(cancel=True, rate="", pause=30)["moved"] == ["orders-1"]
    assert cluster.topics == {"orders": [[1, 2], [4, 3]], "other": [[2, 6]]}
    assert records(tmp_path) == []


def test_a_target_that_died_after_its_last_copy_is_told(
    cluster: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    interrupted(cluster, reassign, replace=["3:6"])
    cluster.arrive()
    cluster.down = {6}
    (away, note) = reassign(replace=["3:6"])["notes"]
    assert away.startswith("broker 6 is away and keeps")
    assert note == "broker 6 is down, and 1 partition (orders-1) lack it: start it, or move what it holds (drain=6)"
    assert records(tmp_path) == []


def test_progress_is_said(cluster: FakeCluster, reassign: Reassign) -> None:
    cluster.stuck = {"orders"}
    (words,) = reassign(pause=1, drain=[3])["waiting"]["what"]
    assert words.startswith("0 of 1 partitions, 0 B of 5.0 MiB")


def test_a_run_that_does_not_come_on_ends_and_says_how_to_go_on(
    cluster: FakeCluster, reassign: Reassign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a rate below what producers write: its limits and its record stay, for what is done next."""
    monkeypatch.setattr(control, "STALLED", 0.4)
    monkeypatch.setattr(control, "PART", 0.3)
    cluster.stuck = {"orders"}
    answer = reassign(drain=[3])
    assert answer["failed"] and answer["changed"]
    assert (
        "nothing was copied for 0 s (0 of 1 partitions, 0 B of 5.0 MiB); run the same again to go on" in answer["msg"]
    )
    assert records(tmp_path) and limits(cluster) != ({}, {})


def test_a_rate_may_be_raised_on_the_way(cluster: FakeCluster, reassign: Reassign) -> None:
    interrupted(cluster, reassign, drain=[3])
    cluster.stuck = {"orders"}
    assert "waiting" in reassign(pause=1, drain=[3], rate="80MB")
    assert {rate for rates in cluster.told.values() for rate in rates.values()} == {"80000000"}


def test_a_rate_that_somebody_else_set_meanwhile_stays(cluster: FakeCluster, reassign: Reassign) -> None:
    cluster.stuck, leader = {"orders"}, "leader.replication.throttled.rate"
    waiting = reassign(pause=1, drain=[3])["waiting"]
    cluster.told["4"][leader], cluster.stuck = "7", set()
    done = reassign(pause=30, drain=[3], waited=waiting["waited"])
    assert done["notes"] == [f"broker 4: somebody else set {leader} to 7 meanwhile; it stays so"]
    assert limits(cluster) == ({}, {"4": {leader: "7"}})


def test_the_limit_of_a_broker_that_was_away_is_taken_back_later(cluster: FakeCluster, reassign: Reassign) -> None:
    cluster.told = {"3": {"leader.replication.throttled.rate": "7"}}
    cluster.stuck = {"orders"}
    reassign(pause=1, replace=["3:6"])
    cluster.down = {3}
    waiting = reassign(pause=1, replace=["3:6"], rate="unlimited")["waiting"]
    assert limits(cluster) == ({}, {"3": RATES})
    cluster.down, cluster.stuck = set(), set()
    assert reassign(pause=30, replace=["3:6"], waited=waiting["waited"])["notes"] == []
    assert limits(cluster) == ({}, {"3": {"leader.replication.throttled.rate": "7"}})


def test_everything_that_is_wrong_is_said_together(cluster: FakeCluster, reassign: Reassign) -> None:
    cluster.down = {2}
    cluster.moving = {"other": [0]}
    wrong = reassign(add=[9], topic=["nope"])["msg"]
    assert "there is no topic nope" in wrong
    assert "replicas of 1 partition (other-0) are being moved by somebody else" in wrong
    assert "1 partition (orders-0) is under-replicated: broker 2 is down; start it, before anything is moved" in wrong
    assert cluster.written == []


def test_a_dead_broker_is_drained(cluster: FakeCluster, reassign: Reassign) -> None:
    """That its partitions lack a replica is what is to be mended."""
    cluster.down = {3}
    assert reassign(drain=[3])["moved"] == ["orders-1"]
    assert cluster.topics["orders"] == [[1, 2], [4, 5]]
    assert limits(cluster) == ({}, {})


def test_a_dead_broker_s_rack_counts(cluster: FakeCluster, reassign: Reassign) -> None:
    cluster.down = {3}
    inventory = [{"id": broker, "rack": rack} for broker, rack in cluster.racks.items()]
    refused = reassign(replace=["3:1"], brokers=inventory)["msg"]
    assert "1 partition (orders-1) would be in fewer racks than now, without rack c: add a broker of rack c" in refused
    assert cluster.written == []
    assert reassign(replace=["3:6"], brokers=inventory)["changed"]


def test_more_than_a_disk_holds_is_refused(cluster: FakeCluster, reassign: Reassign) -> None:
    """10 MiB of a disk of 100 MiB stay free."""
    cluster.disks = {5: (100 * MIB, 14 * MIB)}
    wrong = reassign(drain=[3])["msg"]
    assert (
        "broker 5: /data/2 would get 5.0 MiB, and 14.0 MiB are free there, of which 10.0 MiB stay so: give it a larger "
        "disk, add a broker, or shorten a topic's retention"
    ) in wrong
    assert cluster.written == []
    cluster.disks = {5: (100 * MIB, 15 * MIB)}
    assert reassign(drain=[3])["changed"]


def test_fewer_replicas_than_a_topic_needs_are_refused(cluster: FakeCluster, reassign: Reassign) -> None:
    cluster.configs = {"orders": {"min.insync.replicas": "2"}}
    assert (
        "topic orders: min.insync.replicas 2 with 1 replicas: nothing could be written"
        in reassign(replication_factor=1, topic=["orders"])["msg"]
    )


def test_replicas_that_are_taken_away_are_counted(cluster: FakeCluster, reassign: Reassign) -> None:
    planned = reassign(check_mode=True, replication_factor=1, topic=["orders"])["plan"]
    assert planned[0].endswith(": 2 partitions change; 0 replicas are copied, 0 B; 2 lose replicas")


def test_a_third_replica(cluster: FakeCluster, reassign: Reassign) -> None:
    """In the rack that has none."""
    assert reassign(replication_factor=3, topic=["orders"])["moved"] == ["orders-0", "orders-1"]
    racks = [sorted(cluster.racks[broker] for broker in replicas) for replicas in cluster.topics["orders"]]
    assert racks == [["a", "b", "c"], ["a", "b", "c"]]
    assert cluster.topics["other"] == [[5, 6]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing is said: say one of add, drain, replace, rebalance, leaders, replication_factor, cancel"),
        ({"add": [1], "rebalance": True}, "add and rebalance are said: say one of"),
        ({"rebalance": True, "rate": ""}, "no rate is said, and moving replicas can take all"),
        ({"rebalance": True, "rate": "fast"}, "rate fast: say how many bytes a second"),
        ({"rebalance": True, "rate": "5"}, "rate 5: 5 bytes a second is too little to end"),
        ({"replace": ["3"]}, "replace 3: say the ids of the old broker and of the new one, as replace=3:7"),
        ({"replace": ["3:3"]}, "replace 3:3: a broker that comes back under its id copies by itself what it lacks"),
        ({"replace": ["3:6", "6:5"]}, "replace: broker 6 is to go, and to take the place of another"),
        ({"replication_factor": 3}, "replication_factor: say of which topics, as topic=orders,returns"),
        ({"add": [4, 4]}, "add: broker 4 is named twice"),
    ],
)
def test_mistakes(cluster: FakeCluster, reassign: Reassign, options: dict[str, Any], words: str) -> None:
    answer = reassign(**options)
    assert answer["failed"] and words in answer["msg"]
    assert cluster.written == []


@pytest.mark.parametrize("text", ["null", '"x"', "[]", "{}", "{"])
def test_a_record_that_is_none_is_named(text: str, cluster: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    path = tmp_path / "state" / "moves-cluster-of-a-test.json"
    path.parent.mkdir()
    path.write_text(text)
    assert f"{path}: " in reassign(drain=[3])["msg"]
    assert cluster.written == []


@pytest.mark.parametrize("moving", [False, True])
def test_a_limit_that_was_left_is_told_but_while_something_moves(cluster: FakeCluster, moving: bool) -> None:
    """By broker; what holds for all of them was meant."""
    cluster.told = {"2": {"leader.replication.throttled.rate": "5"}, "": {"follower.replication.throttled.rate": "6"}}
    cluster.moving = {"orders": [0]} if moving else {}
    with brokers(cluster) as servers:
        admin = Admin({"bootstrap.servers": servers})
        assert left_behind(admin, [1, 2, 3]) == ({} if moving else {2: "5"})
