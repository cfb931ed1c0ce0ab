"""What a run of failures says of them: records that are gone, and what takes longer than is promised."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from seen import Record
from survival import cells, test_survival
from survival.cells import WHOLE_AGAIN, Cell, Failure, assert_promises, compare
from survival.rows import chosen
from survival.stretched import Seen
from unit.layouts import stretch2

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.layout import layout_of
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
    kept = list[Cell]()
    found, missing = compare(cluster, "topic", [Failure(row("server"), "killed", MagicMock())], kept.extend, print)
    assert found == kept and len(found) == 1 and missing == {"topic-0-0"}
    with pytest.raises(AssertionError, match="acknowledged records are gone: topic-0-0"):
        assert_promises([], missing)


INVENTORIES = Path(__file__).parents[2] / "inventories"


def killed_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    otherwise: Mapping[str, tuple[bool, bool]],
    more: tuple[Row, ...] = (),
    each: int = 1000,
) -> None:
    """Run the test of failures of an inventory where table and cluster agree, some otherwise than by hand."""
    cluster: Any = MagicMock()
    cluster.name, cluster.layout = name, layout_of(load(INVENTORIES / name, {"vault": {}}).read())
    rows = [*chosen(survival(cluster.layout), random.Random(1), each, servers=each), *more]

    def compare(*_: object) -> tuple[list[Cell], set[str]]:
        made = list[Cell]()
        for one in rows:
            quorum, writable = otherwise.get(one.failure, (one.quorum, one.writable))
            row = replace(one, quorum=quorum, writable=writable)
            seen = Seen(quorum, 0.1, {} if writable else {1: "NOT_ENOUGH_REPLICAS"}, 0.1)
            made.append(Cell(Failure(row, "killed", MagicMock()), seen, 1.0))
        return made, set()

    monkeypatch.setattr(test_survival, "compare", compare)
    test_survival.test_survival(cluster, "topic", random.Random(1), each, Record(None, 1), print)


@pytest.mark.parametrize("name", ["lab_stretch2", "lab_stretch2_5", "lab_stretch3"])
@pytest.mark.parametrize("each", [1, 1000])
def test_every_failure_has_a_value_by_hand(monkeypatch: pytest.MonkeyPatch, name: str, each: int) -> None:
    """Where some servers are chosen, of those that are not nothing is asked for."""
    killed_one_by_one(monkeypatch, name, {}, each=each)


@pytest.mark.parametrize("failure", ["dc1-kafka1 + dc2-kafka1", "dc2-kafka1", "dc1-zk1 + dc2-kafka1", "dc2-zk1"])
def test_each_failure_of_a_shape_is_held_to_the_value_by_hand(monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    """Not the last of its shape alone, and though table and cluster agree."""
    wrong = {failure: (False, True)}
    with pytest.raises(AssertionError, match=rf"{failure.replace('+', '.')}, killed: .* by hand"):
        killed_one_by_one(monkeypatch, "lab_stretch3", wrong)


def test_a_failure_without_a_value_by_hand_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=r"dc9-zk9, killed: .* by hand None"):
        killed_one_by_one(monkeypatch, "lab_stretch3", {}, (replace(row("server"), failure="dc9-zk9"),))


def test_of_servers_that_are_alike_some_may_be_chosen() -> None:
    """Datacenters and pairs of each shape stay; without a number each server is chosen."""
    every = survival(stretch2())

    def servers(number: int | None) -> list[str]:
        rows = chosen(every, random.Random(1), 1, servers=number)
        assert len([one for one in rows if one.kind == "datacenter"]) == 2
        assert len([one for one in rows if one.kind == "pair"]) == 6
        return sorted(one.failure.rstrip("0123456789") for one in rows if one.kind == "server")

    assert servers(1) == ["dc1-kafka", "dc1-zk", "dc2-kafka", "dc2-zk"]
    every_one = ["dc1-kafka"] * 2 + ["dc1-zk"] * 3 + ["dc2-kafka"] * 2 + ["dc2-zk"] * 3
    assert servers(1000) == servers(None) == every_one
