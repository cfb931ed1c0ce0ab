"""What a run of failures says of them: records that are gone, and what takes longer than is promised."""

from typing import Any
from unittest.mock import MagicMock

import pytest
from survival import cells
from survival.cells import WHOLE_AGAIN, Cell, Failure, assert_promises, compare
from survival.stretched import Seen
from unit.layouts import stretch2

from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row, survival


def row(kind: str) -> Row:
    return next(row for row in survival(stretch2()) if row.kind == kind and (row.quorum, row.writable) == (True, True))


def cell(kind: str, whole_after: float) -> Cell:
    return Cell(Failure(row(kind), "killed", MagicMock()), Seen(True, 0.1, {}, 0.1), whole_after)


@pytest.mark.parametrize("kind", ["server", "pair"])
def test_a_failure_that_is_mended_late_is_named_with_its_promise(kind: str) -> None:
    promised = WHOLE_AGAIN[kind]
    assert_promises([cell(kind, promised)], set())
    with pytest.raises(
        AssertionError, match=rf"^{row(kind).failure.replace('+', '.')}, killed: whole again after 110.0"
    ):
        assert_promises([cell(kind, promised), cell(kind, 110)], set())


def test_each_kind_that_is_made_has_a_promise_shorter_than_the_wait_for_it() -> None:
    assert {row.kind for row in survival(stretch2())} - {"rack"} <= WHOLE_AGAIN.keys()
    assert max(WHOLE_AGAIN.values()) < 110


def test_records_that_are_gone_are_returned_with_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it is kept before it is judged."""
    cluster: Any = MagicMock()
    cluster.lab.partitions.return_value = {0: None, 1: None}
    cluster.look.return_value = Seen(True, 0.1, {1: "NOT_ENOUGH_REPLICAS"}, 0.1)
    monkeypatch.setattr(cells, "read_all", lambda *_: [])
    found, missing = compare(cluster, "topic", [Failure(row("server"), "killed", MagicMock())], print)
    assert len(found) == 1 and missing == {"topic-0-0"}
    with pytest.raises(AssertionError, match="acknowledged records are gone: topic-0-0"):
        assert_promises([], missing)
