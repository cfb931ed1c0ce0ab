"""What a run of failures says of them: records that are gone, and what takes longer than is promised."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from faults.starved import Meter, Window
from observations import Record
from survival import cells, test_survival
from survival.cells import WHOLE_AGAIN, Cell, Failure, assert_promises, compare
from survival.rows import chosen, shape
from survival.stretched import Seen
from unit.layouts import stretch2

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import load
from ansible_collections.millrace.kafka.plugins.plugin_utils.model.survival_layout import layout_of
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.failures import Row, survival
from ansible_collections.millrace.kafka.plugins.plugin_utils.survival.layout import Layout


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


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two partitions, of which no record can be read again."""
    made = MagicMock()
    made.lab.partitions.return_value = {0: None, 1: None}
    monkeypatch.setattr(cells, "read_all", lambda *_: [])
    monkeypatch.setattr(cells, "Meter", lambda _: Meter(None))
    return made


def test_records_that_are_gone_are_returned_with_what_was_seen(cluster: Any) -> None:
    """So that it is kept before it is judged."""
    cluster.look.return_value = Seen(True, 0.1, {1: "NOT_ENOUGH_REPLICAS"}, 0.1)
    kept = list[Cell]()
    found, missing = compare(cluster, "topic", [Failure(row("server"), "killed", MagicMock())], kept.extend, print)
    assert found == kept and len(found) == 1 and missing == {"topic-0-0"}
    with pytest.raises(AssertionError, match="acknowledged records are gone: topic-0-0"):
        assert_promises([], missing)


FINE = Seen(True, 0.1, {}, 0.1)
SILENT = Seen(False, 0.1, {1: "_MSG_TIMED_OUT"}, 30.0)
REFUSED = Seen(True, 0.1, {1: "NOT_ENOUGH_REPLICAS"}, 30.0)
STARVED, ALONE = Window(60.0, 0.99, 1.0), Window(60.0, 0.99, 0.1)


def looks(cluster: Any, monkeypatch: pytest.MonkeyPatch, kind: Row, window: Window, *seen: Seen) -> tuple[Any, ...]:
    """Make one failure, of which one after the other is seen; return the cells, the gone records, and the notes."""
    cluster.look.side_effect = seen
    monkeypatch.setattr(cells, "between", lambda *_: window)
    notes = list[str]()
    found, missing = compare(cluster, "topic", [Failure(kind, "killed", MagicMock())], lambda _: None, notes.append)
    return [one.seen for one in found], missing, "\n".join(notes)


def test_a_starved_failure_that_came_late_is_made_once_more_and_both_are_printed(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one counts, and the records of both have to be there."""
    seen, missing, notes = looks(cluster, monkeypatch, row("server"), STARVED, SILENT, FINE)
    assert seen == [FINE] and missing == {"topic-0-0", "topic-0-again-0", "topic-0-again-1"}
    assert "measured again: " in notes and "quorum computed True, seen False" in notes and "1.00 of them" in notes
    assert re.findall(r"killed +(yes|no) ", notes) == ["no", "yes"]
    seen, _, _ = looks(cluster, monkeypatch, row("server"), STARVED, SILENT, SILENT, FINE)
    assert seen == [SILENT]


def test_a_starved_failure_that_was_whole_again_late_is_made_once_more(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    promised = WHOLE_AGAIN["server"]
    clock = iter([0.0, 0.0, promised + 1.0, 200.0, 201.0, 300.0])
    monkeypatch.setattr(cells, "time", MagicMock(monotonic=lambda: next(clock)))
    seen, _, notes = looks(cluster, monkeypatch, row("server"), STARVED, FINE, FINE)
    assert len(seen) == 1 and f"whole again after {promised + 1}.0 s (promised {promised})" in notes


def test_a_failure_that_had_its_processors_is_made_once(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _, notes = looks(cluster, monkeypatch, row("server"), ALONE, SILENT, FINE)
    assert seen == [SILENT] and "again: " not in notes


def test_a_refusal_and_writes_that_should_have_stopped_are_never_made_again(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, _, _ = looks(cluster, monkeypatch, row("server"), STARVED, REFUSED, FINE)
    assert seen == [REFUSED]
    stopped = next(row for row in survival(stretch2()) if row.kind == "datacenter")
    seen, _, _ = looks(cluster, monkeypatch, stopped, STARVED, FINE, SILENT)
    assert seen == [FINE]


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

    def compare(_: object, __: str, failures: Sequence[Failure], *___: object) -> tuple[list[Cell], set[str]]:
        made = list[Cell]()
        for one in [*(failure.row for failure in failures), *more]:
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


STOPS = {
    "zookeeper zookeeper in one datacenter",
    "kafka kafka in one datacenter",
    "kafka kafka in two datacenters",
}


@pytest.mark.parametrize("wrong", [set[str](), STOPS])
def test_make_test_kills_a_server_of_each_function_and_what_stops_writes_or_the_quorum(
    monkeypatch: pytest.MonkeyPatch, wrong: set[str]
) -> None:
    """The values by hand choose: a table that computes that such a pair stops nothing changes nothing."""
    table = [replace(one, quorum=True, writable=True) if shape(one) in wrong else one for one in survival(stretch2())]
    killed = list[Row]()

    def compare(_: object, __: str, failures: Sequence[Failure], *___: object) -> tuple[list[Cell], set[str]]:
        killed.extend(failure.row for failure in failures)
        return [], set()

    monkeypatch.setattr(test_survival, "survival", lambda _: table)
    monkeypatch.setattr(test_survival, "compare", compare)
    cluster: Any = MagicMock()
    cluster.name = "lab_stretch2"
    with pytest.raises(AssertionError, match="not seen"):
        test_survival.test_survival(cluster, "topic", random.Random(1), 1, Record(None, 1), print)
    assert [one.kind for one in killed] == ["server"] * 2 + ["datacenter"] * 2 + ["pair"] * 3
    assert {one.functions for one in killed if one.kind == "server"} == {("zookeeper",), ("kafka",)}
    assert {shape(one) for one in killed if one.kind == "pair"} == STOPS


@pytest.mark.parametrize("shape_lost", ["kafka kafka in two datacenters", "datacenter dc2"])
def test_a_failure_that_stops_something_and_was_not_made_is_named(
    monkeypatch: pytest.MonkeyPatch, shape_lost: str
) -> None:
    def without(layout: Layout) -> list[Row]:
        return [one for one in survival(layout) if shape(one) != shape_lost]

    monkeypatch.setattr(test_survival, "survival", without)
    with pytest.raises(AssertionError, match=f"{shape_lost}: not seen"):
        killed_one_by_one(monkeypatch, "lab_stretch2", {}, each=1)


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

    assert [name.partition("-")[2] for name in servers(1)] == ["kafka", "zk"]
    every_one = ["dc1-kafka"] * 2 + ["dc1-zk"] * 3 + ["dc2-kafka"] * 2 + ["dc2-zk"] * 3
    assert len(servers(2)) == 4
    assert servers(1000) == servers(None) == every_one
