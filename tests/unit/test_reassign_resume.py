"""An interrupted run resumes only if it can still end: the checks of its start are repeated."""

from collections.abc import Callable
from pathlib import Path

import pytest
from unit.fake_cluster import FakeCluster
from unit.reassigning import MIB, Reassign, interrupted, limits, records

pytest_plugins = ["unit.reassigning"]
CURE = "then run the same command again, or revert the run with -e cancel=true"
Change = Callable[[FakeCluster], object]


def dies(*brokers: int) -> Change:
    return lambda six: six.down.update(brokers)


def full(six: FakeCluster) -> None:
    """Leave 2 MiB free on broker 5's disk, beside the 10 % that must stay free."""
    six.disks = {5: (100 * MIB, 12 * MIB)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([dies(5)], ["broker 5 is down, and is to get 1 partition (orders-1): start it"]),
        ([dies(2)], ["1 partition (orders-0) is under-replicated: broker 2 is down; start it, before anything"]),
        ([full], ["broker 5: /data/1 would receive 5.0 MiB, but 12.0 MiB are free, of which 10.0 MiB must stay free"]),
        (
            [full, lambda six: six.moving.update(other=[0])],
            [
                "replicas of 1 partition (other-0) are being moved by another tool: wait until that has ended",
                "broker 5: /data/1 would receive 5.0 MiB",
            ],
        ),
    ],
)
def test_what_is_refused_again(
    changes: list[Change], words: list[str], six: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    """All reasons together, with advice; nothing is written, the record stays. Once they are solved, it resumes."""
    interrupted(six, reassign, drain=[3])
    before, limited = list(six.written), limits(six)
    for change in changes:
        change(six)
    for check_mode in (True, False):
        refused = reassign(check_mode, drain=[3])["msg"]
        assert [text for text in (*words, CURE) if text not in refused] == []
    assert (six.written, limits(six), len(records(tmp_path))) == (before, limited, 1)
    six.down, six.disks, six.moving = set(), {}, {}
    assert reassign(drain=[3])["moved"] == ["orders-1"]
    assert (limits(six), records(tmp_path)) == (({}, {}), [])


def test_what_has_arrived_needs_no_more_room(six: FakeCluster, reassign: Reassign) -> None:
    interrupted(six, reassign, drain=[3])
    full(six)
    six.come[5, "orders", 1] = 4 * MIB
    assert reassign(drain=[3])["moved"] == ["orders-1"]


def test_a_broker_that_was_taken_out_of_the_inventory_gets_no_more(six: FakeCluster, reassign: Reassign) -> None:
    interrupted(six, reassign, drain=[3])
    inventory = [{"id": broker, "rack": rack} for broker, rack in six.racks.items() if broker != 5]
    refused = reassign(drain=[3], brokers=inventory)["msg"]
    assert "broker 5 is not in the inventory any more, and is to get 1 partition (orders-1): add its host" in refused


def test_a_topic_that_needs_more_replicas_by_now(six: FakeCluster, reassign: Reassign) -> None:
    six.topics = {"orders": [[1, 2, 3]]}
    interrupted(six, reassign, replication_factor=2, topic=["orders"])
    six.configs["orders"] = {"min.insync.replicas": "3"}
    refused = reassign(replication_factor=2, topic=["orders"])["msg"]
    assert "topic orders: min.insync.replicas 3 with 2 replicas: no record could be written" in refused


def test_a_cancel_leaves_a_topic_the_replicas_that_it_needs_by_now(
    six: FakeCluster, reassign: Reassign, tmp_path: Path
) -> None:
    """With one replica the topic would accept no writes. With a lower minimum the move is reverted."""
    six.topics = {"orders": [[1]], "other": [[5, 6]]}
    asked = {"replication_factor": 3, "topic": ["orders"]}
    six.stuck = {"orders"}
    assert "waiting" in reassign(pause=1, **asked)
    six.stuck = set()
    six.arrive()
    six.configs.setdefault("orders", {})["min.insync.replicas"] = "2"
    before = list(six.written)
    assert reassign(cancel=True, rate="")["msg"].splitlines()[1:] == [
        "- topic orders: it would have 1 replica again, but min.insync.replicas is now 2, so it would accept no "
        "writes: set min.insync.replicas to 1 first, or resume the run (-e replication_factor=3 -e topic=orders -e "
        "rate=50MB)"
    ]
    assert six.written == before and records(tmp_path)
    six.configs["orders"]["min.insync.replicas"] = "1"
    six.stuck = {"orders"}
    assert "waiting" in reassign(once=True, pause=1, cancel=True, rate="")
    six.configs["orders"]["min.insync.replicas"] = "2"
    assert "min.insync.replicas is now 2, so it would accept no writes" in reassign(cancel=True, rate="")["msg"]
    six.configs["orders"]["min.insync.replicas"], six.stuck = "1", set()
    assert reassign(cancel=True, rate="")["changed"]
    assert six.topics["orders"] == [[1]] and records(tmp_path) == []


def test_a_cancel_looks_again_as_well(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Only for free disk space: it has to end whatever has failed."""
    six.sizes["other", 0] = 5 * MIB
    interrupted(six, reassign, replace=["5:2", "3:6"])
    assert "waiting" in reassign(once=True, pause=1, cancel=True, rate="")
    full(six)
    refused = reassign(cancel=True, rate="")["msg"]
    assert "broker 5: /data/1 would receive 5.0 MiB" in refused and records(tmp_path)
    six.disks = {}
    assert reassign(cancel=True, rate="")["changed"]
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}


def test_a_cancel_puts_back_what_has_room(six: FakeCluster, reassign: Reassign, tmp_path: Path) -> None:
    """Reassignments under way are canceled, which frees space. The rest is named, and reverted when there is room."""
    six.sizes["other", 0] = 5 * MIB
    interrupted(six, reassign, replace=["5:2", "3:6"])
    assert six.topics["other"] == [[2, 6]]
    full(six)
    words = "1 partition (other-0) not reverted, because there is no room: broker 5: /data/1 would receive 5.0 MiB"
    planned = reassign(check_mode=True, cancel=True, rate="")
    assert any(words in line for line in planned["plan"]) and planned["moved"] == ["orders-1"]
    failed = reassign(cancel=True, rate="")["msg"]
    assert words in failed and "then run the same command again to resume" in failed and len(records(tmp_path)) == 1
    assert six.topics == {"orders": [[1, 2], [4, 3]], "other": [[2, 6]]} and not six.under_way
    six.disks = {}
    done = reassign(cancel=True, rate="")
    assert (done["moved"], done["bytes"]) == (["orders-1", "other-0"], 5 * MIB)
    assert six.topics["other"] == [[5, 6]] and (limits(six), records(tmp_path)) == (({}, {}), [])
