"""Mistakes of users and failures of clusters at the wrong moment: each gives a clear error, and no throttle is left."""

from pathlib import Path
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.reassigning import RATES, Reassign, interrupted, limits, records

pytest_plugins = ["unit.reassigning"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drain": [1, 2, 3, 4, 5, 6]}, ["would have 2 replicas, but 0 brokers would be left for them"]),
        ({"add": [9]}, ["broker 9 is not registered: nothing can be moved to it"]),
        ({"replace": ["3:4"]}, ["replace 3 by 4: broker 4 already holds 1 partition (orders-1); drain=3 spreads"]),
        ({"rebalance": True, "topic": ["ord.*"]}, ["there is no topic ord.*; names have to match exactly"]),
        ({"rebalance": True, "topic": [""]}, ["topic: a name is empty; set names as topic=orders,returns"]),
        ({"replication_factor": 7, "topic": ["orders"]}, ["would have 7 replicas, but 6 brokers would be left"]),
        ({"replication_factor": 0, "topic": ["orders"]}, ["replication_factor 0: set 1 or more"]),
        ({"rebalance": True, "rate": "0"}, ["rate 0: 0 bytes a second is too low for the moves to end"]),
        ({"rebalance": True, "rate": "1e6"}, ["rate 1e6: set the bytes a second"]),
        ({"rebalance": True, "rate": "-5MB"}, ["rate -5MB: set the bytes a second"]),
        ({"rebalance": True, "rate": "50Mb"}, ["rate 50Mb: b may mean bits; set bytes a second, for example 50MB"]),
        (
            {"rebalance": True, "rate": "50mb/S"},
            ["rate 50mb/S: b may mean bits; set bytes a second, for example 50MB"],
        ),
        ({"rebalance": True, "rate": "\u0665MB"}, ["rate \u0665MB: set the bytes a second"]),
        ({"rebalance": True, "rate": f"{2**63}"}, ["more than a broker setting can hold; set unlimited"]),
        *(
            ({"rebalance": True, "devices": devices}, [f"devices: expected numbers by broker id and log dir, {end}"])
            for devices, end in (
                ({"x": {"/data/1": 1}}, 'not {"x": {"/data/1": 1}}'),
                ({"3": {"/data/1": "y"}}, 'not {"3": {"/data/1": "y"}}'),
                ({"3": "/data/1"}, 'not {"3": "/data/1"}'),
                ({"3": {"/data/1": None}}, 'not {"3": {"/data/1": null}}'),
            )
        ),
        (
            {"cancel": True, "topic": ["other"], "rate": ""},
            ["topic: cancel=true reverts the whole run, of every topic; remove topic"],
        ),
        ({"cancel": True, "drain": [3]}, ["drain and cancel are set: set one of"]),
        (
            {"add": [1, 1], "replace": ["3"], "rate": "fast", "topic": ["", "orders"]},
            ["add and replace are set", "broker 1 is named twice", "replace 3: set", "rate fast", "a name is empty"],
        ),
    ],
)
def test_wrong_options(options: dict[str, Any], words: list[str], six: FakeCluster, reassign: Reassign) -> None:
    answer = reassign(**options)
    assert answer["failed"]
    assert [text for text in words if text not in answer["msg"]] == []
    assert "no action is set" not in answer["msg"] and six.written == []
    assert "int()" not in answer["msg"] and "object" not in answer["msg"]


def test_the_last_broker_of_a_rack(six: FakeCluster, reassign: Reassign) -> None:
    """It is not emptied if partitions would lose a rack, unless `fewer_racks` is set; other topics move."""
    six.topics["orders"], inventory = [[1, 2, 3]], [{"id": one, "rack": rack} for one, rack in six.racks.items()]
    refused = reassign(drain=[3, 6], brokers=inventory)["msg"]
    assert "1 partition (orders-0) would be in fewer racks than now, without rack c" in refused and six.written == []
    assert reassign(drain=[3, 6], brokers=inventory, topic=["other"])["moved"] == ["other-0"]
    assert reassign(drain=[3, 6], brokers=inventory, fewer_racks=True)["moved"] == ["orders-0"]


