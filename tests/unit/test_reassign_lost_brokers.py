"""A cancel ends although a broker that was to receive a replica has died, or a disk of a live broker has failed."""

from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import Later, Reassign, interrupted, limits, records, says, young

pytest_plugins = ["unit.reassigning"]
STAYS = "1 partition (other-0) not reverted: broker 5 is down"
CANNOT = "1 partition (other-0) cannot be reverted while broker 5 is down; after 300 s they are left as they are"


def copying_back(six: FakeCluster, reassign: Reassign, cancel: Later) -> dict[str, Any]:
    """Have a cancel copy a partition back to broker 5, which never ends; the other one has been reverted."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    six.arrive()
    six.stuck = {"other"}
    answer = cancel(0, cancel(0, cancel()))
    assert six.under_way == {("other", 0): [5, 6]} and six.topics["orders"] == [[1, 2], [4, 3]]
    return answer


def test_a_broker_that_dies_during_the_revert(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """In the same run, which reports it; the move to that broker is canceled, and the partition stays where it is."""
    answer = copying_back(six, reassign, cancel)
    six.down = {5}
    answer = cancel(0, answer)
    (said,) = answer["waiting"]["what"]
    assert CANNOT in said
    done = cancel(300, answer)
    assert (done["moved"], STAYS in done["notes"]) == (["orders-1"], True)
    assert six.written.count("cancel other-0") == 1
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[6, 2]]} and not six.under_way
    assert records(tmp_path) == [] and limits(six)[1].keys() == {"5"}


def test_a_broker_that_died_before_the_cancel_is_resumed(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """The plan names the partition that would stay. It is reverted if the broker returns in time."""
    copying_back(six, reassign, cancel)
    six.down = {5}
    planned = reassign(cancel=True, rate="", check_mode=True)
    assert f"note: {CANNOT}" in planned["plan"] and planned["moved"] == ["other-0"]
    done = cancel(300, cancel(0, cancel()))
    assert (done["moved"], STAYS in done["notes"]) == (["orders-1"], True)
    assert six.topics["other"] == [[6, 2]] and records(tmp_path) == []


def test_a_broker_that_dies_before_the_revert(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """A move that has not started is not canceled."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    answer = cancel()
    six.down = {5}
    done = cancel(300, cancel(0, answer))
    assert (done["moved"], STAYS in done["notes"]) == (["orders-1"], True)
    assert six.written.count("cancel other-0") == 0 and records(tmp_path) == []


def test_a_restarted_broker_is_waited_for(six: FakeCluster, reassign: Reassign, cancel: Later) -> None:
    """However often it is restarted."""
    answer = copying_back(six, reassign, cancel)
    for down in ({5}, set[int](), {5}, set[int]()):
        six.down = down
        answer = cancel(0, cancel(140, answer))
    six.stuck = set()
    assert cancel(0, answer)["moved"] == ["orders-1", "other-0"]
    assert six.topics["other"] == [[5, 6]] and six.written.count("cancel other-0") == 0


def test_the_controller_decides_which_brokers_are_down(
    six: FakeCluster, reassign: Reassign, cancel: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = copying_back(six, reassign, cancel)
    with says(monkeypatch, young):
        answer = cancel(400, cancel(0, answer))
    assert six.written.count("cancel other-0") == 0
    six.stuck = set()
    assert cancel(0, answer)["moved"] == ["orders-1", "other-0"]


def with_a_failed_disk(six: FakeCluster, reassign: Reassign, cancel: Later) -> dict[str, Any]:
    """Take a log dir of broker 2 offline during a cancel: two partitions are under-replicated, one has no leader."""
    six.topics |= {"more": [[1, 2]], "single": [[2]]}
    interrupted(six, reassign, replace=["5:4", "3:6"])
    answer = cancel()
    six.given_up, six.behind = {2: ["/data/1"]}, {(2, "more", 0), (2, "orders", 0)}
    return answer


def test_a_cancel_ends_beside_an_offline_log_dir(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Its broker serves from other log dirs, and is in sync with none of its partitions."""
    answer = with_a_failed_disk(six, reassign, cancel)
    assert cancel(0, cancel(0, answer))["moved"] == ["orders-1", "other-0"]
    assert six.topics["other"] == [[5, 6]] and (limits(six), records(tmp_path)) == (({}, {}), [])


def test_a_reverted_replica_in_an_offline_log_dir_is_reported(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    interrupted(six, reassign, replace=["5:4", "3:6"])
    answer = cancel()
    six.given_up, six.behind = {4: ["/data/1"]}, {(4, "orders", 1)}
    done = cancel(0, cancel(0, answer))
    assert done["notes"] == [
        "broker 4 has the offline log dir /data/1, and its replicas of 1 partition (orders-1) are not in sync: if it "
        "is full, free space on it and restart the broker; if it is broken, mount a new disk "
        "(playbooks/replace_disk.yml -e broker=4 -e log_dir=/data/1), or move its replicas (drain=4)"
    ]
    assert records(tmp_path) == []


def test_a_replica_that_lags_on_another_disk_is_waited_for(six: FakeCluster, reassign: Reassign, cancel: Later) -> None:
    """The offline log dir of its broker is no excuse for replicas in the others."""
    answer = with_a_failed_disk(six, reassign, cancel)
    six.where[2, "more", 0] = "/data/2"
    answer = cancel(0, cancel(0, answer))
    assert "no further move starts while 1 partition (more-0) is under-replicated" in answer["waiting"]["what"][0]
    assert six.topics["other"] == [[4, 6]]
    six.behind -= {(2, "more", 0)}
    assert cancel(0, cancel(0, answer))["moved"] == ["orders-1", "other-0"]


def test_a_run_that_waits_for_a_failed_disk_names_it(six: FakeCluster, reassign: Reassign) -> None:
    """A run that is no cancel waits, and names the remedy."""
    six.topics = {"orders": [[1, 6], [4, 3]], "more": [[1, 2]]}
    interrupted(six, reassign, drain=[3])
    six.stuck, six.given_up = {"orders"}, {2: ["/data/1"]}
    waited = {"begun": 1000.0, "at": 1000.0, "moved": 1000.0}
    (said,) = reassign(pause=1, drain=[3], waited=waited)["waiting"]["what"]
    assert (
        "while 1 partition (more-0) is under-replicated: broker 2 has the offline log dir /data/1; repair the disk"
        in said
    )
