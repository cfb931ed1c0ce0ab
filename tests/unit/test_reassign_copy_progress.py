"""Progress of a run in bytes, and the reasons for a copy that is stuck or too slow."""

import re
from pathlib import Path
from typing import Any

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.reassigning import MIB, Reassign, limits, records

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import execution, wait_progress

pytest_plugins = ["unit.reassigning"]
NEW = (5, "orders", 1)
"""The replica that draining broker 3 copies, of 5 MiB."""


def part(six: FakeCluster, reassign: Reassign, waited: Any = None, **options: Any) -> dict[str, Any]:
    """Run one part of draining broker 3, of which nothing comes to its end."""
    six.stuck = {"orders"}
    return reassign(pause=1, drain=[3], **options, **({"waited": waited} if waited else {}))


def test_a_partition_that_grows_beyond_its_plan_is_no_stall(six: FakeCluster, reassign: Reassign, clock: Clock) -> None:
    """More bytes arrive than the partition had at first, for an hour: that is no stall."""
    six.sizes["orders", 1] = 5 * MIB
    answer = part(six, reassign)
    six.sizes["orders", 1] = 500 * MIB
    for arrived in (5, 6, 7, 8):
        clock.at += 900
        six.come[NEW] = arrived * MIB
        answer = part(six, reassign, answer["waiting"]["waited"])
        assert answer["waiting"]["what"][0].startswith(f"0 of 1 partitions, {arrived}.0 MiB of 500.0 MiB")


def test_a_stuck_copy_is_named_and_ends_a_run(
    six: FakeCluster, reassign: Reassign, clock: Clock, tmp_path: Path
) -> None:
    """The message names the replica, its broker and the leader; throttles and record stay."""
    six.come[NEW] = MIB
    answer = part(six, reassign)
    clock.at += 100
    answer = part(six, reassign, answer["waiting"]["waited"])
    quiet = (
        "orders-1 on broker 5 receives no data and has 1.0 MiB of 5.0 MiB: see the logs of broker 5 and of the leader"
    )
    assert quiet in answer["waiting"]["what"][0]
    clock.at += 601
    answer = part(six, reassign, answer["waiting"]["waited"])
    assert answer["failed"] and answer["changed"]
    assert "nothing was copied for 600 s (0 of 1 partitions, 1.0 MiB of 5.0 MiB" in answer["msg"]
    assert quiet in answer["msg"] and "run the same command again to resume" in answer["msg"]
    assert records(tmp_path) and limits(six) != ({}, {})


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("down", "broker 5 is down; start it"),
        ("leader", "it has no leader; start a broker that has a complete replica"),
        (
            "limit",
            "another tool or run set follower.replication.throttled.rate of broker 5 to 7; remove it unless another "
            "run needs it",
        ),
    ],
)
def test_why_a_copy_is_stuck(cause: str, words: str, six: FakeCluster, reassign: Reassign, clock: Clock) -> None:
    answer = part(six, reassign)
    if cause == "limit":
        six.told["5"]["follower.replication.throttled.rate"] = "7"
    else:
        six.down = {5} if cause == "down" else {4, 3}
    clock.at += 100
    (said,) = part(six, reassign, answer["waiting"]["waited"])["waiting"]["what"]
    assert f"orders-1 on broker 5 receives no data and has 0 B of 5.0 MiB: {words}" in said


def test_a_broker_that_is_down_does_not_hide_progress_of_others(
    six: FakeCluster, reassign: Reassign, clock: Clock
) -> None:
    """Broker 6 dies; progress of the copy to broker 5 is still reported."""
    six.stuck, asked = {"orders"}, ["3:5", "1:6"]
    answer = reassign(pause=1, replace=asked)
    six.down = {6}
    for arrived in (1, 2):
        six.come[NEW] = arrived * MIB
        clock.at += 400
        answer = reassign(pause=1, replace=asked, waited=answer["waiting"]["waited"])
        assert f"{arrived}.0 MiB of 8.0 MiB" in answer["waiting"]["what"][0]


def test_a_rate_below_the_write_rate_is_reported_and_ends_a_run(
    six: FakeCluster, reassign: Reassign, clock: Clock, tmp_path: Path
) -> None:
    """2.9 MB/s are written at a rate of 1 MB/s: bytes arrive, but the copy falls behind."""
    six.sizes["orders", 1] = 5_000_000
    answer = part(six, reassign, rate="1MB")
    never = (
        "broker 5 copies orders-1 at 1 MB/s or less, but 2.. MB/s are written meanwhile, so the copy never ends: set "
        "rate=6MB"
    )
    for _ in range(2):
        clock.at += 200
        six.sizes["orders", 1] += 2_900_000 * 200
        six.come[NEW] = six.come.get(NEW, 0) + 1_000_000 * 200
        answer = part(six, reassign, answer["waiting"]["waited"], rate="1MB")
        assert re.search(never, answer["waiting"]["what"][0])
    clock.at += 601
    six.sizes["orders", 1] += 2_900_000 * 602
    six.come[NEW] += 1_000_000 * 602
    answer = part(six, reassign, answer["waiting"]["waited"], rate="1MB")
    assert answer["failed"] and re.search(f"{never}, with the same command, or run it with cancel=true", answer["msg"])
    assert records(tmp_path)
    answer = part(six, reassign, rate="8MB")
    clock.at += 200
    six.sizes["orders", 1] += 2_900_000 * 201
    six.come[NEW] += 8_000_000 * 201
    answer = part(six, reassign, answer["waiting"]["waited"], rate="8MB")
    assert "never ends" not in answer["waiting"]["what"][0]


def test_a_run_in_one_piece_ends_as_well(six: FakeCluster, reassign: Reassign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "STALLED", 0.4)
    monkeypatch.setattr(wait_progress, "PART", 0.3)
    six.stuck = {"orders"}
    assert "nothing was copied for 0 s (0 of 1 partitions, 0 B of 5.0 MiB; orders-1" in reassign(drain=[3])["msg"]
