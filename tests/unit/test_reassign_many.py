"""Work on many moves grows with their number: no move is searched for in a list."""

import pytest
from unit.effort import Word, calls

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.topics import Settings
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import throttles
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.actions import Work
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move, Wish
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.request import Request
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.resume import revert
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.snapshot import Snapshot

FEW, MANY = 200, 2000
BROKERS = {one: ("127.0.0.1", one) for one in (1, 2, 3)}
Lists = dict[str, dict[str, tuple[str, ...]]]
CANCEL = Request(Wish(), "cancel=true", cancel=True)


@pytest.fixture
def admin() -> Admin:
    """A client without a cluster; it is not asked anything."""
    return Admin({"bootstrap.servers": "127.0.0.1:1"})


@pytest.mark.parametrize("back", [False, True])
def test_a_cancel_of_many_moves(back: bool, admin: Admin) -> None:
    """Half of the moves cannot be reverted, as broker 9 is down; ten times the moves cost up to 15 times the calls."""

    def cancelled(count: int) -> Work | None:
        moves = [Move(Word("t"), number, (1, 9 if number % 2 else 3), (1, 2)) for number in range(count)]
        partitions = [Partition(Word("t"), one.number, 1, one.after, one.after) for one in moves]
        begun = Record("drain=9", (), None, tuple(moves))
        begun = begun.reversed(tuple(moves)) if back else begun
        there = Snapshot(Metadata("c", 1, BROKERS, partitions), {1: "a", 2: "b", 3: "b"})
        return revert(CANCEL, there, {}, begun, admin)

    some, many = (calls(cancelled, count) for count in (FEW, MANY))
    assert many < 15 * some, f"{many / some:.1f} times {some}"
    found = cancelled(MANY)
    assert found and len(found.left) == len(found.record.moves) == MANY
    said = "1000 partitions (t-1, t-3, t-5, ...) cannot be reverted while broker 9 is down"
    assert any(said in line for line in found.lines)


def test_limits_of_many_moves(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """The topic has half of the moves in its list already; ten times the moves are at most 15 times the calls."""
    told = list[Settings]()

    def configured(_: Admin, changes: list[Settings]) -> dict[str, str]:
        told.extend(changes)
        return {}

    monkeypatch.setattr(topics, "configure", configured)
    monkeypatch.setattr(throttles, "configure_broker", lambda *_: None)

    def limited(count: int) -> Lists:
        moves = [Move("t", number, (1, 3), (1, 2)) for number in range(count)]
        lists: Lists = {"t": {key: tuple(map(Word, both)) for key, both in throttles.lists_of(moves)["t"].items()}}
        has = {"t": {key: ",".join(both[: len(both) // 2]) for key, both in lists["t"].items()}}
        monkeypatch.setattr(throttles, "_lists", lambda *_: has)
        throttles.put_in(admin, Record("drain=3", (3,), 5000, tuple(moves), lists), Metadata("c", 1, BROKERS, []))
        return lists

    some, many = (calls(limited, count) for count in (FEW, MANY))
    assert many < 15 * some, f"{many / some:.1f} times {some}"
    wanted = {key: {*both} for key, both in limited(MANY)["t"].items()}
    assert {key: set(text.split(",")) for key, text in told[-1].sets.items()} == wanted
