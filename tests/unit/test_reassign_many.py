"""Twenty thousand moves are looked at in seconds: nothing is searched for in a list for each of them."""

from time import process_time

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade import topics
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.admin import Admin, Metadata, Partition
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.topics import Settings
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign import throttles
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.again import put_back
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.asked import Asked
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.plan import Move, Wish
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.record import Record
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.reassign.seen import Seen

MANY, SECONDS = 20_000, 5.0
BROKERS = {one: ("127.0.0.1", one) for one in (1, 2, 3)}
CANCEL = Asked(Wish(), "cancel=true", cancel=True)


@pytest.fixture
def admin() -> Admin:
    """Nobody is there, and nobody is asked anything."""
    return Admin({"bootstrap.servers": "127.0.0.1:1"})


@pytest.mark.parametrize("back", [False, True])
def test_a_cancel_of_many_moves(back: bool, admin: Admin) -> None:
    """As it is planned, and gone on with: half of them cannot go back while broker 9 is down."""
    moves = [Move("t", number, (1, 9 if number % 2 else 3), (1, 2)) for number in range(MANY)]
    partitions = [Partition("t", one.number, 1, one.after, one.after) for one in moves]
    begun = Record("drain=9", (), None, tuple(moves))
    begun = begun.reversed(tuple(moves)) if back else begun
    there = Seen(Metadata("c", 1, BROKERS, partitions), {1: "a", 2: "b", 3: "b"})
    before = process_time()
    found = put_back(CANCEL, there, {}, begun, admin)
    assert process_time() - before < SECONDS
    assert found and len(found.left) == len(found.record.moves) == MANY
    said = "10000 partitions (t-1, t-3, t-5, ...) cannot go back while broker 9 is down"
    assert any(said in line for line in found.lines)


def test_limits_of_many_moves(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one topic, which has half of them in its list already."""
    moves = [Move("t", number, (1, 3), (1, 2)) for number in range(3 * MANY)]
    lists = throttles.lists_of(moves)
    made = Record("drain=3", (3,), 5000, tuple(moves), lists)
    has = {"t": {key: ",".join(both[: len(both) // 2]) for key, both in lists["t"].items()}}
    told = list[Settings]()

    def configured(_: Admin, changes: list[Settings]) -> dict[str, str]:
        told.extend(changes)
        return {}

    monkeypatch.setattr(throttles, "_lists", lambda *_: has)
    monkeypatch.setattr(topics, "configure", configured)
    monkeypatch.setattr(throttles, "tell", lambda *_: None)
    before = process_time()
    throttles.put_in(admin, made, Metadata("c", 1, BROKERS, []))
    assert process_time() - before < SECONDS
    assert {key: set(text.split(",")) for key, text in told[0].sets.items()} == {
        key: {*both} for key, both in lists["t"].items()
    }
