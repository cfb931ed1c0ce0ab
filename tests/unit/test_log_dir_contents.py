"""What kafka_cluster answers of log dirs, stray replicas and limits of copies; brokers on loopback, no JVM."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.fake_wire import brokers

from ansible_collections.millrace.kafka.plugins.module_utils import waits
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.log_dir_contents import WAIT, strays, unassigned
from ansible_collections.millrace.kafka.plugins.modules import kafka_cluster

COPIES = "replica.alter.log.dirs.io.max.bytes.per.second"
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs the module on brokers with two partitions; returns what it said."""
    cluster.topics = {"t": [[1, 2], [2, 1]]}

    def asked(**options: Any) -> dict[str, Any]:
        with brokers(cluster) as servers:
            said = {"listeners": {"CLIENT": {"bootstrap.servers": servers}}, "brokers": [1, 2, 3], "fail": False}
            with patch_module_args({**said, "log_dirs": True, **options}), pytest.raises(SystemExit):
                kafka_cluster.main()
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return asked


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The brokers that are asked for log dirs, one for each request."""
    found: list[int] = []
    answer = FakeCluster.describe_log_dirs

    def noted(self: FakeCluster, request: Any, broker: int) -> dict[str, Any]:
        found.append(broker)
        return answer(self, request, broker)

    monkeypatch.setattr(FakeCluster, "describe_log_dirs", noted)
    return found


def test_what_log_dirs_hold(cluster: FakeCluster, ask: Ask, asked: list[int]) -> None:
    """Each broker is asked once; what it does not say is null."""
    cluster.sizes, cluster.where = {("t", 0): 5, ("t", 1): 7}, {(1, "t", 1): "/data/2"}
    cluster.disks, cluster.given_up = {1: (100, 50)}, {3: ["/data/1"]}
    said = ask()
    assert sorted(asked) == [1, 2, 3]
    assert (said["problems"], said["silent"], said["strays"], said["copies_throttled"]) == ([], {}, [], {})
    disk: dict[str, Any] = {"size": None, "free": None, "given_up": False}
    empty = {"replicas": 0, "bytes": 0, "largest": 0, **disk}
    assert said["log_dirs"] == [
        {"broker": 1, "path": "/data/1", "replicas": 1, "bytes": 5, "largest": 5, **disk, "size": 100, "free": 50},
        {"broker": 1, "path": "/data/2", "replicas": 1, "bytes": 7, "largest": 7, **disk, "size": 100, "free": 50},
        {"broker": 2, "path": "/data/1", "replicas": 2, "bytes": 12, "largest": 7, **disk},
        {"broker": 2, "path": "/data/2", **empty},
        {"broker": 3, "path": "/data/1", **empty, "given_up": True},
        {"broker": 3, "path": "/data/2", **empty},
    ]


def test_nobody_is_asked_who_does_not_want_it(ask: Ask, asked: list[int]) -> None:
    """Preflight and the waits of restarts ask the same module."""
    said = ask(log_dirs=False, throttles=True)
    assert not {"log_dirs", "silent", "strays", "copies_throttled"} & said.keys()
    assert asked == []


def test_who_may_not_ask_is_told(cluster: FakeCluster, ask: Ask) -> None:
    """And not taken for somebody whose brokers hold nothing, or nothing but their own."""
    cluster.denied = {"describe_log_dirs"}
    said = ask()
    assert said["log_dirs"] == [] and said["silent"].keys() == {"1", "2", "3"}
    assert said["strays"] is None
    assert "authorization: ClusterAuthorizationFailedError" in said["silent"]["1"]


def test_replicas_that_are_nobodys(cluster: FakeCluster, ask: Ask, clock: Clock) -> None:
    """Of a topic that is gone, of a partition that is on other brokers; still there when it was asked again."""
    cluster.stray = {(2, "/data/2"): {("gone", 0): 9, ("gone", 1): 1}, (3, "/data/1"): {("t", 0): 4}}
    begun = clock.at
    assert ask()["strays"] == [
        {"broker": 2, "path": "/data/2", "bytes": 10, "partitions": ["gone-0", "gone-1"]},
        {"broker": 3, "path": "/data/1", "bytes": 4, "partitions": ["t-0"]},
    ]
    assert clock.at == begun + WAIT


def test_what_is_being_deleted_is_nobodys_and_not_named(
    cluster: FakeCluster, ask: Ask, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as some of it goes, the rest may; what nothing is done about for a while stays named."""
    going = {("gone", number): 1 for number in range(3)}
    cluster.stray = {(2, "/data/1"): going, (3, "/data/1"): {("left", 0): 2}}

    def rest(seconds: float) -> None:
        clock.rest(seconds)
        if going:
            going.popitem()

    monkeypatch.setattr(waits, "rest", rest)
    assert ask()["strays"] == [{"broker": 3, "path": "/data/1", "bytes": 2, "partitions": ["left-0"]}]
    going.update({("gone", number): 1 for number in range(100)})
    begun = clock.at
    assert ask()["strays"] == []
    assert clock.at <= begun + 60 + WAIT


