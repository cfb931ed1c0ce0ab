"""A run ends when the controller reports the planned replicas, all in sync, and not before."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from unit.clock import Clock
from unit.fake_cluster import FakeCluster
from unit.reassigning import Reassign, interrupted, limits, records, says

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.completion import verify
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record

pytest_plugins = ["unit.reassigning"]
BEFORE = {"orders": [[1, 2], [4, 3]], "other": [[5, 6]]}


def stale(topics: dict[str, list[list[int]]]) -> Callable[[Metadata], Metadata]:
    """Return the metadata of a broker that has not heard from the controller since then."""

    def words(known: Metadata) -> Metadata:
        held = {(one.topic, one.number): tuple(topics[one.topic][one.number]) for one in known.partitions}
        return replace(known, partitions=[Partition(*place, has[0], has, has) for place, has in held.items()])

    return words


def test_stale_metadata_ends_no_run(
    six: FakeCluster, reassign: Reassign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its metadata everything is reverted; if it were trusted, the record would be deleted too early."""
    interrupted(six, reassign, replace=["5:2", "3:6"])
    six.arrive()
    with says(monkeypatch, stale(BEFORE)):
        assert reassign(cancel=True, rate="")["moved"] == ["orders-1", "other-0"]
    assert six.topics == BEFORE
    assert (limits(six), records(tmp_path)) == (({}, {}), [])


MOVE = Move("t", 0, (1, 2), (1, 3), 5)


@pytest.mark.parametrize(
    ("replicas", "wrong"),
    [
        ((1, 3), []),
        ((1, 2), ["t-0: its replicas are 1,2, not 1,3 as planned"]),
        ((1, 2, 3), []),  # somebody else added one
        ((3, 1), ["t-0: its replicas are 3,1, not 1,3 as planned"]),
        ((1, 9), []),
        ((), []),
    ],
)
def test_partitions_elsewhere_at_the_end(replicas: tuple[int, ...], wrong: list[str]) -> None:
    """Brokers that another tool chose, and deleted topics, only give a note."""
    partitions = [Partition("t", 0, 1, replicas, replicas)] if replicas else []
    there = Metadata("c", 1, dict.fromkeys((1, 2, 3, 9), ("h", 1)), partitions)
    made = Record("drain=2", (2,), None, (MOVE,))
    assert verify(made, there) == (wrong, [])
    assert verify(made, there, lost=[MOVE]) == ([], [])


@pytest.mark.parametrize(
    ("leader", "isr", "back", "wrong", "away"),
    [
        (1, (1,), True, [], [3]),
        (1, (1,), False, [], [3]),
        (1, (1, 3), True, ["t-0: broker 4 is not in sync"], []),
        (1, (1, 4), True, [], [3]),
        (3, (3,), True, [], [3]),  # nobody leads it: 1 and 4 come in sync with broker 3 alone
    ],
)
def test_brokers_down_at_the_end(
    leader: int, isr: tuple[int, ...], back: bool, wrong: list[str], away: list[int]
) -> None:
    """It is reported and not waited for. A replica that lags is waited for, unless its partition has no leader."""
    replicas = (1, 3) if 4 not in isr and not wrong and leader == 1 else (1, 3, 4)
    down = {3} if away else set[int]()
    there = Metadata(
        "c", 1, {one: ("h", 1) for one in (1, 2, 3, 4) if one not in down}, [Partition("t", 0, leader, replicas, isr)]
    )
    made = Record("cancel=true", (), None, (Move("t", 0, (2,), replicas),), back=back)
    found, notes = verify(made, there)
    assert found == wrong
    assert [note.startswith(f"broker {one} is down") for one, note in zip(away, notes, strict=True)] == [True] * len(
        away
    )


def test_a_follower_that_is_out_of_sync_for_a_moment_is_waited_for(
    six: FakeCluster, reassign: Reassign, clock: Clock, tmp_path: Path
) -> None:
    """The throttles stay, because it still copies. After some minutes the run fails with that."""
    interrupted(six, reassign, drain=[3])
    six.arrive()
    six.behind = {(4, "orders", 1)}
    waited = reassign(once=True, pause=1, drain=[3])["waiting"]["waited"]
    kept = limits(six)
    answer = reassign(pause=1, drain=[3], waited=waited)
    assert answer["waiting"]["what"][0].endswith("; all partitions are moved, but orders-1: broker 4 is not in sync")
    assert limits(six) == kept != ({}, {})
    clock.at += 200
    answer = reassign(pause=1, drain=[3], waited=answer["waiting"]["waited"])
    clock.at += 100
    failed = reassign(pause=1, drain=[3], waited=answer["waiting"]["waited"])
    assert "all partitions are moved, but after 300 s: orders-1: broker 4 is not in sync; run the same" in failed["msg"]
    assert limits(six) == kept and records(tmp_path)
    six.behind = set()
    done = reassign(pause=1, drain=[3], waited=answer["waiting"]["waited"])
    assert (done["moved"], limits(six), records(tmp_path)) == (["orders-1"], ({}, {}), [])
