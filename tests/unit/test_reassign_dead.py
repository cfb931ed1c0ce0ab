"""A cancel ends without brokers or disks that die, and cancels no move whose added replica alone is in sync."""

from pathlib import Path
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.reassigning import MIB, Later, Reassign, interrupted, limits, records

pytest_plugins = ["unit.reassigning"]
HELD = "orders-1 is not canceled: only broker 6 has a complete replica; start broker 3 or start broker 4"
KEEPS = "1 partition (orders-1) not reverted: broker 4 is down"


def arrived(six: FakeCluster, reassign: Reassign) -> None:
    """Have all of a run arrive before it ends: orders-1 is on 4 and 6, and was on 4 and 3."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    six.arrive()
    assert six.topics == {"orders": [[1, 2], [4, 6]], "other": [[2, 6]]}


def test_a_move_whose_added_replica_alone_is_in_sync_is_not_canceled(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Kafka would delete that replica. Broker 4 dies, 6 comes in sync, 3 dies; other moves are reverted meanwhile."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    for down in ({4}, {4, 3}):
        six.down = down
        six.arrive()
    assert six.isr(("orders", 1)) == [6] and six.leader(("orders", 1)) == 6
    assert f"note: {HELD}" in reassign(cancel=True, rate="", check_mode=True)["plan"]
    answer = cancel(400, cancel(0, cancel(0, cancel())))
    assert HELD in answer["waiting"]["what"][0]
    assert six.topics["other"] == [[5, 6]] and six.written.count("cancel orders-1") == 0
    six.down = {4}
    done = cancel(0, cancel(0, answer))
    assert sorted(done["moved"]) == ["orders-1", "other-0"] and not records(tmp_path)
    assert six.topics["orders"][1] == [4, 3] and six.written.count("cancel orders-1") == 1


def test_a_revert_whose_added_replica_alone_is_in_sync_is_not_canceled(
    six: FakeCluster, reassign: Reassign, cancel: Later
) -> None:
    """However long the brokers are away that the partition keeps, and that it had."""
    arrived(six, reassign)
    six.stuck = {"orders"}
    answer = cancel(0, cancel())
    assert six.under_way == {("orders", 1): [4, 3]}
    six.stuck = set()
    for down in ({4}, {4, 6}):
        six.down = down
        six.arrive()
    answer = cancel(301, cancel(0, answer))
    assert (
        "orders-1 is not canceled: only broker 3 has a complete replica; start broker 4 or"
        in answer["waiting"]["what"][0]
    )
    six.down = {6}
    assert "orders-1" in cancel(0, cancel(0, answer))["moved"]
    assert six.topics["orders"][1] == [4, 3] and "cancel orders-1" not in six.written


@pytest.mark.parametrize("begun", [False, True])
def test_a_cancel_ends_without_a_broker_that_keeps_a_replica(
    begun: bool, six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Kafka ends no move without it, as without an added one. Afterwards the broker can be drained."""
    arrived(six, reassign)
    six.stuck, six.down = {"orders"}, set() if begun else {4}
    answer = cancel(0, cancel())
    assert (("orders", 1) in six.under_way) == begun
    six.stuck, six.down = set(), {4}
    done = cancel(0, cancel(301, cancel(0, answer)))
    assert (done["moved"], KEEPS in done["notes"], records(tmp_path)) == (["other-0"], True, [])
    assert {*six.topics["orders"][1]} == {4, 6} and not six.under_way
    assert six.written.count("cancel orders-1") == begun
    assert reassign(drain=[4])["moved"] == ["orders-1"] and not limits(six)[0]


