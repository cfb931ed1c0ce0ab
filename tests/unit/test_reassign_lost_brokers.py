"""What died keeps no cancel from its end: a broker that was to copy something back, a disk of one that serves on."""

from pathlib import Path
from typing import Any

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import Later, Reassign, interrupted, limits, records, says, young

pytest_plugins = ["unit.reassigning"]
STAYS = "1 partition (other-0) not reverted: broker 5 is down"
CANNOT = "1 partition (other-0) cannot be reverted while broker 5 is down; after 300 s they are left as they are"


def copying_back(six: FakeCluster, reassign: Reassign, cancel: Later) -> dict[str, Any]:
    """Have a cancel copy a partition back to broker 5, which never ends; the other one is back."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    six.arrive()
    six.stuck = {"other"}
    answer = cancel(0, cancel(0, cancel()))
    assert six.under_way == {("other", 0): [5, 6]} and six.topics["orders"] == [[1, 2], [4, 3]]
    return answer


def test_who_dies_while_it_is_copied_back_to(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """In the same run, which says so; what was to come there is called off, and stays where it is."""
    answer = copying_back(six, reassign, cancel)
    six.down = {5}
    answer = cancel(0, answer)
    (said,) = answer["waiting"]["what"]
    assert CANNOT in said
    done = cancel(300, answer)
    assert (done["moved"], STAYS in done["notes"]) == (["orders-1"], True)
    assert six.written.count("call off other-0") == 1
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[6, 2]]} and not six.under_way
    assert records(tmp_path) == [] and limits(six)[1].keys() == {"5"}


def test_who_died_before_the_cancel_is_gone_on_with(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Its plan says what would stay, and does it where the broker comes back in time."""
    copying_back(six, reassign, cancel)
    six.down = {5}
    planned = reassign(cancel=True, rate="", check_mode=True)
    assert f"note: {CANNOT}" in planned["plan"] and planned["moved"] == ["other-0"]
    done = cancel(300, cancel(0, cancel()))
    assert (done["moved"], STAYS in done["notes"]) == (["orders-1"], True)
    assert six.topics["other"] == [[6, 2]] and records(tmp_path) == []


def test_who_dies_before_it_is_copied_back_to(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Of what is still to be begun nothing is called off."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    answer = cancel()
    six.down = {5}
    done = cancel(300, cancel(0, answer))
    assert (done["moved"], STAYS in done["notes"]) == (["orders-1"], True)
    assert six.written.count("call off other-0") == 0 and records(tmp_path) == []


def test_who_is_restarted_meanwhile_is_waited_for(six: FakeCluster, reassign: Reassign, cancel: Later) -> None:
    """However often that is."""
    answer = copying_back(six, reassign, cancel)
    for down in ({5}, set[int](), {5}, set[int]()):
        six.down = down
        answer = cancel(0, cancel(140, answer))
    six.stuck = set()
    assert cancel(0, answer)["moved"] == ["orders-1", "other-0"]
    assert six.topics["other"] == [[5, 6]] and six.written.count("call off other-0") == 0


def test_who_is_dead_is_for_the_controller_to_say(
    six: FakeCluster, reassign: Reassign, cancel: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = copying_back(six, reassign, cancel)
    with says(monkeypatch, young):
        answer = cancel(400, cancel(0, answer))
    assert six.written.count("call off other-0") == 0
    six.stuck = set()
    assert cancel(0, answer)["moved"] == ["orders-1", "other-0"]


def with_a_failed_disk(six: FakeCluster, reassign: Reassign, cancel: Later) -> dict[str, Any]:
    """Have broker 2 give up a disk while a cancel is under way: two partitions lack it, one has no leader."""
    six.topics |= {"more": [[1, 2]], "single": [[2]]}
    interrupted(six, reassign, replace=["5:4", "3:6"])
    answer = cancel()
    six.given_up, six.behind = {2: ["/data/1"]}, {(2, "more", 0), (2, "orders", 0)}
    return answer


def test_a_disk_that_was_given_up_keeps_no_cancel_from_its_end(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    """Its broker serves on, and is in sync with nothing that was on it."""
    answer = with_a_failed_disk(six, reassign, cancel)
    assert cancel(0, cancel(0, answer))["moved"] == ["orders-1", "other-0"]
    assert six.topics["other"] == [[5, 6]] and (limits(six), records(tmp_path)) == (({}, {}), [])


def test_what_was_put_back_and_is_on_such_a_disk_is_told(
    six: FakeCluster, reassign: Reassign, cancel: Later, tmp_path: Path
) -> None:
    interrupted(six, reassign, replace=["5:4", "3:6"])
    answer = cancel()
    six.given_up, six.behind = {4: ["/data/1"]}, {(4, "orders", 1)}
    done = cancel(0, cancel(0, answer))
    assert done["notes"] == [
        "broker 4 has the offline log dir /data/1, and its replicas of 1 partition (orders-1) are not in sync: mount "
        "a new disk (playbooks/replace_disk.yml -e broker=4 -e log_dir=/data/1), or move its replicas (drain=4)"
    ]
    assert records(tmp_path) == []


def test_a_replica_that_lags_on_another_disk_is_waited_for(six: FakeCluster, reassign: Reassign, cancel: Later) -> None:
    """That its broker has given one up is no excuse for what is on the others."""
    answer = with_a_failed_disk(six, reassign, cancel)
    six.where[2, "more", 0] = "/data/2"
    answer = cancel(0, cancel(0, answer))
    assert "no further move starts while 1 partition (more-0) is under-replicated" in answer["waiting"]["what"][0]
    assert six.topics["other"] == [[4, 6]]
    six.behind -= {(2, "more", 0)}
    assert cancel(0, cancel(0, answer))["moved"] == ["orders-1", "other-0"]


def test_a_run_that_waits_for_a_failed_disk_names_it(six: FakeCluster, reassign: Reassign) -> None:
    """Forward nothing is excused: it says what is to be done."""
    six.topics = {"orders": [[1, 6], [4, 3]], "more": [[1, 2]]}
    interrupted(six, reassign, drain=[3])
    six.stuck, six.given_up = {"orders"}, {2: ["/data/1"]}
    waited = {"begun": 1000.0, "at": 1000.0, "moved": 1000.0}
    (said,) = reassign(pause=1, drain=[3], waited=waited)["waiting"]["what"]
    assert (
        "while 1 partition (more-0) is under-replicated: broker 2 has the offline log dir /data/1; repair the disk"
        in said
    )
