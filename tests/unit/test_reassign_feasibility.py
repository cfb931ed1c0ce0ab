"""Whether a move can end with the brokers that are up, and whether its cancel would delete all in-sync replicas."""

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.moves import Running
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.feasibility import outlook
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move

MOVE = Move("t", 0, (4, 3), (4, 6))
PLACE = ("t", 0)
UNDER_WAY = Running((4, 6, 3), (6,), (3,))


@pytest.mark.parametrize(
    ("after", "leader", "isr", "down", "failed", "lacks"),
    [
        ((4, 6), 4, (4, 3), set(), {}, {}),
        ((4, 6), 4, (4, 3), {6}, {}, {6: "is down"}),
        ((4, 6), 3, (3, 6), {4}, {}, {4: "is down"}),  # what it keeps counts as what it gets
        ((4, 6), 3, (3, 6), set(), {(4, PLACE): "/d"}, {4: "has the offline log dir /d"}),
        ((4, 6), 4, (4, 6), {3}, {(3, PLACE): "/d"}, {}),  # what it loses does not
        ((4, 6), -1, (3,), {3}, {}, {3: "is down"}),  # but where nobody else could send it
        ((4,), 3, (3,), {4}, {}, {4: "is down"}),
        ((3, 4), 3, (3,), {4}, {}, {}),  # another order of the same
    ],
)
def test_what_is_missing_for_a_move(
    after: tuple[int, ...],
    leader: int,
    isr: tuple[int, ...],
    down: set[int],
    failed: dict[tuple[int, tuple[str, int]], str],
    lacks: dict[int, str],
) -> None:
    one = Partition("t", 0, leader, (4, 6, 3), isr)
    assert outlook(Move("t", 0, (4, 3), after), one, {3, 4, 6} - down, failed).missing == lacks


@pytest.mark.parametrize(
    ("leader", "isr", "down", "kept"),
    [
        (4, (4, 3), set(), ""),
        (6, (3, 6), set(), ""),
        (6, (6,), {3, 4}, "only broker 6 has a complete replica; start broker 3 or start broker 4"),
        (6, (6,), {4}, "only broker 6 has a complete replica; wait for broker 3 or start broker 4"),
        (
            6,
            (3, 6),
            {3, 4},
            "only broker 6 has a complete replica; start broker 3 or start broker 4",
        ),  # who has just died
        (-1, (6,), {6}, "only broker 6 has a complete replica; start broker 6"),
        (-1, (3,), {3, 4}, ""),  # nothing of what it would delete is in sync
    ],
)
def test_what_a_cancel_would_delete(leader: int, isr: tuple[int, ...], down: set[int], kept: str) -> None:
    one = Partition("t", 0, leader, (4, 6, 3), isr)
    found = outlook(MOVE, one, {3, 4, 6} - down, {}, UNDER_WAY)
    assert found.not_canceled == (f"t-0 is not canceled: {kept}" if kept else "")
    assert bool(found.only_in_sync) == bool(kept)