def test_a_cancel_of_more_replicas_ends_without_a_broker_that_keeps_one(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """A partition that would lose a replica again keeps all of them."""
    six.topics = {"orders": [[1, 2]], "other": [[5, 6]]}
    interrupted(six, reassign, replication_factor=3, topic=["orders", "other"])
    six.arrive()
    three, six.down = six.topics["orders"][0], {2}
    done = cancel(0, cancel(301, cancel(0, cancel())))
    assert (done["moved"], records(tmp_path)) == (["other-0"], [])
    assert six.topics == {"orders": [three], "other": [[5, 6]]} and len(three) == 3 and not six.under_way


def test_a_new_order_needs_no_broker(six: FakeCluster, reassign: Reassign, cancel: Later) -> None:
    six.topics = {"orders": [[1, 2], [1, 2]], "other": [[1, 2]]}
    interrupted(six, reassign, leaders=True, rate="")
    six.arrive()
    six.down = {2}
    assert cancel(0, cancel())["moved"] != [] and six.topics["orders"] == [[1, 2], [1, 2]]


def test_a_cancel_ends_without_a_disk_that_keeps_a_replica(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Broker 4 serves from its other log dirs."""
    arrived(six, reassign)
    six.stuck = {"orders"}
    answer = cancel(0, cancel())
    six.given_up, six.stuck = {4: ["/data/1"]}, set()
    answer = cancel(0, answer)
    while_ = "while broker 4 has the offline log dir /data/1; after 300 s they are left as they are"
    assert f"1 partition (orders-1) cannot be reverted {while_}" in answer["waiting"]["what"][0]
    done = cancel(0, cancel(301, answer))
    assert done["moved"] == ["other-0"] and records(tmp_path) == []
    assert "1 partition (orders-1) not reverted: broker 4 has the offline log dir /data/1" in done["notes"]
    assert {*six.topics["orders"][1]} == {4, 6} and not six.under_way


def test_a_disk_that_dies_while_it_is_copied_back_to(six: FakeCluster, reassign: Reassign, cancel: Later) -> None:
    """The same run does not start a move again that it canceled for that disk: the broker would reject it."""
    arrived(six, reassign)
    six.stuck = {"orders"}
    answer = cancel(0, cancel())
    six.given_up = {3: ["/data/1"]}
    done = cancel(0, cancel(0, cancel(301, cancel(0, answer))))
    assert "1 partition (orders-1) not reverted: broker 3 has the offline log dir /data/1" in done["notes"]
    assert six.written.count("move orders-1 to [4, 3]") == six.written.count("cancel orders-1") == 1


def test_a_cancel_that_is_run_again_while_a_broker_restarts(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Moves back to that broker are kept, also if the cancel starts while it is down."""
    arrived(six, reassign)
    six.down = {5}
    cancel()
    answer = cancel()
    six.down = set()
    done = cancel(0, cancel(0, answer))
    assert done["moved"] == ["orders-1", "other-0"] and records(tmp_path) == []
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}


def test_a_broker_that_no_move_needs_is_not_reported(six: FakeCluster, reassign: Reassign, cancel: Later) -> None:
    """All replicas have been moved back to broker 5."""
    arrived(six, reassign)
    six.stuck = {"orders"}
    answer = cancel(0, cancel(0, cancel()))
    assert six.topics["other"] == [[5, 6]]
    six.down = {5}
    assert "broker 5" not in cancel(0, answer)["waiting"]["what"][0]


def part(reassign: Reassign, waited: Any, **asked: Any) -> dict[str, Any]:
    return reassign(once=True, pause=1, waited=waited["waiting"]["waited"], **asked)


@pytest.mark.parametrize(
    ("asked", "before", "who"),
    [
        ({"drain": [3]}, [[1, 2], [3, 4]], "4"),
        ({"replication_factor": 2, "topic": ["orders"]}, [[1, 2], [3, 4, 5]], "4"),
    ],
)
def test_a_run_names_the_broker_that_is_kept_and_away(
    asked: dict[str, Any], before: list[list[int]], who: str, six: FakeCluster, reassign: Reassign, clock: Clock
) -> None:
    """It does not name the broker that received its replica. The same request again is refused and names the broker."""
    six.topics["orders"], six.stuck = before, {"orders"}
    answer = part(reassign, part(reassign, reassign(once=True, pause=1, **asked), **asked), **asked)
    ((_, target),) = six.under_way.items()
    kept = next(one for one in target if one in before[1])
    six.stuck, six.down = set(), {kept}
    six.arrive()
    clock.at += 100
    said = part(reassign, answer, **asked)["waiting"]["what"][0]
    assert f"broker {kept}, which keeps 1 partition (orders-1), is down: start it" in said
    assert "receives no data" not in said and "logs of" not in said
    refused = reassign(**asked)["msg"]
    assert f"broker {kept} is down, and is needed for 1 partition (orders-1): start it" in refused


def test_a_cancel_that_stalls_is_not_advised_to_cancel(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    arrived(six, reassign)
    six.stuck = {"orders", "other"}
    failed = cancel(601, cancel(0, cancel()))["msg"]
    assert "nothing was copied for 600 s" in failed and records(tmp_path)
    assert failed.endswith("run the same command again to resume, with another rate if needed")
    six.disks = {5: (100 * MIB, 1 * MIB)}
    six.sizes["other", 0] = 5 * MIB
    six.under_way.clear()
    six.topics["orders"][1] = [4, 3]
    assert reassign(cancel=True, rate="")["msg"].endswith("then run the same command again")