def test_names_of_topics_may_have_spaces_around(six: FakeCluster, reassign: Reassign) -> None:
    """A name that is given twice counts once."""
    planned = reassign(check_mode=True, drain=[3], topic=[" orders", "orders ", "other"])
    assert planned["plan"][0].startswith("drain=3 topic=orders,other: 1 partitions change")


def test_more_replicas_than_racks(six: FakeCluster, reassign: Reassign) -> None:
    """No rack has two more than another."""
    assert reassign(replication_factor=5, topic=["orders"])["changed"]
    for replicas in six.topics["orders"]:
        assert sorted(six.racks[one] for one in replicas) in (list("aabbc"), list("aabcc"), list("abbcc"))


def test_internal_topics_move_as_others(six: FakeCluster, reassign: Reassign) -> None:
    six.topics = {"__consumer_offsets": [[3, 1], [1, 2]], "__transaction_state": [[2, 3]]}
    assert reassign(drain=[3])["moved"] == ["__consumer_offsets-0", "__transaction_state-0"]
    assert not any(3 in replicas for partitions in six.topics.values() for replicas in partitions)
    assert limits(six) == ({}, {})


@pytest.mark.parametrize("leaving", [{"drain": [3]}, {"leaders": True}])
def test_an_offline_log_dir_is_named(leaving: dict[str, Any], six: FakeCluster, reassign: Reassign) -> None:
    """Waiting for its broker to come in sync would never end; draining that broker helps."""
    six.given_up = {2: ["/data/1"]}
    six.says = {broker: metadata_without(six, 2) for broker in six.racks}
    reason = "broker 2 has the offline log dir /data/1; repair the disk and restart it"
    assert f"1 partition (orders-0) is under-replicated: {reason}" in reassign(**leaving)["msg"]
    assert six.written == []


def metadata_without(six: FakeCluster, broker: int) -> dict[str, Any]:
    """Return the metadata of topics while one broker is in sync with nothing."""
    return {
        "topics": [
            {
                "error_code": 0,
                "name": name,
                "is_internal": False,
                "partitions": [
                    {
                        "error_code": 0,
                        "partition_index": number,
                        "leader_id": replicas[0],
                        "replica_nodes": replicas,
                        "isr_nodes": [one for one in replicas if one != broker],
                    }
                    for number, replicas in enumerate(partitions)
                ],
            }
            for name, partitions in six.topics.items()
        ]
    }


def test_the_disk_of_a_target_fails(six: FakeCluster, reassign: Reassign, clock: Clock) -> None:
    six.stuck = {"orders"}
    answer = reassign(pause=1, drain=[3])
    six.given_up = {5: ["/data/1"]}
    clock.at += 100
    (words,) = reassign(pause=1, drain=[3], waited=answer["waiting"]["waited"])["waiting"]["what"]
    assert "of 5.0 MiB: broker 5 has the offline log dir /data/1; repair the disk and restart it" in words


