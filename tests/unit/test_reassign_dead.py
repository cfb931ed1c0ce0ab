"""A cancel and brokers or disks that die: it ends without them, and calls nothing off that one replica alone has."""

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


def test_what_is_added_and_alone_in_sync_is_not_called_off(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Kafka would delete it. Broker 4 dies, 6 comes in sync, 3 dies; what else is on the move goes back meanwhile."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    for down in ({4}, {4, 3}):
        six.down = down
        six.arrive()
    assert six.isr(("orders", 1)) == [6] and six.leader(("orders", 1)) == 6
    assert f"note: {HELD}" in reassign(cancel=True, rate="", check_mode=True)["plan"]
    answer = cancel(400, cancel(0, cancel(0, cancel())))
    assert HELD in answer["waiting"]["what"][0]
    assert six.topics["other"] == [[5, 6]] and six.written.count("call off orders-1") == 0
    six.down = {4}
    done = cancel(0, cancel(0, answer))
    assert sorted(done["moved"]) == ["orders-1", "other-0"] and not records(tmp_path)
    assert six.topics["orders"][1] == [4, 3] and six.written.count("call off orders-1") == 1


def test_what_is_copied_back_and_alone_in_sync_is_not_called_off(
    six: FakeCluster, reassign: Reassign, cancel: Later
) -> None:
    """However long those are away that it keeps, and that it had."""
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
    assert six.topics["orders"][1] == [4, 3] and "call off orders-1" not in six.written


@pytest.mark.parametrize("begun", [False, True])
def test_a_broker_that_is_kept_keeps_no_cancel_from_its_end(
    begun: bool, six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """It counts as one that is added: Kafka ends no move without it. Then it can be drained."""
    arrived(six, reassign)
    six.stuck, six.down = {"orders"}, set() if begun else {4}
    answer = cancel(0, cancel())
    assert (("orders", 1) in six.under_way) == begun
    six.stuck, six.down = set(), {4}
    done = cancel(0, cancel(301, cancel(0, answer)))
    assert (done["moved"], KEEPS in done["notes"], records(tmp_path)) == (["other-0"], True, [])
    assert {*six.topics["orders"][1]} == {4, 6} and not six.under_way
    assert six.written.count("call off orders-1") == begun
    assert reassign(drain=[4])["moved"] == ["orders-1"] and not limits(six)[0]


def test_a_number_of_replicas_goes_back_without_a_broker_that_is_kept(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """What was to lose a replica again keeps all that it has."""
    six.topics = {"orders": [[1, 2]], "other": [[5, 6]]}
    interrupted(six, reassign, replication_factor=3, topic=["orders", "other"])
    six.arrive()
    three, six.down = six.topics["orders"][0], {2}
    done = cancel(0, cancel(301, cancel(0, cancel())))
    assert (done["moved"], records(tmp_path)) == (["other-0"], [])
    assert six.topics == {"orders": [three], "other": [[5, 6]]} and len(three) == 3 and not six.under_way


def test_a_new_order_needs_nobody(six: FakeCluster, reassign: Reassign, cancel: Later) -> None:
    six.topics = {"orders": [[1, 2], [1, 2]], "other": [[1, 2]]}
    interrupted(six, reassign, leaders=True, rate="")
    six.arrive()
    six.down = {2}
    assert cancel(0, cancel())["moved"] != [] and six.topics["orders"] == [[1, 2], [1, 2]]


def test_a_disk_that_is_kept_keeps_no_cancel_from_its_end(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Broker 4 lives on without it."""
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
    """What is called off for it is not begun again by the same run: the broker would not take it."""
    arrived(six, reassign)
    six.stuck = {"orders"}
    answer = cancel(0, cancel())
    six.given_up = {3: ["/data/1"]}
    done = cancel(0, cancel(0, cancel(301, cancel(0, answer))))
    assert "1 partition (orders-1) not reverted: broker 3 has the offline log dir /data/1" in done["notes"]
    assert six.written.count("move orders-1 to [4, 3]") == six.written.count("call off orders-1") == 1


def test_a_cancel_that_is_run_again_while_a_broker_restarts(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """What is to go back to it is not forgotten for that; so it is where the cancel begins then."""
    arrived(six, reassign)
    six.down = {5}
    cancel()
    answer = cancel()
    six.down = set()
    done = cancel(0, cancel(0, answer))
    assert done["moved"] == ["orders-1", "other-0"] and records(tmp_path) == []
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}


def test_who_is_away_and_wanted_by_nothing_more_is_not_told(
    six: FakeCluster, reassign: Reassign, cancel: Later
) -> None:
    """All that was to go back to broker 5 is there."""
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
    """And not who gets a replica, and has it; again, the same is refused with it."""
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