def test_a_topic_that_was_made_meanwhile_is_the_controllers_to_say(
    cluster: FakeCluster, ask: Ask, clock: Clock
) -> None:
    """Other brokers may not have heard of it yet."""
    cluster.topics["new"] = [[3]]
    old = [{"error_code": 0, "name": "t", "is_internal": False, "partitions": parts(cluster.topics["t"])}]
    cluster.says = {broker: {"topics": old} for broker in (2, 3)}
    begun = clock.at
    assert (ask()["strays"], clock.at) == ([], begun)


def parts(replicas: list[list[int]]) -> list[dict[str, Any]]:
    """Return partitions as metadata have them."""
    return [
        {"error_code": 0, "partition_index": number, "leader_id": one[0], "replica_nodes": one, "isr_nodes": one}
        for number, one in enumerate(replicas)
    ]


def test_without_a_controller_that_knows_partitions_nothing_is_said(cluster: FakeCluster, clock: Clock) -> None:
    """One that has just started knows none: all would look stray."""
    cluster.topics, cluster.stray = {"t": [[2, 1]]}, {(2, "/data/2"): {("gone", 0): 9}}
    found = ([Partition("t", 0, 2, (2, 1), (2, 1))], [LogDir(2, "/data/2", sizes={("gone", 0): 9})])
    with brokers(cluster) as servers:
        admin = Admin({"bootstrap.servers": servers})
        assert strays(admin, *found) == {(2, "/data/2", ("gone", 0)): 9}
        cluster.says = {1: {"topics": []}}
        assert strays(admin, *found) is None
        cluster.says = {}
        assert strays(admin, [], found[1]) is None


def test_a_copy_on_its_way_is_not_stray() -> None:
    """Nor a replica that somebody moves, which metadata name among the partition's."""
    dirs = [LogDir(1, "/d1", sizes={("t", 0): 5}), LogDir(1, "/d2", coming={("t", 1): 5})]
    assert unassigned([Partition("t", 0, 2, (2, 1), (2,))], dirs) == set()
    assert unassigned([Partition("t", 0, 2, (2,), (2,))], dirs) == {(1, "/d1", ("t", 0))}


@pytest.mark.parametrize(
    ("copied", "told"), [({}, {"2": "1000000"}), ({(2, "t", 0): "/data/2"}, {})], ids=["nothing", "something"]
)
def test_a_limit_of_copies_that_was_forgotten(
    copied: dict[tuple[int, str, int], str], told: dict[str, str], cluster: FakeCluster, ask: Ask, clock: Clock
) -> None:
    """Where copies are under way it belongs to them."""
    cluster.told, cluster.future, cluster.looks = {"2": {COPIES: "1000000"}}, dict(copied), 99
    assert ask(throttles=True)["copies_throttled"] == told
    assert ask()["copies_throttled"] == {}


def test_a_limit_between_two_copies_is_not_forgotten(
    cluster: FakeCluster, ask: Ask, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run has some replicas copied at a time, and takes its limit back at last."""
    cluster.told = {"2": {COPIES: "1000000"}}

    def rest(seconds: float) -> None:
        clock.rest(seconds)
        cluster.told = {}

    monkeypatch.setattr(waits, "rest", rest)
    assert ask(throttles=True)["copies_throttled"] == {}