@pytest.mark.parametrize("cancel", [False, True])
def test_a_topic_that_is_deleted_while_it_moves(
    cancel: bool, six: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    """The other moves end, or are reverted; no throttle is left on brokers."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    del six.topics["orders"], six.under_way["orders", 1]
    six.configs.pop("orders")
    done = reassign(cancel=True, rate="") if cancel else reassign(replace=["5:2", "3:6"])
    assert done["moved"] == ["other-0"]
    assert six.topics == {"other": [[5, 6]] if cancel else [[2, 6]]}
    assert cancel or done["notes"][0].startswith("1 partition (orders-1): the topic was deleted, or another tool")
    assert (limits(six), records(tmp_path)) == (({}, {}), [])


def test_a_partition_without_a_leader_is_refused_even_where_its_broker_is_drained(
    six: FakeCluster, reassign: Reassign
) -> None:
    six.topics["single"], six.down = [[3]], {3}
    refused = reassign(drain=[3])["msg"]
    assert (
        "1 partition (single-0) has no leader: start a broker that has a complete replica, or delete its topic"
        in refused
    )
    assert six.written == []


def test_leaders_with_a_broker_down(six: FakeCluster, reassign: Reassign) -> None:
    """Refused if partitions miss it. A broker without replicas leads nothing; no throttle is set."""
    six.topics, six.down = {"orders": [[1, 2]] * 4}, {6}
    assert len(reassign(leaders=True, rate="")["moved"]) == 2
    assert sorted(replicas[0] for replicas in six.topics["orders"]) == [1, 1, 2, 2]
    assert [text for text in six.written if not text.startswith("move")] == []
    six.down = {5, 6}
    six.topics["other"] = [[4, 5]]
    assert "1 partition (other-0) is under-replicated: broker 5 is down; start it" in reassign(leaders=True)["msg"]


def test_cancel_where_nothing_is_begun(six: FakeCluster, reassign: Reassign) -> None:
    """Reassignments of another tool stay."""
    assert reassign(cancel=True, rate="")["plan"] == ["cancel=true: nothing to move"]
    six.moving = {"other": [0]}
    assert (
        "reassignments of 1 partition (other-0) are running, but this control node has no record"
        in reassign(cancel=True)["msg"]
    )
    assert six.written == []


def test_cancel_before_anything_moved(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """The control node died after it had printed the plan: throttles were set, and are removed."""
    six.told = {"4": {"leader.replication.throttled.rate": "7"}}
    reassign(once=True, pause=1, drain=[3])
    assert limits(six) != ({}, {"4": {"leader.replication.throttled.rate": "7"}})
    assert reassign(cancel=True, rate="")["moved"] != []
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]} and not six.under_way
    assert limits(six) == ({}, {"4": {"leader.replication.throttled.rate": "7"}})
    assert records(tmp_path) == []


def test_throttles_that_cannot_be_set_are_removed(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """One broker rejects them: nothing moves, the answer contains the plan, and a cancel removes everything."""
    six.refused = {"5": "no"}
    answer = reassign(pause=1, drain=[3])
    assert answer["failed"] and "broker 5: no" in answer["msg"] and "orders-1" in answer["plan"][2]
    assert not six.under_way
    six.refused = {}
    assert reassign(cancel=True, rate="")["changed"]
    assert (limits(six), records(tmp_path)) == (({}, {}), [])


def test_a_limit_of_all_brokers_stays(six: FakeCluster, reassign: Reassign) -> None:
    six.told = {"": RATES}
    assert reassign(drain=[3], rate="1MB")["changed"]
    assert limits(six) == ({}, {"": RATES})


def test_a_dead_broker_that_holds_nothing(six: FakeCluster, reassign: Reassign) -> None:
    """There is nothing to drain from it, and a rebalance ignores it."""
    six.topics, six.down = {"orders": [[1, 2], [1, 2]]}, {6}
    assert "broker 6 is not registered, and no partition has a replica there" in reassign(drain=[6])["msg"]
    assert reassign(rebalance=True)["changed"]
    assert sorted(broker for replicas in six.topics["orders"] for broker in replicas) == [1, 2, 3, 4]


def test_a_controller_that_has_just_started_is_not_believed(six: FakeCluster, reassign: Reassign) -> None:
    """It lists no partitions: "nothing to move" would mean that the broker to drain can be removed."""
    six.says = {broker: {"topics": []} for broker in six.racks}
    answer = reassign(drain=[3])
    assert answer["failed"]
    assert (
        "broker 1, lists no partitions, but brokers hold 6 replicas (orders-0 in /data/1 of broker 1, " in answer["msg"]
    )
